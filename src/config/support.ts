// The keys that each backend does not act on. Giving them a value is an error, so that nothing is silently ignored.
import { isDeepStrictEqual } from 'node:util';
import { GradusError } from '../errors.ts';
import { type Config, configDefaults } from './schema.ts';
import { short } from './values.ts';

export type SupportedBackend = 'builtin' | 'native' | 'trl' | 'tinker';

interface MissingEngine {
  readonly why: string;
  /** What can be done with such a configuration. @default nothing */
  readonly instead?: string;
}

/** Engines that have a name in configurations, and why they cannot be used. */
const missingEngines: Readonly<Record<Exclude<Config['backend'], SupportedBackend>, MissingEngine>> = {
  unsloth: {
    why: 'it needs a GPU even to be imported, and puts a loss of its own in the place of TRL’s',
    instead: 'gradus handoff CONFIG --to unsloth --out DIR writes what it needs to train the same; or ',
  },
  verl: {
    why: 'it needs GPUs, and samples and trains in a loop of its own',
    instead: 'gradus handoff CONFIG --to verl --out DIR writes what it needs to train the same; or ',
  },
};

interface Limitation {
  /** Completes the sentence `backend native …`. */
  readonly why: string;
  /** Values that are accepted besides the default. */
  readonly works?: readonly unknown[];
  /** Whether a configuration's value is accepted, where the accepted values cannot be listed. */
  readonly accepts?: (config: Config) => boolean;
}

type Limitations = Readonly<Partial<Record<keyof Config, Limitation>>>;

const inThisProcess: Limitation = { why: 'trains in this process: machines are rented for backend trl' };
const throughTinker = (what: string): Limitation => ({ why: `trains through Tinker’s API, which ${what}` });
const noDistribution = throughTinker('tells log-probabilities of given tokens alone: entropies need all of them');
const noSupervision: Limitation = {
  why: 'has no supervised steps: method sft is for native and trl',
  accepts: ({ stages }) => stages.every(({ method }) => method !== 'sft'),
};
const noModel: Limitation = { why: 'learns a table of logits: it has no model' };
const oneProblem: Limitation = { why: 'learns one problem, that of a task set such as digit-sum' };
const noPrompt: Limitation = { why: 'learns a table of logits: it reads no prompt' };
const noRatio: Limitation = { why: 'makes one REINFORCE step with fresh samples: it has no ratio to weigh or clip' };
const noFilter: Limitation = {
  why: 'learns from samples of the whole distribution; sample takes --top-p, --top-k and --min-p',
};
const noEntropy: Limitation = { why: 'makes plain REINFORCE steps: it has no part that goes by entropy' };
const noOptimizer: Limitation = { why: 'follows the plain gradient: learning_rate alone scales a step' };

/** The keys that each backend would ignore. Settings of other engines (`trl`, `modal`) are allowed, so that one file serves several. */
export const limitations: Readonly<Record<SupportedBackend, Limitations>> = {
  native: {
    compute: inThisProcess,
  },
  trl: {},
  tinker: {
    compute: { why: 'trains on a server that is running already: machines are rented for backend trl' },
    stages: {
      ...throughTinker('has no way to begin anew with an optimiser that all its servers follow'),
      accepts: ({ stages }) => stages.slice(1).every(({ keep_optimizer }) => keep_optimizer),
    },
    lora: {
      ...throughTinker(
        'takes only the rank (lora.r) of adapters: the server decides all else, and trains nothing else',
      ),
      accepts: ({ lora }) => isDeepStrictEqual({ ...lora, r: configDefaults.lora!.r }, configDefaults.lora),
    },
    adapter: throughTinker('begins with adapters that change nothing'),
    trainable: throughTinker('trains adapters alone'),
    temperature: throughTinker('tells the log-probabilities of temperature 1; sample and eval take --temperature'),
    min_p: throughTinker('has no such filter'),
    top_entropy_quantile: noDistribution,
    entropy_coef: noDistribution,
    use_adaptive_entropy: noDistribution,
    max_grad_norm: throughTinker('does not clip gradients on all its servers: they are never clipped'),
  },
  builtin: {
    compute: inThisProcess,
    stages: noSupervision,
    model: noModel,
    lora: { ...noModel, works: [null] },
    adapter: noModel,
    trainable: noModel,
    chat_template: { ...noModel, works: ['none'] },
    chat_template_kwargs: noModel,
    dataset: oneProblem,
    environment: oneProblem,
    system_prompt: noPrompt,
    few_shot: noPrompt,
    prompt_column: noPrompt,
    drop_last_turn: noPrompt,
    prompt_template: noPrompt,
    overlong_prompts: noPrompt,
    max_prompt_tokens: noPrompt,
    temperature: { why: 'learns from samples at temperature 1; sample and eval take --temperature' },
    top_p: noFilter,
    top_k: noFilter,
    min_p: noFilter,
    stop: { why: 'has completions of one length, without text' },
    loss_type: noRatio,
    importance_sampling_level: noRatio,
    importance_sampling_correction: noRatio,
    importance_sampling_mode: noRatio,
    importance_sampling_clip_max: noRatio,
    importance_sampling_clip_min: noRatio,
    num_iterations: noRatio,
    epsilon: noRatio,
    epsilon_high: noRatio,
    delta: noRatio,
    use_bias_correction_kl: noRatio,
    off_policy_mask_threshold: noRatio,
    kl_estimator: { why: 'computes the KL divergence exactly: it estimates nothing' },
    top_entropy_quantile: noEntropy,
    entropy_coef: noEntropy,
    use_adaptive_entropy: noEntropy,
    overlong_buffer: { why: 'has completions of one length: none is longer than others' },
    mask_truncated_completions: { why: 'has completions of one length: none is cut off' },
    weight_decay: noOptimizer,
    adam_beta1: noOptimizer,
    adam_beta2: noOptimizer,
    adam_epsilon: noOptimizer,
    max_grad_norm: noOptimizer,
  },
};

/** Throws `CONFIG_UNSUPPORTED` for a backend that this version does not have. */
export function assertEngine({ backend }: Config, placeOf: (path: readonly string[]) => string): void {
  if (backend in limitations) return;
  const { why, instead = '' } = missingEngines[backend as keyof typeof missingEngines];
  throw new GradusError(
    'CONFIG_UNSUPPORTED',
    `${placeOf(['backend'])}: backend ${backend} does not train within Gradus: ${why}`,
    {
      hint: `${instead}set backend to ${Object.keys(limitations).join(' or ')}`,
      path: 'backend',
    },
  );
}

/** Throws `CONFIG_UNSUPPORTED` for the first key that the backend would ignore, or for a backend that this version does not have. */
export function assertSupported(config: Config, placeOf: (path: readonly string[]) => string): void {
  assertEngine(config, placeOf);
  const { backend } = config;
  const limited = Object.entries(limitations[backend as SupportedBackend]) as [keyof Config, Limitation][];
  for (const [key, { why, works = [], accepts }] of limited) {
    const value = config[key];
    const accepted: readonly unknown[] = [configDefaults[key], ...works];
    if (accepts?.(config) || accepted.some((other) => isDeepStrictEqual(value, other))) continue;
    throw new GradusError(
      'CONFIG_UNSUPPORTED',
      `${placeOf([key])}: ${key}: ${short(value)}: backend ${backend} ${why}`,
      {
        hint: `leave ${key} out or set it to ${[...new Set(accepted.map((other) => JSON.stringify(other)))].join(', ')}`,
        path: key,
      },
    );
  }
}
