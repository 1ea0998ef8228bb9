// Evaluates the policy of a run and compares it with the policy that training started from: `gradus eval` for programs.
import { z } from 'zod';
import type { Config } from '../config/schema.ts';
import { evaluation as evaluationSection } from '../config/sections.ts';
import { cancelled, GradusError } from '../errors.ts';
import { readRun } from '../runs/read-run.ts';
import type { EvaluationRecord, Verdict } from '../runs/records.ts';
import { learningVerdict } from '../runs/verdict.ts';
import { assertValid, checkpointName, sampleSize, temperature } from './call-options.ts';
import { stepCount } from './data/problems.ts';
import { evaluatePolicy } from './evaluation/evaluate-policy.ts';
import { openSubject } from './evaluation/open-subject.ts';
import type { ProgramConfig } from './program-values.ts';
import { changesOf } from './training/train-result.ts';
import { changedFiles, hashUserFiles } from './user-code/user-files.ts';

export interface EvaluateOptions {
  /** The maximum number of problems. @default all that are held out, at most `eval.limit` of the configuration */
  readonly problems?: number;
  /** The values of k for pass@k. @default `eval.k` of the configuration */
  readonly k?: readonly number[];
  /** Whether to use held-out problems, or those that were trained on. @default 'eval' */
  readonly split?: 'eval' | 'train';
  /** `best`, `latest` or a step. @default 'best', or 'latest' if there is no best */
  readonly checkpoint?: string;
  /** The temperature of samples. @default the configuration's */
  readonly temperature?: number;
  /** The configuration that a program trained the run with, if that held rows, functions or an environment. */
  readonly config?: ProgramConfig;
  /** Changes to a config file: `a.b=VALUE`, VALUE in YAML. @default none */
  readonly settings?: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

export interface EvaluateResult {
  readonly ok: true;
  readonly schema: 'eval.result/1';
  readonly command: 'eval';
  /** Absent if a configuration was evaluated. */
  readonly run?: { readonly dir: string; readonly step: number };
  readonly split: 'eval' | 'train';
  /** Files of rewards, environments, data and models that have changed since training; absent if none has. */
  readonly changed_files?: readonly string[];
  readonly evaluation: EvaluationRecord;
  /** The policy that training started from, on the same problems; absent if that policy itself was evaluated. */
  readonly baseline?: EvaluationRecord;
  /** Absent without a baseline, and for problems that were trained on, which say nothing about others. */
  readonly verdict?: Verdict;
}

const optionSchema = z.object({
  problems: z.int().min(1),
  k: z.array(sampleSize).nonempty(),
  split: z.enum(['eval', 'train']),
  checkpoint: checkpointName,
  temperature,
  config: z.looseObject({}),
  settings: z.array(z.string()),
  signal: z.instanceof(AbortSignal),
} satisfies Record<keyof EvaluateOptions, z.ZodType>);

/**
 * Throws `OPTION_INVALID`.
 * @param subject a run (its directory, its name under `runs/`, or `latest`), a config file, or a configuration
 */
export async function evaluate(
  subject: string | ProgramConfig,
  options: EvaluateOptions = {},
): Promise<EvaluateResult> {
  assertValid(optionSchema, options);
  const { split = 'eval', signal } = options;
  const { setup, directory, checkpoint } = await openSubject(subject, {
    checkpoint: options.checkpoint,
    config: options.config,
    settings: options.settings,
    signal,
    change: (config) => ({ ...config, eval: config.eval && evaluationSettings(config, options) }),
  });
  try {
    const { config, model, problems, generator, rewardModel, rewardNames } = setup;
    const settings = evaluationSettings(config, options);
    const measure = async (step: number) => {
      const record = await evaluatePolicy(problems[split].slice(0, settings.limit), step, {
        policy: model.policy(),
        generator,
        rewardModel,
        rewardNames,
        k: settings.k,
        seed: config.seed,
        temperature: options.temperature ?? config.temperature,
        progress: { step, maxSteps: stepCount(config, problems) },
        ...(signal && { signal }),
      });
      if (record) return record;
      throw cancelled(signal!, 'the evaluation was stopped');
    };
    const baseline = await measure(0);
    const common = { ok: true, schema: 'eval.result/1', command: 'eval', split } as const;
    if (!checkpoint || directory === undefined) return { ...common, evaluation: baseline };
    await model.load(checkpoint.folder, { weightsOnly: true });
    const { step } = checkpoint.state;
    const evaluation = step === 0 ? baseline : await measure(step);
    const verdict = split === 'train' ? undefined : learningVerdict([], [baseline, evaluation]);
    const changed_files = changedFiles(readRun(directory).code, hashUserFiles(config, setup.values));
    const measured = { evaluation, baseline, ...(verdict && { verdict }) };
    return { ...common, run: { dir: directory, step }, ...changesOf({ changed_files }), ...measured };
  } finally {
    setup.dispose();
  }
}

/** The numbers of problems and samples, but not which problems are held out. Throws `NOTHING_HELD_OUT` where none is and some are asked for. */
function evaluationSettings({ eval: configured }: Config, options: EvaluateOptions): NonNullable<Config['eval']> {
  const { problems, k, split } = options;
  if (configured === null && split !== 'train') {
    throw new GradusError('NOTHING_HELD_OUT', 'the configuration holds nothing out: eval is null', {
      hint: "--split train asks what was trained on; gradus eval CONFIG --set 'eval={}' --set eval_dataset=FILE --set adapter=RUN asks other problems of a run with adapters",
      path: 'eval',
    });
  }
  const settings = configured ?? evaluationSection.parse({});
  const [first = 1, ...others] = k ?? settings.k;
  return { ...settings, limit: problems ?? settings.limit, k: [first, ...others] };
}
