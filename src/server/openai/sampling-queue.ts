// Samples for several clients with one policy: one batch at a time, of all requests that wait and want to be sampled alike.
import type { Completion, Policy, SampleRequest, SamplingOptions } from '../../policy.ts';

/** How completions are sampled; requests that agree in all of this share a batch. */
export type SharedOptions = Pick<SamplingOptions, 'temperature' | 'topP' | 'topK' | 'minP'>;

export interface QueuedRequest {
  readonly requests: readonly SampleRequest[];
  readonly options: SharedOptions;
  /** The client has gone. */
  readonly signal: AbortSignal;
}

interface Waiting extends QueuedRequest {
  readonly answer: PromiseWithResolvers<Completion[]>;
}

export interface SamplingQueueOptions {
  readonly policy: Policy;
  readonly stopIds: ReadonlySet<number>;
  /** The most completions in a batch; a single request may ask for more. @default 32 */
  readonly largestBatch?: number;
}

export class SamplingQueue {
  readonly #options: Required<SamplingQueueOptions>;
  readonly #waiting: Waiting[] = [];
  #sampling: Promise<void> | undefined;

  constructor(options: SamplingQueueOptions) {
    this.#options = { largestBatch: 32, ...options };
  }

  /** Completions in the order of the requests. Throws what the policy throws; where the client has gone, what has been sampled until then. */
  sample(request: QueuedRequest): Promise<Completion[]> {
    const answer = Promise.withResolvers<Completion[]>();
    this.#waiting.push({ ...request, answer });
    this.#sampling ??= this.#run().finally(() => {
      this.#sampling = undefined;
    });
    return answer.promise;
  }

  /** Returns when nothing is sampled any more. */
  async idle(): Promise<void> {
    await this.#sampling;
  }

  async #run(): Promise<void> {
    // Requests that arrive together are answered together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch();
      try {
        const completions = await this.#sampleBatch(batch);
        for (const { requests, answer } of batch) answer.resolve(completions.splice(0, requests.length));
      } catch (error) {
        for (const { answer } of batch) answer.reject(error);
      }
    }
  }

  #nextBatch(): Waiting[] {
    const first = this.#waiting.shift()!;
    const batch = [first];
    const alike = JSON.stringify(first.options);
    let size = first.requests.length;
    for (const other of [...this.#waiting]) {
      if (JSON.stringify(other.options) !== alike) continue;
      if (size + other.requests.length > this.#options.largestBatch) continue;
      this.#waiting.splice(this.#waiting.indexOf(other), 1);
      batch.push(other);
      size += other.requests.length;
    }
    return batch;
  }

  #sampleBatch(batch: readonly Waiting[]): Promise<Completion[]> {
    const { policy, stopIds } = this.#options;
    return policy.sample(
      batch.flatMap(({ requests }) => requests),
      { ...batch[0]!.options, stopIds, maxTokens: policy.contextLength, signal: allGone(batch) },
    );
  }
}

/** Aborted once none of the clients waits any more. */
function allGone(batch: readonly Waiting[]): AbortSignal {
  const gone = new AbortController();
  const look = () => {
    if (batch.every(({ signal }) => signal.aborted)) gone.abort();
  };
  for (const { signal } of batch) signal.addEventListener('abort', look, { once: true });
  look();
  return gone.signal;
}
