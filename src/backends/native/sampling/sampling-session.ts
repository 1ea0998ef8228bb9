// The session that samples with the current weights. A session with rounded copies of trained weights is opened again after these have changed.
import type { DecodingSession } from './decoding-session.ts';

export interface SamplingSessionOptions {
  /** Compiles a session with the current weights. */
  readonly open: () => DecodingSession;
  /** Counts the changes of the trained weights. @default sessions round no trained weights, but read them where they are */
  readonly version?: () => number;
}

/** A session in use, until it is disposed of. */
export interface SessionLease extends Disposable {
  readonly session: DecodingSession;
}

export class SamplingSession {
  readonly #options: SamplingSessionOptions;
  #session: DecodingSession;
  /** The weights' version when the session was opened. */
  #version: number | undefined;
  #leases = 0;

  constructor(options: SamplingSessionOptions) {
    this.#options = options;
    this.#version = options.version?.();
    this.#session = options.open();
  }

  /** A session in use stays open, with its rounded weights, until every user of it is done. */
  lease(): SessionLease {
    const version = this.#options.version?.();
    if (this.#leases === 0 && this.#version !== version) {
      this.#session.dispose();
      this.#version = version;
      this.#session = this.#options.open();
    }
    this.#leases++;
    const release = () => {
      this.#leases--;
    };
    return { session: this.#session, [Symbol.dispose]: release };
  }

  dispose(): void {
    this.#session.dispose();
  }
}
