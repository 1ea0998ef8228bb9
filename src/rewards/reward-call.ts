// Calls a reward function once and returns its scores or its error.
import { kindOf, stackOf } from '../errors.ts';
import { faultMessage } from '../fault-message.ts';
import { meanMetrics } from '../logging.ts';
import { isPromiseLike, type MaybePromise } from '../maybe-promise.ts';
import type { RewardData, RewardFault, RewardFunction, RewardOutcome } from '../rewards.ts';
import { isMeasurable } from '../statistics.ts';

/**
 * Calls a function and checks what it returns. Never throws, and sets no time limit.
 * A score that is not a finite number is an error of its completion alone; anything else that is wrong is an error of the whole call.
 * @param judged the input of the function, frozen
 */
export function callReward(score: RewardFunction, judged: RewardData): MaybePromise<RewardOutcome> {
  const logged: Record<string, number>[] = [];
  const log = (name: string, value: number) => {
    if (!isMeasurable(value))
      throw new TypeError(`log(${JSON.stringify(name)}, ${value}) is not a finite number up to 1e100`);
    logged.push({ [name]: value });
  };
  const outcomeOf = (answer: unknown): RewardOutcome => ({
    scores: checkedScores(answer, judged.completions.length),
    metrics: meanMetrics(logged),
  });
  const failed = (error: unknown): RewardOutcome => ({ fault: faultOf(error) });
  try {
    const answer: unknown = score(Object.freeze({ ...judged, log }));
    return isPromiseLike(answer) ? Promise.resolve(answer).then(outcomeOf).catch(failed) : outcomeOf(answer);
  } catch (error) {
    return failed(error);
  }
}

/** The error, with the lines of its stack outside of Gradus. */
function faultOf(error: unknown): RewardFault {
  const frames = (stackOf(error) ?? '').split('\n');
  const own = frames.findIndex((frame) => frame.includes(import.meta.url));
  const stack = frames.slice(0, Math.max(own, 0));
  return { message: faultMessage(error), ...(stack.length > 0 && { stack: stack.join('\n') }) };
}

/** Checks what user code returned. Throws a TypeError that says what is wrong with it. */
function checkedScores(answer: unknown, count: number): (number | null | RewardFault)[] {
  if (!isList(answer)) throw new TypeError(`it returned ${kindOf(answer)}, not an array of scores`);
  if (answer.length !== count) throw new TypeError(`it returned ${answer.length} scores for ${count} completions`);
  return Array.from(answer, (score) => {
    if (score === null || isMeasurable(score)) return score;
    if (isPromiseLike(score)) return { message: 'its score is a promise: return await Promise.all(…) of all scores' };
    const found = typeof score === 'number' ? String(score) : kindOf(score);
    const wanted = Number.isFinite(score) ? 'a number up to 1e100' : 'a finite number or null';
    return { message: `its score is ${found}, not ${wanted}` };
  });
}

/** Whether a value is an array, or a typed one such as Float32Array. */
function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value);
}
