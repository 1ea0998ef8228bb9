// Stdout, kept for the command's own results.
import type { Stream } from './output.ts';

/** The way to stdout. Whatever else writes there from now on, such as a user's environment or the file of a reward, is told on stderr. */
export function ownStdout(): Stream {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  // Whoever read it may have left; that is no reason to end what goes on.
  stdout.on('error', () => {});
  stdout.write = stderr.write.bind(stderr);
  return { write: (text) => write(text), isTTY: stdout.isTTY, columns: stdout.columns };
}
