// The versions of ourselves and of what runs us.
import { readFileSync } from 'node:fs';

/** Our own version, from package.json: two folders up, in the sources as in the build. */
export function gradusVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Of every run, whatever its backend; loads nothing. */
export function ownVersions(): Record<string, string> {
  return { gradus: gradusVersion(), node: process.versions.node };
}
