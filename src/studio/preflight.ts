// Checks before training: samples a few completions of the untrained policy, scores them and the right answers, and compares log-probabilities
// of sampler and trainer. It takes at most the sampling of one step, or a few more samples before it stops a run that earns nothing, and does not
// change the random numbers of training.

import { correctsSampler, roundsWeights } from '../backends/native/rollout-dtype.ts';
import { unlessAborted } from '../cancellation.ts';
import { rewardName } from '../config/reward-names.ts';
import type { Config } from '../config/schema.ts';
import { counted } from '../counted.ts';
import { GradusError } from '../errors.ts';
import { groupReason, reasonMetrics } from '../grpo/group-policy.ts';
import { isTruncated, rolloutMetrics } from '../grpo/metrics.ts';
import type { TrainingSequence } from '../model.ts';
import { shuffled, streamSeed } from '../random.ts';
import { type Example, type Group, type Trajectory, wasPlayed } from '../rl.ts';
import type { SampleRecord } from '../runs/records.ts';
import { trainingSequence } from '../training-sequence.ts';
import { type Check, failed, isBlocking, passed, share, threeDigits } from './checks.ts';
import { heldOutCheck, rowChecks, templateCheck } from './data/data-checks.ts';
import { firstRewardCheck } from './data/first-reward.ts';
import { scoreGoldAnswers } from './data/gold-answers.ts';
import { stepCount } from './data/problems.ts';
import { sampleRecord } from './evaluation/sample-policy.ts';
import { goldCheck, isUnearned, rewardChecks } from './reward-checks.ts';
import type { Setup } from './setup.ts';
import { openings } from './task.ts';

