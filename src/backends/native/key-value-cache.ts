// Keys and values of rows, each in a slot: of those that decode together, or of one that waits for its next turn.
import { keyCacheName, valueCacheName } from '../../models/decoding-graph.ts';
import type { ModelConfig } from '../../models/layers.ts';
import { allocate, type NativeBuffer } from '../../runtime/buffers.ts';
import type { Device } from '../../runtime/device.ts';
import { DeviceTensor } from '../../runtime/device-tensor.ts';
import { type AnyTensor, type Tensor, tensor } from '../../runtime/tensor.ts';
import { volume } from '../../tensor/shape.ts';

type CacheConfig = Pick<ModelConfig, 'layers' | 'keyValueHeads' | 'headSize'>;

/** Bytes that one token takes in all layers. */
export function cacheBytesPerToken({ layers, keyValueHeads, headSize }: CacheConfig): number {
  return layers * 2 * keyValueHeads * headSize * Float32Array.BYTES_PER_ELEMENT;
}

/** Slots as sessions read and write them, until others are asked for or rows are moved. */
interface Views {
  readonly slots: string;
  readonly here: ReadonlyMap<string, Tensor<'float32'>>;
  /** Copies on the device, which runs write; on the CPU the same as `here`. */
  readonly there: ReadonlyMap<string, AnyTensor>;
}

/**
 * For each layer [slots, keyValueHeads, room, headSize], twice. It lies in this process's memory; on another device the slots that runs
 * write stay there for as long as the same rows decode.
 */
export class KeyValueCache implements Disposable {
  readonly slots: number;
  /** Tokens of a slot. */
  readonly room: number;
  readonly #config: CacheConfig;
  readonly #buffers: ReadonlyMap<string, NativeBuffer<'float32'>>;
  readonly #device: Device;
  #views: Views | undefined;

  constructor(config: CacheConfig, slots: number, room: number, device: Device = 'cpu') {
    this.#config = config;
    this.#device = device;
    this.slots = slots;
    this.room = room;
    const names = Array.from({ length: config.layers }, (_, layer) => [keyCacheName(layer), valueCacheName(layer)]);
    this.#buffers = new Map(names.flat().map((name) => [name, allocate('float32', this.#offset(slots))]));
  }

  /** In tokens. */
  get size(): number {
    return this.slots * this.room;
  }

  /** The caches of `count` slots from `first` on. They end when others are asked for. */
  tensors(first: number, count: number): ReadonlyMap<string, AnyTensor> {
    const slots = `${first} ${count}`;
    if (this.#views?.slots !== slots) {
      this.#settle();
      this.#releaseViews();
      const shape = [count, this.#config.keyValueHeads, this.room, this.#config.headSize];
      const start = this.#offset(first);
      const here = new Map(
        [...this.#buffers].map(([name, buffer]) => [name, tensor(buffer.slice(start, volume(shape)), shape)]),
      );
      this.#views = { slots, here, there: this.#onDevice(here) };
    }
    return this.#views!.there;
  }

  /** Copies the first `length` tokens of a slot of another cache, or of this one. */
  copyFrom(other: KeyValueCache, from: number, to: number, length: number): void {
    this.#settle();
    other.#settle();
    for (const name of this.#buffers.keys()) this.#copy(name, other, from, to, length);
  }

  /** A cache of another size that holds what the first slots do, so many tokens of each. This one ends. */
  resized(slots: number, room: number, lengths: readonly number[]): KeyValueCache {
    this.#settle();
    // They would keep what is let go of below.
    this.#releaseViews();
    const after = new KeyValueCache(this.#config, slots, room, this.#device);
    for (const [name, buffer] of this.#buffers) {
      for (const [slot, length] of lengths.entries()) after.#copy(name, this, slot, slot, length);
      // At once, so that there is never memory for both.
      buffer.dispose();
    }
    this[Symbol.dispose]();
    return after;
  }

  [Symbol.dispose](): void {
    this.#releaseViews();
    for (const buffer of this.#buffers.values()) buffer.dispose();
  }

  #copy(name: string, other: KeyValueCache, from: number, to: number, length: number): void {
    const [source, target] = [other.#buffers.get(name)!.data, this.#buffers.get(name)!.data];
    for (let head = 0; head < this.#config.keyValueHeads; head++) {
      const start = other.#offset(from, head);
      target.set(source.subarray(start, start + length * this.#config.headSize), this.#offset(to, head));
    }
  }

  /** Where a head of a slot begins: [room, headSize]. */
  #offset(slot: number, head = 0): number {
    return (slot * this.#config.keyValueHeads + head) * this.room * this.#config.headSize;
  }

  #onDevice(here: Views['here']): Views['there'] {
    const device = this.#device;
    if (device === 'cpu') return here;
    return new Map([...here].map(([name, view]) => [name, DeviceTensor.of(device, view)]));
  }

  /** Brings back what runs wrote on a device. */
  #settle(): void {
    if (this.#device === 'cpu' || !this.#views) return;
    for (const [name, view] of this.#views.here) (this.#views.there.get(name) as DeviceTensor<'float32'>).read(view);
    this.#releaseViews();
  }

  #releaseViews(): void {
    for (const view of [...(this.#views?.here.values() ?? []), ...(this.#views?.there.values() ?? [])]) view.dispose();
    this.#views = undefined;
  }
}
