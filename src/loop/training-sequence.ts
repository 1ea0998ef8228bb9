// Turns a trajectory into the sequence of tokens that a model is trained on.

import { assertContinues, type Trajectory } from '../rl.ts';
import type { TrainingSequence } from '../training-model.ts';

/**
 * One sequence per trajectory: the first prompt, then the policy's turns (trained on, unless their state says otherwise) and the tokens between
 * them (not trained on). Throws `RENDERING_CHANGED_PREFIX` if a prompt does not continue the previous turn.
 */
export function trainingSequence({ turns }: Trajectory, advantage: number): TrainingSequence {
  const { promptIds } = turns[0]!.tokens;
  const completionIds: number[] = [];
  const mask: boolean[] = [];
  const samplerLogprobs: number[] = [];
  for (const [turn, { state, tokens }] of turns.entries()) {
    if (turn > 0) assertContinues(turns[turn - 1]!.tokens, tokens.promptIds);
    const { trained = true } = state;
    for (let i = promptIds.length + completionIds.length; i < tokens.promptIds.length; i++) {
      completionIds.push(tokens.promptIds[i]!);
      mask.push(false);
      samplerLogprobs.push(0);
    }
    for (let i = 0; i < tokens.completionIds.length; i++) {
      completionIds.push(tokens.completionIds[i]!);
      mask.push(trained);
      samplerLogprobs.push(tokens.logprobs[i]!);
    }
  }
  return { promptIds, completionIds, mask, samplerLogprobs, advantage };
}
