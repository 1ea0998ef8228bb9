// Compares runs: their metrics, the differences of their configurations, and which is better on held-out problems.

import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { pairedInterval, unpairedInterval } from '../common/intervals.ts';
import { mean } from '../common/statistics.ts';
import { isProgramReference, splitReference } from '../config/references.ts';
import type { Config } from '../config/schema.ts';
import { dotted, leafPaths, valueAt } from '../config/values.ts';
import { isObject } from '../errors.ts';
import { runFiles } from '../runs/layout.ts';
import type { EvaluationRecord } from '../runs/records.ts';
import { ACCURACY_MARGIN, classifyProblems, metricWindows, ofLastStage } from '../runs/verdict.ts';
import type { ComparedRun, Comparison, HeldOutComparison, Rejudging } from './comparison-schema.ts';
import { type InspectedRun, summarizeRun } from './inspect-run.ts';

/** The keys that decide which problems are held out. */
const heldOutKeys = [
  'seed',
  'dataset',
  'dataset_config',
  'dataset_split',
  'columns',
  'drop_last_turn',
  'filter',
  'eval_dataset',
  'eval_split',
  'eval_fraction',
  'taskset',
  'taskset_config',
  'environment',
  'environment_config',
  'overlong_prompts',
  'max_prompt_tokens',
] as const satisfies readonly (keyof Config)[];

/** The keys that decide where held-out problems come from: the problems to train on, or a data set of their own. */
const trainedOn = ['dataset', 'dataset_config', 'dataset_split', 'eval_split', 'taskset', 'taskset_config'] as const;
const heldOutApart = ['eval_dataset', 'eval_split'] as const;

/** The keys among these that refer to files. */
const references = ['dataset', 'eval_dataset', 'environment'] as const satisfies readonly (keyof Config)[];

/** Compares runs, as `inspectRun` returns them, with the first: configurations, metrics and held-out results. */
export function compareRuns(runs: readonly InspectedRun[]): Comparison {
  const [first, ...others] = runs;
  const names = sharedMetrics(runs);
  const held_out = others.flatMap((run) => heldOutComparison(first!, run) ?? []);
  const judgedOtherwise = others.filter((run) => !areJudgedAlike(first!, run));
  const rejudging = judgedOtherwise.flatMap((run) => rejudgingOf(run, first!) ?? []);
  return {
    runs: runs.map((run) => comparedRun(run, names)),
    config: configDifferences(runs),
    held_out,
    ...(rejudging.length > 0 && { rejudging }),
  };
}

/** Whether the same completions would be correct in both, and their held-out problems come from one source. */
function areJudgedAlike(a: InspectedRun, b: InspectedRun): boolean {
  return isDeepStrictEqual(decisiveReward(a), decisiveReward(b)) && otherPopulation(a, b) === undefined;
}

/** How the model of a run is evaluated as another run is; undefined if it has no model of its own. */
function rejudgingOf(run: InspectedRun, judge: InspectedRun): Rejudging | undefined {
  const [ours, theirs] = [run.config, judge.config];
  if (!ours || !theirs || ours.model === null || theirs.model === null) return undefined;
  const config = join(judge.directory, runFiles.resolvedConfig);
  const fits = ours.lora !== null && isDeepStrictEqual([ours.model, ours.lora], [theirs.model, theirs.lora]);
  // Relative paths in settings would be relative to the configuration.
  const directory = resolve(run.directory);
  if (fits) return { config, settings: [`adapter=${directory}`] };
  const out = join(directory, 'model');
  return { config, settings: [`model=${out}`, 'adapter=null'], export: { run: run.directory, out } };
}

function sharedMetrics(runs: readonly InspectedRun[]): string[] {
  const names = runs.map(({ metrics }) => new Set(ofLastStage(metrics).flatMap((record) => Object.keys(record))));
  return [...names[0]!].filter((name) => name !== 'step' && names.every((others) => others.has(name))).sort();
}

function comparedRun(run: InspectedRun, names: readonly string[]): ComparedRun {
  const metrics = names.map((name) => {
    const { before, after } = metricWindows(run.metrics, name)!;
    return [name, { before, after }];
  });
  const last = run.evaluations.at(-1);
  const [value, interval] = [last?.metrics['eval/sampled_accuracy'], last?.intervals['eval/sampled_accuracy']];
  return {
    ...summarizeRun(run),
    metrics: Object.fromEntries(metrics),
    learning: run.verdict.learning,
    ...(run.time && { time: run.time }),
    ...(last && value !== undefined && interval && { accuracy: { step: last.step, value, interval } }),
  };
}

function configDifferences(runs: readonly InspectedRun[]): Comparison['config'] {
  const configs = runs.map(({ config }) => config ?? {});
  const keys = new Map(configs.flatMap(leafPaths).map((path) => [dotted(path), path]));
  return [...keys].flatMap(([key, path]) => {
    const values = configs.map((config) => valueAt(config, path) ?? null);
    const isSame = values.every((value) => isDeepStrictEqual(value, values[0]));
    return isSame ? [] : [{ key, values }];
  });
}