export interface PreflightReport {
  readonly checks: readonly Check[];
  /** The metrics of rollouts that training has, under the same names, and `logprob_gap`, the largest difference in nats. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly samples: readonly SampleRecord[];
}

/** The numbers of prompts, of completions of each, and of gold answers to score; a step may have fewer. */
const SAMPLED_PROMPTS = 4;
const SAMPLES_PER_PROMPT = 4;
const GOLD_ROWS = 16;
/** Samples that must have earned nothing before that stops a run: of a policy that is right one time in ten, 1 such set in 150 has none. */
const FEWEST_UNEARNED = 48;
/** The maximum number of training problems whose prompts and answers are looked at. */
const CHECKED_ROWS = 5000;
/** With fewer completions, that none of them ended may be chance. */
const FEWEST_TO_END = 8;
/** In nats. A larger gap means that sampler and trainer compute different models: importance ratios would be off by 5 %. */
const LARGEST_ALLOWED_GAP = 0.05;
/** In nats, of a sampler that rounds weights. With a larger gap, the weights of tokens in the loss approach the bound of the correction, by default 3. */
const LARGEST_CORRECTED_GAP = 1;
/** The fraction of completions cut off above which there is a warning. */
const TOLERATED_TRUNCATION = 0.5;
/** Models with fewer parameters are trained as from scratch: they want, and bear, much larger steps. */
const SMALL_MODEL = 10_000_000;
/** Learning rates below which 100 steps change little, and recommended ones. */
const slowRates = {
  table: { what: 'a table of logits', below: 0.1, start: '0.5' },
  adapters: { what: 'adapters of a small model', below: 3e-5, start: '1e-4' },
  whole: { what: 'whole weights', below: 1e-7, start: '1e-5, or 1e-6 with billions of parameters' },
  small: { what: 'whole weights of so small a model', below: 1e-5, start: '1e-3' },
};

/** From this learning rate on, so many whole weights forget within tens of steps how to write: SmolLM2-135M came from 0.56 to 0. */
const FAST_RATE = 1e-4;

/** Runs all checks. Returns `undefined` if it was cancelled. */
export async function preflight(setup: Setup, signal?: AbortSignal): Promise<PreflightReport | undefined> {
  const { config, problems, model } = setup;
  // Files are often sorted, by difficulty or by topic: their first rows would be no sample. Those of a task set, maybe millions, are drawn at random.
  const drawn = config.taskset !== null;
  const rows = drawn ? problems.train : shuffled(problems.train, streamSeed(config.seed, 'preflight-rows'));
  const examples = rows.slice(0, Math.min(SAMPLED_PROMPTS, config.prompts_per_step));
  const samplesPerExample = Math.min(SAMPLES_PER_PROMPT, config.num_generations);
  const groups = await sampleGroups(setup, examples, { samplesPerExample, stream: 'preflight', signal });
  if (!groups) return undefined;
  const trajectories = groups.flatMap((group) => group.trajectories).filter(({ steps }) => steps.length > 0);
  const sequences = trajectories.map((trajectory) => trainingSequence(trajectory, 0));
  const logprobs = await model.logprobs(sequences, 'current');
  const gap = largestGap(sequences, logprobs);
  const reasons = groups.map((group) =>
    groupReason(group, {
      maskTruncated: config.mask_truncated_completions,
      objectives: config.multi_objective_aggregation === 'normalize_then_sum' ? config.reward.map(rewardName) : [],
      minGroup: 2,
    }),
  );
  const metrics = { ...rolloutMetrics(groups), ...reasonMetrics(reasons) };
  const answered = rows.slice(0, GOLD_ROWS);
  const opening = await openings(setup.environment, answered);
  const prompt = (row: Example) => opening(row).messages;
  const verdicts = await unlessAborted(() => scoreGoldAnswers(answered, setup.rewards, prompt, signal), signal);
  if (!verdicts) return undefined;
  const isEarned = !verdicts.some((verdict) => isUnearned(verdict, groups, setup));
  const more = isEarned ? [] : await sampleMore(setup, rows, signal);
  if (!more) return undefined;
  return {
    checks: [
      templateCheck(setup.template, answered, opening, setup.renderer),
      endCheck(trajectories, setup),
      truncationCheck(trajectories, config),
      ...rewardChecks(groups, reasons, setup),
      ...verdicts.map((verdict) => goldCheck(verdict, [...groups, ...more], setup)),
      ...firstRewardCheck(setup, verdicts),
      ...(config.environment === null ? [] : [await goldEpisodesCheck(setup, answered)]),
      masksCheck(trajectories, sequences, logprobs),
      gapCheck(gap, config),
      ...precisionCheck(setup),
      learningRateCheck(setup, stepCount(config, problems)),
      ...heldOutCheck(problems, config),
      ...(await rowFaults(setup)),
    ],
    metrics: { ...metrics, ...(Number.isFinite(gap) && { logprob_gap: gap }) },
    samples: groups.flatMap(({ example, trajectories, rewards }) =>
      trajectories.map((trajectory, i) => sampleRecord(0, example, trajectory, rewards[i]!)),
    ),
  };
}

interface Sampling {
  readonly samplesPerExample: number;
  /** The name of its random numbers. */
  readonly stream: string;
  readonly signal: AbortSignal | undefined;
}

/** Samples completions of the untrained policy and scores them. Returns `undefined` if it was cancelled. */
async function sampleGroups(
  { config, problems, model, rewardModel, generator }: Setup,
  examples: readonly Example[],
  { samplesPerExample, stream, signal }: Sampling,
): Promise<Group[] | undefined> {
  const progress = { step: 0, maxSteps: stepCount(config, problems) };
  const rollouts = await generator().generate(examples, model.policy(), {
    samplesPerExample,
    seed: streamSeed(config.seed, stream),
    ...(signal && { signal }),
  });
  if (signal?.aborted) return undefined;
  const groups: Group[] = [];
  for (const [i, example] of examples.entries()) {
    const trajectories = rollouts[i]!;
    const rewards = await unlessAborted(() => rewardModel.score(example, trajectories, progress), signal);
    if (!rewards) return undefined;
    groups.push({ id: `${i}`, example, trajectories, rewards });
  }
  return groups;
}

/** Samples of other prompts, where there are others, so many that it would be no chance if they earned nothing either. */
function sampleMore(
  setup: Setup,
  rows: readonly Example[],
  signal: AbortSignal | undefined,
): Promise<Group[] | undefined> {
  const wanted = Math.ceil(FEWEST_UNEARNED / SAMPLES_PER_PROMPT);
  const examples = [...rows.slice(SAMPLED_PROMPTS), ...rows.slice(0, SAMPLED_PROMPTS)].slice(0, wanted);
  const samplesPerExample = Math.ceil(FEWEST_UNEARNED / examples.length);
  return sampleGroups(setup, examples, { samplesPerExample, stream: 'preflight-more', signal });
}

/** What is wrong with rows of data, which the few that are sampled may not show. Episodes of environments may be slow to start: `data check` does. */
async function rowFaults({ config, problems, rewards, environment }: Setup): Promise<readonly Check[]> {
  if (config.dataset === null || config.environment !== null) return [];
  const rows = [...problems.train.slice(0, CHECKED_ROWS), ...problems.eval];
  const opening = await openings(environment, rows);
  return rowChecks(rows, rewards, (row) => opening(row).messages, config).filter(({ ok }) => !ok);
}

async function goldEpisodesCheck(setup: Setup, rows: readonly Example[]): Promise<Check> {
  const { goldEpisodes } = await import('./user-code/environments/check-environment.ts');
  return goldEpisodes(setup, setup.config, rows);
}

/** Throws `PREFLIGHT_FAILED` with all checks that make training pointless: one that is easily mended may stand before another. */
export function assertPassed({ checks }: PreflightReport): void {
  const wrong = checks.filter(isBlocking);
  if (wrong.length === 0) return;
  const details = wrong.map(({ id, detail }) => `${id}: ${detail}`).join('; ');
  throw new GradusError('PREFLIGHT_FAILED', `preflight: ${details}`, {
    hint: `${wrong.map(({ hint }) => hint).join('; ')}; gradus preflight shows all checks, --no-preflight trains regardless`,
  });
}

function endCheck(trajectories: readonly Trajectory[], { config, template }: Setup): Check {
  const id = 'end_token';
  const ended = trajectories.filter((trajectory) => wasPlayed(trajectory) && !isTruncated(trajectory)).length;
  if (ended > 0) return passed(id, `${share(ended, trajectories.length)} completions end by themselves`);
  const detail = `none of ${trajectories.length} completions ends by itself within ${config.max_completion_length} tokens`;
  if (template === 'applied') {
    const level = trajectories.length < FEWEST_TO_END ? 'warning' : 'error';
    const hint = 'raise max_completion_length, or see that generation_config.json names the token that ends a turn';
    return failed(id, level, detail, hint);
  }
  return failed(id, 'warning', detail, 'a base model may never end: rewards then judge text that is cut off');
}

function truncationCheck(trajectories: readonly Trajectory[], { max_completion_length }: Config): Check {
  const id = 'truncation';
  const cut = trajectories.filter(({ stopReason }) => stopReason === 'max_tokens').length;
  const detail = `${share(cut, trajectories.length)} completions are cut off at ${max_completion_length} tokens`;
  if (cut <= TOLERATED_TRUNCATION * trajectories.length) return passed(id, detail);
  return failed(id, 'warning', detail, 'raise max_completion_length, or ask for shorter answers');
}

function masksCheck(
  trajectories: readonly Trajectory[],
  sequences: readonly TrainingSequence[],
  logprobs: readonly (readonly number[])[],
): Check {
  const id = 'masks';
  const wrong = sequences.filter(({ completionIds, mask }, i) => {
    const trained = trajectories[i]!.steps.filter(({ state }) => state.trained !== false);
    const sampled = trained.reduce((sum, { tokens }) => sum + tokens.completionIds.length, 0);
    const lengths = [mask.length, logprobs[i]!.length, completionIds.length];
    return new Set(lengths).size > 1 || mask.filter(Boolean).length !== sampled;
  }).length;
  const count = sequences.length;
  if (wrong === 0) return passed(id, `masks, log-probabilities and tokens of ${count} completions have equal lengths`);
  const hint = 'the backend is at fault: tokens would be credited that the policy did not sample';
  return failed(id, 'error', `masks of ${share(wrong, count)} completions do not fit their tokens`, hint);
}

/** That completions are sampled with weights of another precision than the configuration asks for; nothing if they are not. */
function precisionCheck({ config, model }: Setup): Check[] {
  const asked = config.native.rollout_dtype;
  const used = model.rolloutDtype;
  if (asked === 'auto' || used === undefined || used === asked) return [];
  const hint =
    'weights that are trained are rounded by our own operators only, which need a model of width 128 and more, and a processor of which gradus doctor tells: set native.rollout_dtype to auto, or train adapters (lora)';
  const detail = `completions are sampled with weights in ${used}, not in ${asked} as native.rollout_dtype says`;
  return [failed('rollout_dtype', 'warning', detail, hint)];
}

function gapCheck(gap: number, config: Config): Check {
  const id = 'logprob_gap';
  const detail = `sampler and trainer differ by at most ${threeDigits(gap)} nats a token`;
  if (gap <= LARGEST_ALLOWED_GAP) return passed(id, detail);
  if (config.backend === 'native' && roundsWeights(config) && Number.isFinite(gap)) {
    const corrected = correctsSampler(config);
    if (corrected && gap <= LARGEST_CORRECTED_GAP) {
      return passed(id, `${detail}: sampling rounds the weights, which importance_sampling_correction makes up for`);
    }
    const missing = config.lora?.dropout ? 'lora.dropout: 0' : 'importance_sampling_correction: true';
    const own = corrected ? '' : `set ${missing}, or `;
    return failed(id, 'warning', detail, `sampling rounds the weights: ${own}set native.rollout_dtype: float32`);
  }
  return failed(id, 'error', detail, 'they do not compute the same model: report the model, its files may be damaged');
}

function learningRateCheck(
  { config: { backend, learning_rate, lora }, model: { parameters } }: Setup,
  steps: number,
): Check {
  const id = 'learning_rate';
  const whole = parameters.total < SMALL_MODEL ? 'small' : 'whole';
  const trained = backend === 'builtin' ? 'table' : lora ? 'adapters' : whole;
  const slow = backend === 'trl' ? undefined : slowRates[trained];
  const hint = `set learning_rate${slow ? `, for a start to ${slow.start}` : ''}`;
  if (learning_rate === 0) return failed(id, 'warning', 'learning_rate is 0: nothing changes', hint);
  if (trained === 'whole' && learning_rate >= FAST_RATE && parameters.trainable >= SMALL_MODEL) {
    const detail = `${learning_rate} is much for whole weights: language models forget how to write`;
    return failed(id, 'warning', detail, `${hint}, or train adapters, which bear it: leave lora: null out`);
  }
  if (!slow || learning_rate >= slow.below) return passed(id, `${learning_rate}`);
  return failed(
    id,
    'warning',
    `${learning_rate} is little for ${slow.what}: ${counted(steps, 'step')} may show nothing`,
    hint,
  );
}

/** The largest |log π_sampler − log π_trainer| of a sampled token. NaN counts as infinite. */
function largestGap(sequences: readonly TrainingSequence[], logprobs: readonly (readonly number[])[]): number {
  let largest = 0;
  for (const [i, { mask, samplerLogprobs }] of sequences.entries()) {
    for (const [t, sampled] of mask.entries()) {
      if (!sampled) continue;
      const gap = Math.abs(samplerLogprobs![t]! - logprobs[i]![t]!);
      largest = Math.max(largest, Number.isNaN(gap) ? Number.POSITIVE_INFINITY : gap);
    }
  }
  return largest;
}
