// Builds small GGUF files byte by byte, so that tests can say exactly what a file holds, lies included.

/** Concatenates bytes given in GGUF's little-endian notation. */
export class GgufBuilder {
  readonly #bytes: number[] = [];

  get length(): number {
    return this.#bytes.length;
  }

  raw(...bytes: number[]): this {
    this.#bytes.push(...bytes);
    return this;
  }

  uint32(value: number): this {
    return this.#write(4, (view) => view.setUint32(0, value, true));
  }

  uint64(value: number | bigint): this {
    return this.#write(8, (view) => view.setBigUint64(0, BigInt(value), true));
  }

  float32(value: number): this {
    return this.#write(4, (view) => view.setFloat32(0, value, true));
  }

  float64(value: number): this {
    return this.#write(8, (view) => view.setFloat64(0, value, true));
  }

  string(text: string): this {
    const bytes = new TextEncoder().encode(text);
    return this.uint64(bytes.length).raw(...bytes);
  }

  header(tensors: number, pairs: number, version = 3): this {
    return this.raw(...new TextEncoder().encode('GGUF'))
      .uint32(version)
      .uint64(tensors)
      .uint64(pairs);
  }

  /** A tensor description; `dimensions` with the fastest first, as GGUF has them. */
  tensor(name: string, dimensions: readonly (number | bigint)[], type: number, offset: number | bigint): this {
    this.string(name).uint32(dimensions.length);
    for (const size of dimensions) this.uint64(size);
    return this.uint32(type).uint64(offset);
  }

  align(alignment = 32): this {
    while (this.#bytes.length % alignment !== 0) this.#bytes.push(0);
    return this;
  }

  build(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }

  #write(bytes: number, write: (view: DataView) => void): this {
    const view = new DataView(new ArrayBuffer(bytes));
    write(view);
    return this.raw(...new Uint8Array(view.buffer));
  }
}
