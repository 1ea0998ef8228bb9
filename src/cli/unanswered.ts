// Answers for a command whose work can answer no more: it waits for what will never happen, or code of the user's failed where nobody listened.
import { GradusError } from '../errors.ts';

const neverEnds = () =>
  new GradusError('NEVER_ENDS', 'the command waits for something that will never happen', {
    hint: 'code of yours awaits a promise that nothing settles, perhaps where its file is loaded',
    kind: 'failed',
  });

/**
 * @param answer given the error, tells it and returns the exit code
 * @returns a function that ends the watch, once the command has answered itself
 */
export function watchForNoAnswer(answer: (error: unknown) => number): () => void {
  const idle = () => {
    process.exitCode = answer(neverEnds());
  };
  // The state of the process is not known any more, so it ends at once.
  const crashed = (error: unknown) => process.exit(answer(error));
  process.once('beforeExit', idle);
  process.once('uncaughtException', crashed);
  return () => {
    process.off('beforeExit', idle);
    process.off('uncaughtException', crashed);
  };
}
