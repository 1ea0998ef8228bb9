// Bindings: the tensors that one run of a session reads and writes, in place.
import { GradusError } from '../errors.ts';
import { allocate } from './buffers.ts';
import type { Device } from './device.ts';
import { loadOnnxRuntime, type Pointer } from './onnxruntime.ts';
import { recordRun } from './recording.ts';
import { type AnyTensor, Tensor } from './tensor.ts';

/** The sizes that an input holds, from the shapes of others. */
export type SizesOf = (shapeOf: (input: string) => readonly number[]) => readonly number[];

/** What a binding needs to know of its session. */
interface BoundSession {
  name: string;
  inputs: ReadonlySet<string>;
  outputs: ReadonlySet<string>;
  session: Pointer;
  runOptions: Pointer;
  /** The same once more, for a run that is to be recorded. */
  createRunOptions: () => Pointer;
  device: Device;
  sizes: ReadonlyMap<string, SizesOf>;
}

interface BoundTensor {
  tensor: AnyTensor;
  letGo: () => void;
}

/**
 * Inputs and outputs of a session, made by `Session.bind`. Bound memory is read and written where it is, every run anew;
 * one tensor bound as an input and as an output is updated in place. All outputs are bound by the caller.
 */
export class Binding implements Disposable {
  readonly #session: BoundSession;
  readonly #onDispose: () => void;
  readonly #binding: Pointer;
  readonly #inputs = new Map<string, BoundTensor>();
  readonly #outputs = new Map<string, BoundTensor>();
  /** Lets go of the vectors of sizes. */
  readonly #sizes = new Map<string, () => void>();
  /** What has to be bound anew before the next run. */
  readonly #missing = new Set<string>();
  #running = false;
  #disposed = false;

  /** Use `Session.bind`. */
  constructor(session: BoundSession, onDispose: () => void) {
    this.#session = session;
    this.#onDispose = onDispose;
    this.#binding = loadOnnxRuntime().create('CreateIoBinding', session.session);
  }

  /** Binds an input, in place of what was bound to that name before. */
  input(name: string, tensor: AnyTensor): this {
    this.#bind('input', name, tensor);
    return this;
  }

  /** Binds an output, in place of what was bound to that name before. The tensor must have the shape that the run gives. */
  output(name: string, tensor: AnyTensor): this {
    this.#bind('output', name, tensor);
    return this;
  }

  /** Lets go of what is bound to an input or output, which must be bound anew before the next run. Throws `SESSION_BUSY` during one. */
  unbind(name: string): void {
    this.#assertUsable();
    for (const bound of [this.#inputs, this.#outputs]) {
      bound.get(name)?.letGo();
      if (bound.delete(name)) this.#missing.add(name);
    }
  }

  /**
   * Runs the session on a worker thread. Bound memory belongs to the run until the promise settles.
   * Rejects with `ONNXRUNTIME_FAILED` and ONNX Runtime's own message, or `SESSION_BUSY` when this binding already runs.
   */
  async run(): Promise<void> {
    this.#prepare();
    const { name, session, runOptions, createRunOptions } = this.#session;
    using recorded = recordRun(name, createRunOptions);
    this.#running = true;
    try {
      await loadOnnxRuntime().callAsync('RunWithBinding', session, recorded?.runOptions ?? runOptions, this.#binding);
      recorded?.ended();
    } finally {
      this.#running = false;
    }
  }

  /** The same on this thread, for runs shorter than the way to another. */
  runSync(): void {
    this.#prepare();
    const { name, session, runOptions, createRunOptions } = this.#session;
    using recorded = recordRun(name, createRunOptions);
    loadOnnxRuntime().call('RunWithBinding', session, recorded?.runOptions ?? runOptions, this.#binding);
    recorded?.ended();
  }

  /** Lets go of everything bound. Throws `SESSION_BUSY` during a run. */
  dispose(): void {
    if (this.#disposed) return;
    this.assertIdle();
    this.#disposed = true;
    loadOnnxRuntime().release('ReleaseIoBinding', this.#binding);
    for (const { letGo } of [...this.#inputs.values(), ...this.#outputs.values()]) letGo();
    for (const letGo of this.#sizes.values()) letGo();
    this.#onDispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Throws `SESSION_BUSY` during a run. */
  assertIdle(): void {
    if (this.#running) {
      throw new GradusError('SESSION_BUSY', `${this.#session.name} is still running with this binding`, {
        hint: 'await run() first, or bind the session once more',
        kind: 'failed',
      });
    }
  }

  #bind(direction: 'input' | 'output', name: string, tensor: AnyTensor): void {
    this.#assertUsable();
    const names = direction === 'input' ? this.#session.inputs : this.#session.outputs;
    if (!names.has(name)) {
      const message = `${this.#session.name} has no ${direction} ${JSON.stringify(name)}`;
      throw new GradusError('TENSOR_NAME', message, { hint: `its ${direction}s: ${[...names].join(', ')}` });
    }
    loadOnnxRuntime().call(direction === 'input' ? 'BindInput' : 'BindOutput', this.#binding, name, tensor.value);
    const bound = direction === 'input' ? this.#inputs : this.#outputs;
    const letGo = tensor.hold();
    bound.get(name)?.letGo();
    bound.set(name, { tensor, letGo });
    this.#missing.delete(name);
  }

  #prepare(): void {
    this.#assertUsable();
    const [missing] = this.#missing;
    if (missing !== undefined) throw this.#unbound(missing);
    for (const [name, sizesOf] of this.#session.sizes) this.#bindSizes(name, sizesOf);
    if (this.#session.device === 'cpu') return;
    // Other devices copy this process's memory when it is bound, so what was written to it since would not be seen.
    for (const [name, { tensor }] of this.#inputs) {
      if (tensor instanceof Tensor) loadOnnxRuntime().call('BindInput', this.#binding, name, tensor.value);
    }
  }

  #bindSizes(name: string, sizesOf: SizesOf): void {
    const sizes = sizesOf((input) => this.#shapeOf(input));
    using buffer = allocate('int64', sizes.length);
    buffer.data.set(sizes.map(BigInt));
    using vector = new Tensor(buffer, [sizes.length]);
    loadOnnxRuntime().call('BindInput', this.#binding, name, vector.value);
    this.#sizes.get(name)?.();
    this.#sizes.set(name, buffer.hold());
  }

  #shapeOf(input: string): readonly number[] {
    const bound = this.#inputs.get(input);
    if (bound) return bound.tensor.shape;
    throw this.#unbound(input);
  }

  #unbound(name: string): GradusError {
    return new GradusError('TENSOR_NAME', `${this.#session.name} runs without its input ${JSON.stringify(name)}`, {
      hint: 'bind every input before the run',
    });
  }

  #assertUsable(): void {
    if (this.#disposed) {
      throw new GradusError('SESSION_DISPOSED', `a binding of ${this.#session.name} is used after its disposal`, {
        kind: 'failed',
      });
    }
    this.assertIdle();
  }
}
