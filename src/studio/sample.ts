// Samples completions from the policy of a run, with their rewards: `gradus sample` for programs.
import { z } from 'zod';
import { singleTurn } from '../envs/single-turn.ts';
import { GradusError } from '../errors.ts';
import type { Message } from '../message.ts';
import { streamSeed } from '../random.ts';
import type { RewardModel } from '../rewards.ts';
import { RolloutGenerator } from '../rollout-generator.ts';
import type { SampleRecord } from '../runs/records.ts';
import { checkOptions, checkpointName, completionCount, temperature } from './call-options.ts';
import { stepCount } from './data/problems.ts';
import { openSubject } from './open-subject.ts';
import type { ProgramConfig } from './program-values.ts';
import { samplePolicy } from './sample-policy.ts';

export interface SampleOptions {
  /** How many completions. @default 4 */
  readonly n?: number;
  /** @default 0 */
  readonly seed?: number;
  /** A prompt of your own, whose completions have no rewards. @default held-out problems, one completion each */
  readonly prompt?: string;
  /** Used with `prompt`, instead of the configuration's system prompt. */
  readonly system?: string;
  /** @default the configuration's */
  readonly temperature?: number;
  /** Sample from the likeliest tokens that together reach this probability. @default the configuration's */
  readonly topP?: number;
  /** Sample from this many of the likeliest tokens; 0: from all. @default the configuration's */
  readonly topK?: number;
  /** Sample no token less likely than this fraction of the likeliest. @default the configuration's */
  readonly minP?: number;
  /** @default the configuration's max_completion_length */
  readonly maxTokens?: number;
  /** `best`, `latest` or a step. @default 'best', or 'latest' if there is no best */
  readonly checkpoint?: string;
  /** With a run: the configuration that a program trained it with, if that held rows, functions or an environment. */
  readonly config?: ProgramConfig;
  readonly signal?: AbortSignal | undefined;
}

export interface SampleResult {
  readonly ok: true;
  readonly schema: 'sample.result/1';
  readonly command: 'sample';
  /** Absent if a configuration was sampled from. */
  readonly run?: { readonly dir: string; readonly step: number };
  readonly samples: readonly SampleRecord[];
}

/** A prompt that does not come from a data set has no answer to compare completions with. */
const noRewards: RewardModel = {
  score: async (_, trajectories) => trajectories.map(() => ({ score: null, parts: {} })),
};

const optionSchema = z.object({
  n: completionCount,
  seed: z.number(),
  prompt: z.string(),
  system: z.string(),
  temperature,
  topP: z.number().positive().max(1),
  topK: z.int().nonnegative(),
  minP: z.number().min(0).max(1),
  maxTokens: z.int().min(1),
  checkpoint: checkpointName,
  config: z.looseObject({}),
  signal: z.instanceof(AbortSignal),
} satisfies Record<keyof SampleOptions, z.ZodType>);

/**
 * Throws `OPTION_INVALID`.
 * @param subject a run (its directory, its name under `runs/`, or `latest`), a config file, or a configuration
 */
export async function sample(subject: string | ProgramConfig, options: SampleOptions = {}): Promise<SampleResult> {
  checkOptions(optionSchema, options);
  const { n = 4, seed = 0, prompt, signal } = options;
  if (options.system !== undefined && prompt === undefined) {
    throw new GradusError('OPTION_INVALID', 'system: it goes with a prompt of your own, and there is none', {
      hint: 'give prompt too, or set system_prompt in the configuration',
      path: 'system',
    });
  }
  const { setup, directory, checkpoint } = await openSubject(subject, {
    ...(options.checkpoint !== undefined && { checkpoint: options.checkpoint }),
    ...(options.config && { config: options.config }),
    ...(signal && { signal }),
  });
  try {
    const { config, model, problems, renderer, rewardModel } = setup;
    if (checkpoint) await model.load(checkpoint.folder);
    const sampling = {
      temperature: options.temperature ?? config.temperature,
      topP: options.topP ?? config.top_p,
      topK: options.topK ?? config.top_k,
      minP: options.minP ?? config.min_p,
      maxTokens: options.maxTokens ?? config.max_completion_length,
    };
    const heldOut = problems.eval.length > 0 ? problems.eval : problems.train;
    const own = prompt !== undefined;
    const generator = own
      ? new RolloutGenerator(
          singleTurn({ prompt: () => conversation(prompt, options.system ?? config.system_prompt) }),
          renderer,
          sampling,
        )
      : setup.generator(sampling);
    const rows = own ? [{}] : Array.from({ length: n }, (_, i) => heldOut[i % heldOut.length]!);
    const step = checkpoint?.state.step ?? 0;
    const samples = await samplePolicy(rows, step, {
      ...{ policy: model.policy(), generator, rewardModel: own ? noRewards : rewardModel },
      samplesPerProblem: own ? n : 1,
      seed: streamSeed(seed, 'sample'),
      progress: { step, maxSteps: stepCount(config, problems) },
      ...(signal && { signal }),
    });
    if (signal?.aborted) throw new GradusError('CANCELLED', 'sampling was stopped', { kind: 'failed' });
    return {
      ok: true,
      schema: 'sample.result/1',
      command: 'sample',
      ...(checkpoint && directory !== undefined && { run: { dir: directory, step: checkpoint.state.step } }),
      samples,
    };
  } finally {
    setup.dispose();
  }
}

function conversation(prompt: string, system: string | null): Message[] {
  const user: Message = { role: 'user', content: prompt };
  return system === null ? [user] : [{ role: 'system', content: system }, user];
}
