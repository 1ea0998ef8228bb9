// Trainable parameters in one flat block of memory, so that the optimiser, gradients and checkpoints handle one vector.
import { allocate, type NativeBuffer } from '../../runtime/buffers.ts';
import type { Device } from '../../runtime/device.ts';
import { DeviceTensor } from '../../runtime/device-tensor.ts';
import { type AnyTensor, type Tensor, tensor } from '../../runtime/tensor.ts';
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
  /** Where sessions read and write them. */
  readonly device: Device;
  readonly #spans = new Map<string, Span>();

  constructor(entries: readonly ArenaEntry[], device: Device = 'cpu') {
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
    this.device = device;
  }

  span(name: string): Span {
    const span = this.#spans.get(name);
    if (!span) throw new Error(`no trainable parameter is called ${name}`);
    return span;
  }
}

/** A piece of an arena whose numbers all decay, or none. */
export interface ArenaPart {
  readonly tensor: AnyTensor;
  readonly decays: boolean;
}

/**
 * One vector in an arena's layout, with a tensor for each parameter. It lies in this process's memory. Where sessions run on another
 * device, the tensors lie there, and `upload` and `download` carry the numbers over.
 */
export class Arena {
  readonly layout: ArenaLayout;
  readonly buffer: NativeBuffer<'float32'>;
  readonly tensors: ReadonlyMap<string, AnyTensor>;
  /** All numbers once, in as few tensors as the device allows; arenas of one layout have the same parts. */
  readonly parts: readonly ArenaPart[];
  readonly #here: ReadonlyMap<string, Tensor<'float32'>>;
  readonly #there = new Map<string, DeviceTensor<'float32'>>();
  readonly #halves: ArenaPart[] = [];

  constructor(layout: ArenaLayout) {
    this.layout = layout;
    this.buffer = allocate('float32', layout.length);
    this.#here = new Map(
      layout.entries.map(({ name, shape }) => {
        const { start, length } = layout.span(name);
        return [name, tensor(this.buffer.slice(start, length), shape)];
      }),
    );
    const { device, entries } = layout;
    if (device === 'cpu') {
      this.tensors = this.#here;
      this.#addHalf(0, layout.decayLength, true);
      this.#addHalf(layout.decayLength, layout.length, false);
      this.parts = this.#halves;
    } else {
      for (const { name, shape } of entries) this.#there.set(name, new DeviceTensor(device, 'float32', shape));
      this.tensors = this.#there;
      this.parts = entries.map(({ name, decays }) => ({ tensor: this.#there.get(name)!, decays }));
      this.upload();
    }
  }

  /** One parameter's numbers: a view, not a copy. What a session wrote on another device is in it after `download`. */
  values(name: string): Float32Array {
    const { start, length } = this.layout.span(name);
    return this.buffer.data.subarray(start, start + length);
  }

  clear(): void {
    this.buffer.data.fill(0);
    this.upload();
  }

  /** Hands what was written here to the device. */
  upload(): void {
    for (const [name, there] of this.#there) there.write(this.#here.get(name)!);
  }

  /** Brings here what sessions wrote on the device. */
  download(): void {
    for (const [name, there] of this.#there) there.read(this.#here.get(name)!);
  }

  dispose(): void {
    const halves = this.#halves.map((half) => half.tensor);
    for (const view of [...this.#here.values(), ...this.#there.values(), ...halves]) view.dispose();
    this.buffer.dispose();
  }

  #addHalf(start: number, end: number, decays: boolean): void {
    if (start === end) return;
    this.#halves.push({ tensor: tensor(this.buffer.slice(start, end - start), [end - start]), decays });
  }
}
