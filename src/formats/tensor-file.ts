// What every weight file is to us, whatever its format: named tensors, listed at once and decoded one by one.
import { type ByteSource, readExactly } from './byte-source.ts';
import { bytesOf, type ElementType, float32, quoted } from './element-types.ts';
import { FormatError } from './format-error.ts';

export interface TensorEntry {
  readonly name: string;
  /** The format's own name of the element type: `F32`, `BF16`, `Q4_1`. */
  readonly dtype: string;
  /** Row-major, the slowest dimension first. */
  readonly shape: readonly number[];
  /** Of the first byte, from the start of the file. */
  readonly offset: number;
  /** In bytes. */
  readonly length: number;
}

export interface TensorFile {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tensors: ReadonlyMap<string, TensorEntry>;
  /**
   * The tensor's elements as float32, in row-major order. Reads and decodes in bounded chunks.
   * @param into where to decode them, exactly as many as the tensor has: a view of native memory, say. @default a new array
   */
  readFloat32(name: string, into?: Float32Array): Promise<Float32Array>;
}

const chunkBytes = 4 << 20;

/** The `readFloat32` of a file whose entries are known and lie inside the source. */
export function float32Reader(
  source: ByteSource,
  tensors: ReadonlyMap<string, TensorEntry>,
  typeOf: (dtype: string) => ElementType,
): TensorFile['readFloat32'] {
  return async (name, into) => {
    const entry = tensors.get(name);
    if (!entry) throw new FormatError('TENSOR_MISSING', `the file has no tensor ${quoted(name)}`);
    const type = typeOf(entry.dtype);
    const { blockElements, blockBytes, decode } = type;
    if (!decode) {
      throw new FormatError(
        'TENSOR_NOT_FLOAT',
        `tensor ${quoted(name)} holds ${entry.dtype}, not floating-point numbers`,
      );
    }
    const elements = (entry.length / blockBytes) * blockElements;
    const values = into ?? new Float32Array(elements);
    if (values.length !== elements) {
      throw new RangeError(`tensor ${quoted(name)} has ${elements} elements, the array to fill has ${values.length}`);
    }
    const step = Math.floor(chunkBytes / blockBytes) * blockBytes;
    // Float32 is read to where it belongs, unless the source has it in memory; everything else through one small buffer.
    const room = type === float32 ? bytesOf(values) : new Uint8Array(Math.min(step, entry.length));
    for (let done = 0; done < entry.length; done += step) {
      const length = Math.min(step, entry.length - done);
      const start = type === float32 ? done : 0;
      const bytes = await readExactly(source, entry.offset + done, length, room.subarray(start, start + length));
      const first = (done / blockBytes) * blockElements;
      if (bytes.buffer !== values.buffer)
        decode(bytes, values.subarray(first, first + (length / blockBytes) * blockElements));
    }
    return values;
  };
}
