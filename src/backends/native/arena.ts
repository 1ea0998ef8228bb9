// Trainable parameters in one flat block of memory, so that the optimiser, gradients and checkpoints handle one vector.
import { allocate, type NativeBuffer } from '../../runtime/buffers.ts';
import { type Tensor, tensor } from '../../runtime/tensor.ts';
import { volume } from '../../tensor/shape.ts';

export interface ArenaEntry {
  readonly name: string;
  readonly shape: readonly number[];
  /** Whether weight decay applies: not to biases and norms. */
  readonly decays: boolean;
}

interface Span {
  readonly start: number;
  readonly length: number;
}

/** Parameters start at whole cache lines: 16 floats. */
const ALIGNMENT = 16;

/** Where each parameter lies in a flat vector: those that decay first. Values, gradients and optimiser state share one layout. */
export class ArenaLayout {
  readonly entries: readonly ArenaEntry[];
  /** Elements in all, gaps included. */
  readonly length: number;
  /** How many of them, at the front, decay. */
  readonly decayLength: number;
  readonly #spans = new Map<string, Span>();

  constructor(entries: readonly ArenaEntry[]) {
    this.entries = [...entries.filter(({ decays }) => decays), ...entries.filter(({ decays }) => !decays)];
    let end = 0;
    let decayEnd = 0;
    for (const { name, shape, decays } of this.entries) {
      const length = volume(shape);
      this.#spans.set(name, { start: end, length });
      end += Math.ceil(length / ALIGNMENT) * ALIGNMENT;
      if (decays) decayEnd = end;
    }
    this.length = end;
    this.decayLength = decayEnd;
  }

  span(name: string): Span {
    const span = this.#spans.get(name);
    if (!span) throw new Error(`no trainable parameter is called ${name}`);
    return span;
  }
}

/** One vector in an arena's layout, with a tensor for each parameter. */
export class Arena {
  readonly layout: ArenaLayout;
  readonly buffer: NativeBuffer<'float32'>;
  readonly tensors: ReadonlyMap<string, Tensor>;

  constructor(layout: ArenaLayout) {
    this.layout = layout;
    this.buffer = allocate('float32', layout.length);
    this.tensors = new Map(
      layout.entries.map(({ name, shape }) => {
        const { start, length } = layout.span(name);
        return [name, tensor(this.buffer.slice(start, length), shape)];
      }),
    );
  }

  /** One parameter's numbers: a view, not a copy. */
  values(name: string): Float32Array {
    const { start, length } = this.layout.span(name);
    return this.buffer.data.subarray(start, start + length);
  }

  dispose(): void {
    for (const view of this.tensors.values()) view.dispose();
    this.buffer.dispose();
  }
}
