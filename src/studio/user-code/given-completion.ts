// A completion that nobody sampled, as the trajectory that rewards score. It has no tokens.
import type { Message } from '../../message.ts';
import type { Trajectory } from '../../rl.ts';

export function givenCompletion(prompt: readonly Message[], message: Message): Trajectory {
  const tokens = { promptIds: [], completionIds: [], logprobs: [] };
  return { steps: [{ state: { messages: prompt }, action: { message }, tokens }], stopReason: 'completed' };
}
