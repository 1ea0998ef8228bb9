// The built-in backend: a table of logits for task sets whose answers have one form. No model, no native library: it starts at once.
import type { Config } from '../../config/schema.ts';
import type { AnswerShape } from '../../envs/taskset.ts';
import { tasksets } from '../../envs/tasksets.ts';
import { GradusError } from '../../errors.ts';
import type { Renderer } from '../../rendering.ts';
import type { Backend, ModelInterface } from '../backend.ts';
import { TabularModel } from './tabular-model.ts';

export const builtinBackend: Backend = {
  versions: () => ({}),
  async describe(config) {
    answersOf(config);
    return textless;
  },
  async open(config) {
    return { ...textless, model: new TabularModel({ shape: answersOf(config), beta: config.beta }) };
  },
};

function answersOf({ taskset, taskset_config }: Config): AnswerShape {
  const shape = taskset === null ? undefined : tasksets[taskset]?.create(taskset_config).answers;
  if (shape) return shape;
  throw new GradusError('CONFIG_UNSUPPORTED', `taskset: ${taskset} has no answers of one form for a table to learn`, {
    hint: 'set taskset to digit-sum, or backend to native',
    path: 'taskset',
  });
}

/** Every state is the empty prompt, and ids are the numbers themselves. */
const numbersRenderer: Renderer = {
  stopIds: new Set(),
  render: () => ({ ids: [] }),
  parse: (completionIds) => ({ message: { role: 'assistant', content: completionIds.join(' ') } }),
};

/** The table reads no prompt, so that one of any length fits. */
const textless: ModelInterface = {
  renderer: numbersRenderer,
  template: 'absent',
  contextLength: Number.POSITIVE_INFINITY,
};
