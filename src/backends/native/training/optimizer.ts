// AdamW over arenas, in place (Loshchilov and Hutter 2017, arXiv:1711.05101), computed as torch.optim.AdamW does.
import { trainingDefaults } from '../../../grpo/training-defaults.ts';
import type { Binding } from '../../../runtime/binding.ts';
import type { HostTensor } from '../../../runtime/tensor.ts';
import { add, div, input, mul, sqrt, sub } from '../../../tensor/ops.ts';
import type { Shape } from '../../../tensor/shape.ts';
import { Arena, type ArenaLayout } from '../arena.ts';
import { free, newTensor } from '../placement.ts';
import { ArenaGraph } from './arena-graph.ts';
import { ArenaNorm } from './arena-norm.ts';

export interface AdamWSettings {
  /** @default 0.9 */
  readonly beta1: number;
  /** @default 0.999 */
  readonly beta2: number;
  /** @default 1e-8 */
  readonly epsilon: number;
  /** @default 0 */
  readonly weightDecay: number;
  /** Gradients with a larger norm are scaled down to this norm. @default 1 */
  readonly maxGradNorm: number;
}

/** The defaults of the configuration. */
export const defaultAdamW: AdamWSettings = {
  beta1: trainingDefaults.adam_beta1,
  beta2: trainingDefaults.adam_beta2,
  epsilon: trainingDefaults.adam_epsilon,
  weightDecay: trainingDefaults.weight_decay,
  maxGradNorm: trainingDefaults.max_grad_norm,
};

/** Inputs of the graph that depend on the settings and the step, such as bias correction. */
const scalarNames = ['step_size', 'decay', 'clip', 'correction', 'beta1', 'new1', 'beta2', 'new2', 'epsilon'] as const;
type ScalarName = (typeof scalarNames)[number];

export class AdamW {
  readonly #settings: AdamWSettings;
  readonly #gradients: Arena;
  readonly #norm: ArenaNorm;
  /** Exponential moving averages of the gradients and of their squares. */
  readonly mean: Arena;
  readonly square: Arena;
  /** Updates made so far. */
  steps = 0;
  readonly #graph: ArenaGraph;
  readonly #scalars = Object.fromEntries(scalarNames.map((name) => [name, newTensor('float32', [])])) as Record<
    ScalarName,
    HostTensor<'float32'>
  >;
  readonly #parts: readonly { readonly binding: Binding; readonly decays: boolean }[];

  constructor(layout: ArenaLayout, values: Arena, gradients: Arena, settings: AdamWSettings) {
    this.#settings = settings;
    this.#gradients = gradients;
    this.#norm = new ArenaNorm(layout);
    this.mean = new Arena(layout);
    this.square = new Arena(layout);
    this.#graph = new ArenaGraph('optimiser', layout, adamWGraph);
    this.#parts = values.parts.map(({ tensor: value, decays }, index) => {
      const binding = this.#graph.bind(value);
      for (const [name, scalar] of Object.entries(this.#scalars)) binding.input(name, scalar);
      const state = { value, mean: this.mean.parts[index]!.tensor, square: this.square.parts[index]!.tensor };
      binding.input('gradient', gradients.parts[index]!.tensor);
      for (const [name, part] of Object.entries(state)) binding.input(name, part).output(`next_${name}`, part);
      return { binding, decays };
    });
  }

  /**
   * Updates the values from the gradients. Returns the gradients' norm before clipping; if it is not finite, nothing is changed.
   * @param settings those of this step alone
   */
  async step(learningRate: number, settings: AdamWSettings = this.#settings): Promise<number> {
    const { beta1, beta2, epsilon, weightDecay, maxGradNorm } = settings;
    const norm = await this.#norm.of(this.#gradients);
    if (!Number.isFinite(norm)) return norm;
    const step = this.steps + 1;
    const set = (name: ScalarName, value: number) => {
      this.#scalars[name].buffer.data[0] = value;
    };
    set('step_size', learningRate / (1 - beta1 ** step));
    set('correction', 1 / Math.sqrt(1 - beta2 ** step));
    // torch.nn.utils.clip_grad_norm_ adds the same 1e-6.
    set('clip', Math.min(1, maxGradNorm / (norm + 1e-6)));
    set('beta1', beta1);
    set('new1', 1 - beta1);
    set('beta2', beta2);
    set('new2', 1 - beta2);
    set('epsilon', epsilon);
    for (const { binding, decays } of this.#parts) {
      set('decay', decays ? 1 - learningRate * weightDecay : 1);
      await binding.run();
    }
    this.steps = step;
    return norm;
  }

  dispose(): void {
    this.#graph.dispose();
    this.#norm.dispose();
    for (const scalar of Object.values(this.#scalars)) free(scalar);
    this.mean.dispose();
    this.square.dispose();
  }
}

/** One update of a part of some shape. */
function adamWGraph(shape: Shape) {
  const vector = (name: string) => input(name, 'float32', shape);
  const number = (name: ScalarName) => input(name, 'float32', []);
  const gradient = mul(vector('gradient'), number('clip'));
  const mean = add(mul(vector('mean'), number('beta1')), mul(gradient, number('new1')));
  const square = add(mul(vector('square'), number('beta2')), mul(mul(gradient, gradient), number('new2')));
  const direction = div(mean, add(mul(sqrt(square), number('correction')), number('epsilon')));
  const value = sub(mul(vector('value'), number('decay')), mul(direction, number('step_size')));
  return { next_value: value, next_mean: mean, next_square: square };
}
