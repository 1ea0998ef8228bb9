// Makes a trajectory from a given completion, for rewards to score.
import type { Message } from '../../../message.ts';
import type { Trajectory } from '../../../rl.ts';

/** @param completionIds its tokens, where they are known: rewards may count them */
export function givenCompletion(
  prompt: readonly Message[],
  message: Message,
  completionIds: readonly number[] = [],
): Trajectory {
  const tokens = { promptIds: [], completionIds, logprobs: [] };
  return { steps: [{ state: { messages: prompt }, action: { message }, tokens }], stopReason: 'completed' };
}
