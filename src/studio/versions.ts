// The versions of Gradus and Node.
import { readFileSync } from 'node:fs';

/** The version of Gradus in package.json, which is two folders up both in the sources and in the build. */
export function gradusVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** The versions that every run records. Loads no library. */
export function ownVersions(): Record<string, string> {
  return { gradus: gradusVersion(), node: process.versions.node };
}
