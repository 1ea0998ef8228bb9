// Tensors as ONNX Runtime sees them: a shape over native memory. Nothing is copied.
import { GradusError } from '../errors.ts';
import type { ElementType, NativeBuffer } from './buffers.ts';
import { ONNX_TYPE } from './c-api.ts';
import { loadOnnxRuntime, type Pointer } from './onnxruntime.ts';

/** What sessions read and write: in this process's memory, or on a device. */
export interface AnyTensor<E extends ElementType = ElementType> extends Disposable {
  readonly type: E;
  readonly shape: readonly number[];
  /** ONNX Runtime's handle. Throws `TENSOR_DISPOSED` after disposal. */
  readonly value: Pointer;
  /** Keeps the memory from being freed until the returned function is called. */
  hold(): () => void;
  dispose(): void;
}

/** A shape over a buffer, made by `tensor`. Writing to the buffer changes the tensor. */
export class Tensor<E extends ElementType = ElementType> implements AnyTensor<E> {
  readonly type: E;
  readonly shape: readonly number[];
  readonly buffer: NativeBuffer<E>;
  readonly #value: Pointer;
  readonly #letGo: () => void;
  #disposed = false;

  /** Use `tensor`. */
  constructor(buffer: NativeBuffer<E>, shape: readonly number[]) {
    const onnxRuntime = loadOnnxRuntime();
    this.type = buffer.type;
    this.shape = [...shape];
    this.buffer = buffer;
    this.#letGo = buffer.hold();
    this.#value = onnxRuntime.create(
      'CreateTensorWithDataAsOrtValue',
      onnxRuntime.cpuMemory,
      buffer.address,
      buffer.byteLength,
      BigInt64Array.from(shape, BigInt),
      shape.length,
      ONNX_TYPE[buffer.type],
    );
  }

  get value(): Pointer {
    if (this.#disposed) {
      throw new GradusError('TENSOR_DISPOSED', `a tensor of shape [${this.shape}] is used after its disposal`, {
        kind: 'failed',
      });
    }
    return this.#value;
  }

  hold(): () => void {
    return this.buffer.hold();
  }

  /** Releases the handle, not the buffer. Bindings and sessions that were given the tensor are not affected. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    loadOnnxRuntime().release('ReleaseValue', this.#value);
    this.#letGo();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** `buffer` seen in `shape`, whose product must be the buffer's length; `[]` is a scalar. Throws `TENSOR_SHAPE`. */
export function tensor<E extends ElementType>(buffer: NativeBuffer<E>, shape: readonly number[]): Tensor<E> {
  const valid = shape.every((size) => Number.isSafeInteger(size) && size >= 0);
  const length = shape.reduce((product, size) => product * size, 1);
  if (!valid || length !== buffer.length) {
    throw new GradusError('TENSOR_SHAPE', `shape [${shape}] does not fit a buffer of ${buffer.length} elements`);
  }
  return new Tensor(buffer, shape);
}
