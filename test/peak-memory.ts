// Runs the `gradus` command as a process of its own and tells how much memory it held at most. Linux only.
import { type Finished, type GradusOptions, gradus } from './gradus.ts';

/** Run by the process itself, not by those that it starts, before it ends: the last line of stderr is its VmHWM. */
const report = `import { readFileSync } from 'node:fs';
if (!process.send) process.on('exit', () => process.stderr.write('\\n' + /VmHWM:\\s*(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]));`;

export async function gradusPeak(
  args: readonly string[],
  options: GradusOptions,
): Promise<Finished & { readonly peak: number }> {
  const hook = `--import=data:text/javascript,${encodeURIComponent(report)}`;
  const finished = await gradus(args, { ...options, env: { ...options.env, NODE_OPTIONS: hook } });
  return { ...finished, peak: 1024 * Number(finished.stderr.split('\n').at(-1)) };
}