function heldOutComparison(against: InspectedRun, run: InspectedRun): HeldOutComparison | undefined {
  const [theirs, ours] = [against.evaluations.at(-1), run.evaluations.at(-1)];
  if (!theirs || !ours) return undefined;
  const sameMeasure = isDeepStrictEqual(decisiveReward(against), decisiveReward(run));
  const sameProblems = haveSameProblems(against, run) && theirs.per_problem.length === ours.per_problem.length;
  const paired = sameMeasure && sameProblems;
  const difference = paired ? pairedDifference(theirs, ours) : unpairedDifference(theirs, ours);
  if (!difference) return undefined;
  const learning = classifyProblems(difference.interval, ACCURACY_MARGIN, difference.problems);
  const caveat = sameMeasure
    ? (otherPopulation(against, run) ?? earlyEvaluation(against, theirs) ?? earlyEvaluation(run, ours))
    : 'what counts as correct is not the same: their first rewards or environments differ';
  const names = { improved: 'better', regressed: 'worse', flat: 'same', inconclusive: 'inconclusive' } as const;
  return {
    run: run.record.id,
    against: against.record.id,
    ...difference,
    margin: ACCURACY_MARGIN,
    conclusion: caveat === undefined ? names[learning] : 'inconclusive',
    paired,
    ...(caveat !== undefined && { caveat }),
  };
}

/** What decides which completions are correct: the first reward, without its weight, which has no effect on that, and the environment. */
function decisiveReward(run: InspectedRun): unknown {
  const { reward = [], reward_fn = null, environment = null, environment_config } = run.config ?? {};
  const { weight: _, as: __, ...first } = reward[0] ?? { name: reward_fn };
  return { ...first, name: contentOf(run, first.name), environment: contentOf(run, environment), environment_config };
}

/**
 * What a value of the configuration stood for. A reference to a user's file becomes the file's hash, so that a file that was changed between
 * two runs differs, and a copy in another folder does not.
 */
function contentOf(run: InspectedRun, value: unknown): unknown {
  if (isObject(value)) return Object.entries(value).map(([name, reference]) => [name, contentOf(run, reference)]);
  if (typeof value !== 'string') return value;
  const [file, name] = isProgramReference(value) ? [value] : splitReference(value);
  const hashes = Object.entries(run.record.code ?? {}).flatMap(([path, hash]) =>
    path === file || path.startsWith(`${file}/`) ? [hash] : [],
  );
  return hashes.length > 0 ? [name, ...hashes] : value;
}

/** The caveat for runs whose held-out problems come from different sources, of which one may be easier. Different draws from one source need none. */
function otherPopulation(a: InspectedRun, b: InspectedRun): string | undefined {
  if (!a.config || !b.config) return undefined;
  const named = (config: Config) => (config.eval_dataset === null ? trainedOn : heldOutApart);
  const keys = new Set([...named(a.config), ...named(b.config), 'columns', 'filter'] as const);
  const differing = [...keys].filter(
    (key) => !isDeepStrictEqual(contentOf(a, a.config![key]), contentOf(b, b.config![key])),
  );
  return differing.length === 0 ? undefined : `the held-out problems are not of one kind: ${differing.join(', ')}`;
}

/** The caveat for a run whose last weights were not evaluated, because it was stopped, failed, or still trains. */
function earlyEvaluation({ record }: InspectedRun, { step }: EvaluationRecord): string | undefined {
  return step === record.step ? undefined : `${record.id} was last evaluated at step ${step} of ${record.step}`;
}

function haveSameProblems(a: InspectedRun, b: InspectedRun): boolean {
  if (!a.config || !b.config) return false;
  const [ours, theirs] = [heldOutSource(a, a.config), heldOutSource(b, b.config)];
  return isDeepStrictEqual(ours, theirs);
}

/** What decides which problems are held out and evaluated. */
function heldOutSource(run: InspectedRun, config: Config): unknown {
  const isReference = (key: keyof Config) => references.some((other) => other === key);
  return [
    config.eval?.limit,
    ...heldOutKeys.map((key) => (isReference(key) ? contentOf(run, config[key]) : config[key])),
  ];
}

function pairedDifference(theirs: EvaluationRecord, ours: EvaluationRecord) {
  const differences = ours.per_problem.flatMap((value, i) => {
    const other = theirs.per_problem[i];
    return value === null || other === null || other === undefined ? [] : [value - other];
  });
  if (differences.length === 0) return undefined;
  return {
    difference: mean(differences),
    interval: pairedInterval(differences),
    problems: differences.length,
  };
}

function unpairedDifference(theirs: EvaluationRecord, ours: EvaluationRecord) {
  const [before, after] = [theirs, ours].map(({ per_problem }) => per_problem.filter((value) => value !== null));
  if (before!.length === 0 || after!.length === 0) return undefined;
  return {
    difference: mean(after!) - mean(before!),
    interval: unpairedInterval(before!, after!),
    problems: Math.min(before!.length, after!.length),
  };
}
