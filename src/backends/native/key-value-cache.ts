// Keys and values of rows, each in a slot: of those that decode together, or of one that waits for its next turn.
import { keyCacheName, valueCacheName } from '../../models/decoding-graph.ts';
import type { ModelConfig } from '../../models/layers.ts';
import { allocate, type NativeBuffer } from '../../runtime/buffers.ts';
import { type Tensor, tensor } from '../../runtime/tensor.ts';
import { volume } from '../../tensor/shape.ts';

type CacheConfig = Pick<ModelConfig, 'layers' | 'keyValueHeads' | 'headSize'>;

/** Bytes that one token takes in all layers. */
export function cacheBytesPerToken({ layers, keyValueHeads, headSize }: CacheConfig): number {
  return layers * 2 * keyValueHeads * headSize * Float32Array.BYTES_PER_ELEMENT;
}

/** For each layer [slots, keyValueHeads, room, headSize], twice. */
export class KeyValueCache implements Disposable {
  readonly slots: number;
  /** Tokens of a slot. */
  readonly room: number;
  readonly #config: CacheConfig;
  readonly #buffers: ReadonlyMap<string, NativeBuffer<'float32'>>;
  #views: { readonly slots: string; readonly tensors: ReadonlyMap<string, Tensor> } | undefined;

  constructor(config: CacheConfig, slots: number, room: number) {
    this.#config = config;
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
  tensors(first: number, count: number): ReadonlyMap<string, Tensor> {
    const slots = `${first} ${count}`;
    if (this.#views?.slots !== slots) {
      this.#releaseViews();
      const shape = [count, this.#config.keyValueHeads, this.room, this.#config.headSize];
      const start = this.#offset(first);
      const tensors = [...this.#buffers].map(
        ([name, buffer]) => [name, tensor(buffer.slice(start, volume(shape)), shape)] as const,
      );
      this.#views = { slots, tensors: new Map(tensors) };
    }
    return this.#views.tensors;
  }

  /** Copies the first `length` tokens of a slot of another cache, or of this one. */
  copyFrom(other: KeyValueCache, from: number, to: number, length: number): void {
    for (const name of this.#buffers.keys()) this.#copy(name, other, from, to, length);
  }

  /** A cache of another size that holds what the first slots do, so many tokens of each. This one ends. */
  resized(slots: number, room: number, lengths: readonly number[]): KeyValueCache {
    const after = new KeyValueCache(this.#config, slots, room);
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

  #releaseViews(): void {
    for (const view of this.#views?.tensors.values() ?? []) view.dispose();
  }
}
