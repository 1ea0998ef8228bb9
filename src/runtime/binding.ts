// Bindings: the tensors that one run of a session reads and writes, in place.
import { GradusError } from '../errors.ts';
import type { Device } from './device.ts';
import { loadOnnxRuntime, type Pointer } from './onnxruntime.ts';
import { recordRun } from './recording.ts';
import type { Tensor } from './tensor.ts';

/** What a binding needs to know of its session. */
interface BoundSession {
  name: string;
  inputs: readonly string[];
  outputs: readonly string[];
  session: Pointer;
  runOptions: Pointer;
  /** The same once more, for a run that is to be recorded. */
  createRunOptions: () => Pointer;
  device: Device;
}

interface BoundTensor {
  tensor: Tensor;
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
  #running = false;
  #disposed = false;

  /** Use `Session.bind`. */
  constructor(session: BoundSession, onDispose: () => void) {
    this.#session = session;
    this.#onDispose = onDispose;
    this.#binding = loadOnnxRuntime().create('CreateIoBinding', session.session);
  }

  /** Binds an input, in place of what was bound to that name before. */
  input(name: string, tensor: Tensor): this {
    this.#bind('input', name, tensor);
    return this;
  }

  /** Binds an output, in place of what was bound to that name before. The tensor must have the shape that the run gives. */
  output(name: string, tensor: Tensor): this {
    this.#bind('output', name, tensor);
    return this;
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

  #bind(direction: 'input' | 'output', name: string, tensor: Tensor): void {
    this.#assertUsable();
    const names = direction === 'input' ? this.#session.inputs : this.#session.outputs;
    if (!names.includes(name)) {
      const message = `${this.#session.name} has no ${direction} ${JSON.stringify(name)}`;
      throw new GradusError('TENSOR_NAME', message, { hint: `its ${direction}s: ${names.join(', ')}` });
    }
    loadOnnxRuntime().call(direction === 'input' ? 'BindInput' : 'BindOutput', this.#binding, name, tensor.value);
    const bound = direction === 'input' ? this.#inputs : this.#outputs;
    const letGo = tensor.buffer.hold();
    bound.get(name)?.letGo();
    bound.set(name, { tensor, letGo });
  }

  #prepare(): void {
    this.#assertUsable();
    if (this.#session.device === 'cpu') return;
    // Other devices copy an input when it is bound, so what was written to it since would not be seen.
    for (const [name, { tensor }] of this.#inputs) {
      loadOnnxRuntime().call('BindInput', this.#binding, name, tensor.value);
    }
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
