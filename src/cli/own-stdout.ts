// Stdout, kept for the command's own results.
import type { Stream } from './output.ts';

/** Whoever reads it has left, or its terminal was closed. */
const gone: readonly (string | undefined)[] = ['EPIPE', 'EIO'];

/**
 * The way to stdout. Whatever else writes there from now on, such as a user's environment or the file of a reward, is told on stderr.
 * That nobody listens is no reason to end what goes on; a result that could not be written, as on a full disk, is exit 1 in the end.
 */
export function ownStdout(): Stream {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stderr.on('error', () => {});
  let isTold = false;
  stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (gone.includes(code) || isTold) return;
    isTold = true;
    stderr.write(`error: what was to be written to stdout is lost: ${message}\n`);
    process.once('exit', () => {
      process.exitCode ||= 1;
    });
  });
  stdout.write = stderr.write.bind(stderr);
  return { write: (text) => write(text), isTTY: stdout.isTTY, columns: stdout.columns };
}
