// AdamW over one flat vector, in place. Loshchilov and Hutter 2017, arXiv:1711.05101, as torch.optim.AdamW computes it.
import type { Binding } from '../../runtime/binding.ts';
import { allocate } from '../../runtime/buffers.ts';
import { createSession, type Session } from '../../runtime/session.ts';
import { type Tensor, tensor } from '../../runtime/tensor.ts';
import { lowerToOnnx } from '../../tensor/onnx.ts';
import { add, div, input, mul, sqrt, sub } from '../../tensor/ops.ts';
import { size } from '../../tensor/shape.ts';
import { Arena, type ArenaLayout } from './arena.ts';

export interface AdamWSettings {
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  /** Gradients are scaled down to this norm if they exceed it. */
  readonly maxGradNorm: number;
}

export class AdamW {
  readonly #settings: AdamWSettings;
  readonly #values: Arena;
  readonly #gradients: Arena;
  /** Running means of the gradients and of their squares. */
  readonly mean: Arena;
  readonly square: Arena;
  /** Updates made so far. */
  steps = 0;
  readonly #session: Session;
  readonly #scalars = { step_size: scalar(), decay: scalar(), clip: scalar(), correction: scalar() };
  readonly #parts: { binding: Binding; decays: boolean; tensors: Tensor[] }[] = [];

  constructor(layout: ArenaLayout, values: Arena, gradients: Arena, settings: AdamWSettings) {
    this.#settings = settings;
    this.#values = values;
    this.#gradients = gradients;
    this.mean = new Arena(layout);
    this.square = new Arena(layout);
    this.#session = createSession(lowerToOnnx(adamWGraph(settings)), { name: 'optimiser' });
    const parts = [
      { start: 0, length: layout.decayLength, decays: true },
      { start: layout.decayLength, length: layout.length - layout.decayLength, decays: false },
    ];
    for (const { start, length, decays } of parts) if (length > 0) this.#parts.push(this.#bind(start, length, decays));
  }

  /**
   * Updates the values from the gradients; answers the gradients' norm before clipping.
   * Where that is not finite, nothing is changed.
   */
  async step(learningRate: number): Promise<number> {
    const { beta1, beta2, weightDecay, maxGradNorm } = this.#settings;
    const norm = euclideanNorm(this.#gradients.buffer.data);
    if (!Number.isFinite(norm)) return norm;
    const step = this.steps + 1;
    const { step_size, decay, clip, correction } = this.#scalars;
    step_size.buffer.data[0] = learningRate / (1 - beta1 ** step);
    correction.buffer.data[0] = 1 / Math.sqrt(1 - beta2 ** step);
    // torch.nn.utils.clip_grad_norm_ adds the same 1e-6.
    clip.buffer.data[0] = Math.min(1, maxGradNorm / (norm + 1e-6));
    for (const { binding, decays } of this.#parts) {
      decay.buffer.data[0] = decays ? 1 - learningRate * weightDecay : 1;
      await binding.run();
    }
    this.steps = step;
    return norm;
  }

  dispose(): void {
    this.#session.dispose();
    for (const { tensors } of this.#parts) for (const view of tensors) view.dispose();
    for (const { tensor: view, buffer } of Object.values(this.#scalars)) {
      view.dispose();
      buffer.dispose();
    }
    this.mean.dispose();
    this.square.dispose();
  }

  #bind(start: number, length: number, decays: boolean) {
    const binding = this.#session.bind();
    for (const [name, { tensor: view }] of Object.entries(this.#scalars)) binding.input(name, view);
    const part = (arena: Arena) => tensor(arena.buffer.slice(start, length), [length]);
    const gradient = part(this.#gradients);
    const state = { value: part(this.#values), mean: part(this.mean), square: part(this.square) };
    binding.input('gradient', gradient);
    for (const [name, view] of Object.entries(state)) binding.input(name, view).output(`next_${name}`, view);
    return { binding, decays, tensors: [gradient, ...Object.values(state)] };
  }
}

/** One update of N numbers; what the step number decides comes in as scalars. */
function adamWGraph({ beta1, beta2, epsilon }: AdamWSettings) {
  const vector = (name: string) => input(name, 'float32', [size('N')]);
  const number = (name: string) => input(name, 'float32', []);
  const gradient = mul(vector('gradient'), number('clip'));
  const mean = add(mul(vector('mean'), beta1), mul(gradient, 1 - beta1));
  const square = add(mul(vector('square'), beta2), mul(mul(gradient, gradient), 1 - beta2));
  const direction = div(mean, add(mul(sqrt(square), number('correction')), epsilon));
  const value = sub(mul(vector('value'), number('decay')), mul(direction, number('step_size')));
  return { next_value: value, next_mean: mean, next_square: square };
}

function scalar() {
  const buffer = allocate('float32', 1);
  return { buffer, tensor: tensor(buffer, []) };
}

function euclideanNorm(vector: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < vector.length; i++) sum += vector[i]! * vector[i]!;
  return Math.sqrt(sum);
}
