// Paths of files that ship with the package beside its code: guides, templates, the skill.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A path at the root of the package, which is two folders up both from the sources and from the build. */
export function packagePath(...parts: string[]): string {
  return join(import.meta.dirname, '..', '..', ...parts);
}

export function readPackageFile(...parts: string[]): string {
  return readFileSync(packagePath(...parts), 'utf8');
}
