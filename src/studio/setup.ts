// Everything that training, evaluating and sampling need, opened from a configuration: the cheap first, so that mistakes show early.

import type { TrainableModel } from '../backends/backend.ts';
import { backends } from '../backends/backends.ts';
import type { TemplateUse } from '../backends/open-renderer.ts';
import type { Config } from '../config/schema.ts';
import type { SupportedBackend } from '../config/support.ts';
import { singleTurn } from '../envs/single-turn.ts';
import { GradusError } from '../errors.ts';
import { type Generator, RolloutGenerator, type RolloutOptions } from '../generation.ts';
import { existingNames } from '../nearest.ts';
import type { Renderer } from '../rendering.ts';
import { weightedRewards } from '../rewards/weighted.ts';
import type { RewardModel } from '../rewards.ts';
import { evaluationMetricNames } from './evaluate-policy.ts';
import { openRewards } from './open-rewards.ts';
import { loadProblems, type Problems, promptOf } from './problems.ts';
import { fitPrompts } from './prompt-lengths.ts';

export interface Setup {
  readonly config: Config;
  readonly problems: Problems;
  readonly model: TrainableModel;
  readonly renderer: Renderer;
  readonly template: TemplateUse;
  readonly rewardModel: RewardModel;
  /** In the order of the configuration; the first decides what is correct. */
  readonly rewardNames: readonly string[];
  readonly rewardWeights: Readonly<Record<string, number>>;
  /** Of the backend's libraries, by name. */
  readonly versions: Readonly<Record<string, string>>;
  /** Plays episodes as training does, but for what `options` say. */
  generator(options?: Partial<RolloutOptions>): Generator;
  dispose(): void;
}

/**
 * Whoever opens a setup disposes of it.
 * @param signal ends a download
 */
export async function openSetup(config: Config, signal?: AbortSignal): Promise<Setup> {
  const { rewards, columns } = await openRewards(config);
  const rewardNames = rewards.map(({ name }) => name);
  assertMetricExists(config, rewardNames);
  const problems = await loadProblems(config, columns);
  // Others were refused when the configuration was loaded.
  const backend = await backends[config.backend as SupportedBackend]();
  const { model, renderer, template, contextLength } = await backend.open(config, signal);
  try {
    const prompt = promptOf(config);
    const fitted = fitPrompts(config, problems, { prompt, renderer, contextLength });
    return {
      config,
      model,
      renderer: fitted.renderer,
      template,
      problems: fitted.problems,
      rewardModel: weightedRewards(rewards),
      rewardNames,
      rewardWeights: Object.fromEntries(rewards.map(({ name, weight = 1 }) => [name, weight])),
      versions: backend.versions(),
      generator: (options) =>
        new RolloutGenerator(singleTurn({ prompt }), fitted.renderer, {
          maxTokens: config.max_completion_length,
          temperature: config.temperature,
          ...options,
        }),
      dispose: () => model.dispose(),
    };
  } catch (error) {
    model.dispose();
    throw error;
  }
}

/** The metric that decides which checkpoint is best must be one that evaluations have. */
function assertMetricExists({ save, eval: evaluation }: Config, rewardNames: readonly string[]): void {
  if (save.best === null || evaluation === null) return;
  const names = evaluationMetricNames(rewardNames, evaluation.k);
  if (names.includes(save.best)) return;
  throw new GradusError('CONFIG_INVALID', `save.best: no evaluation has the metric ${save.best}`, {
    hint: existingNames(save.best, names),
    path: 'save.best',
  });
}
