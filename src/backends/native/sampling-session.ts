// The session that samples with the current weights. Where it has rounded copies of weights that are trained, it is made anew once they changed.
import type { AnyTensor } from '../../runtime/tensor.ts';
import { DecodingSession, type DecodingSessionOptions } from './decoding-session.ts';

export interface SamplingSessionOptions extends DecodingSessionOptions {
  /** The trained matrices to round, as the packing says. @default none: trained weights are read where they are */
  readonly rounded?: ReadonlyMap<string, AnyTensor>;
  /** Counts the changes of the trained weights. */
  readonly version: () => number;
}

/** A session in use, until it is disposed of. */
export interface SessionLease extends Disposable {
  readonly session: DecodingSession;
}

export class SamplingSession {
  readonly #options: SamplingSessionOptions;
  #session: DecodingSession;
  /** That of the weights which the session has rounded. */
  #version: number;
  #leases = 0;

  constructor(options: SamplingSessionOptions) {
    this.#options = options;
    this.#version = options.version();
    this.#session = this.#open();
  }

  /** A session that is in use stays, with the weights that it has rounded, until all who sample with it are done. */
  lease(): SessionLease {
    if (this.#leases === 0 && this.#isOutdated) {
      this.#session.dispose();
      this.#version = this.#options.version();
      this.#session = this.#open();
    }
    this.#leases++;
    const release = () => {
      this.#leases--;
    };
    return { session: this.#session, [Symbol.dispose]: release };
  }

  get #isOutdated(): boolean {
    return this.#options.rounded !== undefined && this.#version !== this.#options.version();
  }

  #open(): DecodingSession {
    const { rounded = [], ...options } = this.#options;
    return new DecodingSession({ ...options, frozen: new Map([...options.frozen, ...rounded]) });
  }

  dispose(): void {
    this.#session.dispose();
  }
}
