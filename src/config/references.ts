// What a configuration names: exports of files of the user's, as in `path/to/file.ts:name`, values of a program, and a chat template.

/** The path, and the name of the export, if there is one. */
export function splitReference(reference: string): readonly [file: string, name?: string] {
  const [, file, name] = /^(.*?)(?::([\w$]+))?$/s.exec(reference)!;
  return name === undefined ? [file!] : [file!, name];
}

/** What stands in a configuration for a value that a program gave: see `ProgramConfig`. */
export function programReference(name: string): string {
  return `program:${name}`;
}

export function isProgramReference(reference: string): boolean {
  return reference.startsWith('program:');
}

/** The path of a chat template of the user's; `null` if it is the model's own, or if there is none. */
export function templateFile(chatTemplate: string): string | null {
  return chatTemplate === 'auto' || chatTemplate === 'none' ? null : chatTemplate;
}
