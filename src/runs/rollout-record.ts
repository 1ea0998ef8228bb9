// Converts a group of a training step to a line of the rollouts file.
import { finalText, type Group, type GroupOutcome, longerExchange, type Trajectory } from '../rl.ts';
import type { RolloutCompletion, RolloutRecord } from './records.ts';

export function rolloutRecord(group: GroupOutcome): RolloutRecord {
  const first = group.trajectories.find(({ turns }) => turns.length > 0)?.turns[0];
  return {
    id: group.id,
    fate: group.fate,
    reason: group.reason,
    example: group.example,
    prompt: first?.state.messages ?? [],
    prompt_ids: first?.tokens.promptIds ?? [],
    completions: group.trajectories.map((trajectory, i) =>
      completionRecord(trajectory, group, i, group.advantages[i]!),
    ),
  };
}

/** JSON leaves out what is undefined. */
function completionRecord(trajectory: Trajectory, group: Group, i: number, advantage: number): RolloutCompletion {
  const { score, parts, errors, stacks, extra } = group.rewards[i]!;
  const { error } = trajectory;
  const tokens = trajectory.turns.at(-1)?.tokens;
  return {
    text: finalText(trajectory),
    opening: trajectory.turns.at(-1)?.opening,
    messages: longerExchange(trajectory),
    reward: score,
    rewards: parts,
    errors,
    stacks,
    extra,
    advantage,
    stop_reason: trajectory.stopReason,
    error: error?.message,
    stack: error?.stack,
    token_ids: tokens?.completionIds ?? [],
    logprobs: tokens?.logprobs.map((logprob) => Number(logprob.toPrecision(7))) ?? [],
  };
}
