// Ends work in this thread that takes too long and that no signal could interrupt: endless loops, and regular expressions that backtrack for ever.
import { createContext, Script } from 'node:vm';

/**
 * Returns a function that does work, which takes 0.2 ms more for the limit.
 * @param limit milliseconds
 * @param late the error for work that takes longer
 */
export function endedAfter(limit: number, late: (cause: unknown) => Error): <T>(work: () => T) => T {
  // The limit of a script includes everything that it calls.
  const context: { work?: () => void } = createContext({});
  const script = new Script('work()');
  return <T>(work: () => T): T => {
    let result: { readonly value: T } | undefined;
    context.work = () => {
      result = { value: work() };
    };
    try {
      script.runInContext(context, { timeout: limit });
    } catch (cause) {
      throw (cause as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? late(cause) : cause;
    }
    return result!.value;
  };
}
