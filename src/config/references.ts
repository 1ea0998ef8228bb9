// References in a configuration: exports of a user's files such as `path/to/file.ts:name`, values from a program, and chat templates.

/** The path, and the name of the export, if there is one. */
export function splitReference(reference: string): readonly [file: string, name?: string] {
  const [, file, name] = /^(.*?)(?::([\w$]+))?$/s.exec(reference)!;
  return name === undefined ? [file!] : [file!, name];
}

/** Whether a reference such as `path/to/file.py:name` is to Python. */
export function isPython(reference: string): boolean {
  return /\.py(:\w+)?$/.test(reference);
}

/** The placeholder in a configuration for a value from a program: see `ProgramConfig`. */
export function programReference(name: string): string {
  return `program:${name}`;
}

export function isProgramReference(reference: string): boolean {
  return reference.startsWith('program:');
}

/** The environment whose episodes a program plays, in any language: its settings have the command. */
export const COMMAND = 'command';

/** The name of an environment of verifiers, from `verifiers:NAME`; `undefined` if a reference is to none. */
export function verifiersName(reference: string): string | undefined {
  return reference.startsWith('verifiers:') ? reference.slice('verifiers:'.length) : undefined;
}

/** Whether an environment is not user code that we load, but plays by itself in a folder from its settings. */
export function playsByItself(reference: string): boolean {
  return reference === COMMAND || verifiersName(reference) !== undefined;
}

/** Whether a reference names code that, as far as we know, is in no file of the user. */
export function namesNoFile(reference: string): boolean {
  return isProgramReference(reference) || playsByItself(reference);
}

/** The path of the user's chat template; `null` if none or one of the model's own is used. */
export function templateFile(chatTemplate: string): string | null {
  return chatTemplate === 'none' || isOwnTemplate(chatTemplate) ? null : chatTemplate;
}

/** Whether one of the model's own templates is used: the default one, or one by its name, as in `auto:rag`. */
export function isOwnTemplate(chatTemplate: string): boolean {
  return chatTemplate === 'auto' || chatTemplate.startsWith('auto:');
}

/** The name of the one of the model's own templates that is to be used for everything. */
export function templateName(chatTemplate: string): string | undefined {
  return chatTemplate.startsWith('auto:') ? chatTemplate.slice('auto:'.length) : undefined;
}
