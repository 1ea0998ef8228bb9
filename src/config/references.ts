// References in a configuration: exports of a user's files such as `path/to/file.ts:name`, values from a program, and chat templates.

/** The path, and the name of the export, if there is one. */
export function splitReference(reference: string): readonly [file: string, name?: string] {
  const [, file, name] = /^(.*?)(?::([\w$]+))?$/s.exec(reference)!;
  return name === undefined ? [file!] : [file!, name];
}

/** The placeholder in a configuration for a value from a program: see `ProgramConfig`. */
export function programReference(name: string): string {
  return `program:${name}`;
}

export function isProgramReference(reference: string): boolean {
  return reference.startsWith('program:');
}

/** The path of the user's chat template; `null` if the model's own or none is used. */
export function templateFile(chatTemplate: string): string | null {
  return chatTemplate === 'auto' || chatTemplate === 'none' ? null : chatTemplate;
}
