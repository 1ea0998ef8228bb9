// Files that ship with the package beside its code: guides, templates, the skill.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The path of something at the root of the package: two folders up, from the sources as from the build. */
export function packagePath(...parts: string[]): string {
  return join(import.meta.dirname, '..', '..', ...parts);
}

export function readPackageFile(...parts: string[]): string {
  return readFileSync(packagePath(...parts), 'utf8');
}
