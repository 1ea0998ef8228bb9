// Samples completions of a policy, with their rewards, for people to read.
import { unlessAborted } from '../common/cancellation.ts';
import type { RolloutSource } from '../loop/rollout-generator.ts';
import type { Policy } from '../policy.ts';
import { type Example, finalText, longerExchange, type Reward, type Trajectory, unparsedCalls } from '../rl.ts';
import type { SampleRecord } from '../runs/completion-records.ts';
import type { Progress, RewardModel } from '../scoring.ts';

export interface SamplePolicyOptions {
  readonly policy: Policy;
  readonly generator: RolloutSource;
  readonly rewardModel: RewardModel;
  readonly samplesPerProblem: number;
  readonly seed: number;
  /** The progress of the policy's run, for rewards that depend on it. */
  readonly progress?: Progress;
  readonly signal?: AbortSignal | undefined;
}

/** The completions of all problems, in order; empty if it was cancelled. */
export async function samplePolicy(
  problems: readonly Example[],
  step: number,
  options: SamplePolicyOptions,
): Promise<SampleRecord[]> {
  const { policy, generator, rewardModel, samplesPerProblem, seed, progress, signal } = options;
  const groups = await generator.generate(problems, policy, {
    samplesPerExample: samplesPerProblem,
    seed,
    signal,
  });
  if (signal?.aborted) return [];
  const records: SampleRecord[] = [];
  for (const [i, example] of problems.entries()) {
    const rewards = await unlessAborted(() => rewardModel.score(example, groups[i]!, progress), signal);
    if (!rewards) return [];
    records.push(...groups[i]!.map((trajectory, j) => sampleRecord(step, example, trajectory, rewards[j]!)));
  }
  return records;
}

export function sampleRecord(step: number, example: Example, trajectory: Trajectory, reward: Reward): SampleRecord {
  const messages = longerExchange(trajectory);
  const unparsed = unparsedCalls(trajectory);
  return {
    step,
    prompt: trajectory.turns[0]?.state.messages ?? [],
    completion: finalText(trajectory),
    ...(messages && { messages }),
    ...(unparsed && { unparsed }),
    stop_reason: trajectory.stopReason,
    ...(trajectory.error && { error: trajectory.error.message }),
    reward: reward.score,
    rewards: reward.parts,
    ...(reward.errors && { errors: reward.errors }),
    example,
  };
}
