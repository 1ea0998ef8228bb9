// The versions that a run depends on.
import { readFileSync } from 'node:fs';
import { loadOnnxRuntime } from '../runtime/onnxruntime.ts';

/** Our own version, from package.json: two folders up, in the sources as in the build. */
export function gradusVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

export function versions(): Record<string, string> {
  return { gradus: gradusVersion(), node: process.versions.node, onnxruntime: loadOnnxRuntime().version };
}
