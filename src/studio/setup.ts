// Everything that training, evaluating and sampling need, opened from a configuration: the cheap first, so that mistakes show early.

import type { TrainableModel } from '../backends/backend.ts';
import { backends } from '../backends/backends.ts';
import type { TemplateUse } from '../backends/open-renderer.ts';
import { milliseconds } from '../config/durations.ts';
import type { Config } from '../config/schema.ts';
import type { SupportedBackend } from '../config/support.ts';
import { GradusError } from '../errors.ts';
import { type Generator, RolloutGenerator, type RolloutOptions } from '../generation.ts';
import { existingNames } from '../nearest.ts';
import type { Renderer } from '../rendering.ts';
import { evaluationMetricNames } from './evaluate-policy.ts';
import { PolicyCalls } from './policy-calls.ts';
import { promptOf } from './problems.ts';
import { fitPrompts } from './prompt-lengths.ts';
import { openTask, type Task } from './task.ts';

export interface Setup extends Task {
  readonly config: Config;
  readonly model: TrainableModel;
  readonly renderer: Renderer;
  readonly template: TemplateUse;
  /** Of the backend's libraries, by name. */
  readonly versions: Readonly<Record<string, string>>;
  /** From now on, keeps what an engine in another process writes about itself in a folder. */
  keepLogs(folder: string): void;
  /** Plays episodes as training does, but for what `options` say. */
  generator(options?: Partial<RolloutOptions>): Generator;
  dispose(): void;
}

/**
 * Whoever opens a setup disposes of it.
 * @param signal ends a download
 */
export async function openSetup(config: Config, signal?: AbortSignal): Promise<Setup> {
  const calls = new PolicyCalls(config);
  const task = await openTask(config, calls);
  assertMetricExists(config, task.rewardNames);
  // Others were refused when the configuration was loaded.
  const backend = await backends[config.backend as SupportedBackend]();
  const opened = await backend.open(config, signal);
  const { model, renderer, template, contextLength, versions } = opened;
  calls.policy = () => model.policy();
  try {
    const fitted = fitPrompts(config, task.problems, { prompt: promptOf(config), renderer, contextLength });
    return {
      ...task,
      ...fitted,
      ...{ config, model, template, versions },
      keepLogs: (folder) => opened.keepLogs?.(folder),
      generator: (options) =>
        new RolloutGenerator(task.environment, fitted.renderer, { ...rolloutOptions(config), ...options }),
      dispose: () => model.dispose(),
    };
  } catch (error) {
    model.dispose();
    throw error;
  }
}

/** How episodes are played. */
export function rolloutOptions(config: Config): RolloutOptions {
  const { environment, max_turns, max_episode_tokens, rollout } = config;
  return {
    maxTokens: config.max_completion_length,
    temperature: config.temperature,
    ...(environment !== null && {
      maxTurns: max_turns,
      stepTimeout: milliseconds(rollout.step_timeout),
      episodeTimeout: milliseconds(rollout.episode_timeout),
      retries: rollout.strategy === 'retry' ? rollout.retries : 0,
      failFast: rollout.strategy === 'fail_fast',
    }),
    ...(max_episode_tokens !== null && { maxEpisodeTokens: max_episode_tokens }),
  };
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
