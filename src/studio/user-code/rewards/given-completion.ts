// Makes a trajectory from a given completion, for rewards to score. It has no tokens, since it was not sampled.
import type { Message } from '../../../message.ts';
import type { Trajectory } from '../../../rl.ts';

export function givenCompletion(prompt: readonly Message[], message: Message): Trajectory {
  const tokens = { promptIds: [], completionIds: [], logprobs: [] };
  return { steps: [{ state: { messages: prompt }, action: { message }, tokens }], stopReason: 'completed' };
}
