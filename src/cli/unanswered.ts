// Reports a command that can no longer finish: it waits for a promise that never settles, or an exception in user code was not caught.
import { GradusError } from '../errors.ts';

const neverEnds = () =>
  new GradusError('NEVER_ENDS', 'the command waits for something that will never happen', {
    hint: 'code of yours awaits a promise that nothing settles, perhaps where its file is loaded',
    kind: 'failed',
  });

/**
 * @param answer reports the error and returns the exit code
 * @returns a function that ends the watch, to be called when the command has finished
 */
export function watchForNoAnswer(answer: (error: unknown) => number): () => void {
  const idle = () => {
    process.exitCode = answer(neverEnds());
  };
  // The state of the process is unknown after an uncaught exception, so it exits at once.
  const crashed = (error: unknown) => process.exit(answer(error));
  process.once('beforeExit', idle);
  process.once('uncaughtException', crashed);
  return () => {
    process.off('beforeExit', idle);
    process.off('uncaughtException', crashed);
  };
}
