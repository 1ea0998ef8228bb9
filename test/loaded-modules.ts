// The modules that a command line loads, Node's own included.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Runs the command, which must succeed.
 * @param list a file to write them to
 */
export function loadedModules(list: string, command: readonly string[]): string[] {
  const spy = `
    import { writeFileSync } from 'node:fs';
    import { registerHooks } from 'node:module';
    const urls = [];
    registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context); } });
    process.on('exit', () => writeFileSync(${JSON.stringify(list)}, JSON.stringify(urls)));`;
  const preload = `data:text/javascript,${encodeURIComponent(spy)}`;
  const gradus = join(import.meta.dirname, '..', 'bin', 'gradus');
  const { status, stderr } = spawnSync(process.execPath, ['--import', preload, gradus, ...command], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`exit ${status}: ${stderr}`);
  return JSON.parse(readFileSync(list, 'utf8'));
}
