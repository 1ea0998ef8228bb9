// The native engine's policy: samples single completions and whole dialogues with the current weights. No token is read twice.
import { startAll } from '../../dialogue.ts';
import type { ModelConfig } from '../../models/model-config.ts';
import type {
  Completion,
  ConverseOptions,
  Dialogue,
  Policy,
  SampleRequest,
  SamplingOptions,
  TextLogprobs,
  TextLogprobsOptions,
} from '../../policy.ts';
import { RowBatch } from './row-batch.ts';
import { type SampledModel, SampledRow } from './sampled-row.ts';
import { SamplingSession, type SamplingSessionOptions } from './sampling-session.ts';
import { textLogprobs } from './text-logprobs.ts';

/**
 * The number of runs after which the next request of a dialogue is awaited. It is never taken earlier, so that the composition of batches
 * depends on the number of runs and not on the speed of tools.
 */
const RUNS_TO_ANSWER = 8;

export interface NativePolicyOptions extends SamplingSessionOptions, Pick<SampledModel, 'updated'> {
  /** The most bytes that keys and values of one call may take. */
  readonly cacheBudget: number;
}

/** A completion for a dialogue; without one, the dialogue begins. */
type Turn = Pick<SampledRow, 'dialogue'> & Partial<Pick<SampledRow, 'completion'>>;

/** The next request of a dialogue that has received a completion. */
interface PendingAnswer<T> {
  readonly dialogue: number;
  /** The number of runs after which the answer is awaited. */
  readonly due: number;
  readonly answer: Promise<IteratorResult<SampleRequest, T>>;
}

export class NativePolicy implements Policy {
  readonly contextLength: number;
  readonly #config: ModelConfig;
  readonly #model: SampledModel;
  readonly #cacheBudget: number;
  readonly #session: SamplingSession;

  constructor(options: NativePolicyOptions) {
    this.contextLength = options.positions;
    this.#config = options.architecture.config;
    const { contextLength } = this;
    const { vocabularySize } = this.#config;
    this.#model = { contextLength, vocabularySize, updated: options.updated };
    this.#cacheBudget = options.cacheBudget;
    this.#session = new SamplingSession(options);
  }

  async sample(requests: readonly SampleRequest[], options: SamplingOptions): Promise<Completion[]> {
    const completions: Completion[] = [];
    await this.converse(requests.map(single), options, (completion, index) => {
      completions[index] = completion;
    });
    return completions;
  }

  /** Keys and values live as long as the call, so that none are used after an update of the weights. */
  async converse<T>(
    dialogues: readonly Dialogue<T>[],
    options: ConverseOptions<T>,
    onEnd: (result: T, index: number) => void,
  ): Promise<void> {
    const all: Dialogue<T>[] = [];
    using lease = this.#session.lease();
    const batchOptions = { session: lease.session, config: this.#config, cacheBudget: this.#cacheBudget };
    using batch = new RowBatch({ ...batchOptions, sampling: options });
    const pending: PendingAnswer<T>[] = [];
    const deliver = async (turns: readonly Turn[], due: number) => {
      const answers = await startAll(turns, ({ dialogue, completion }) => {
        const generator = all[dialogue]!;
        return completion ? generator.next(completion) : generator.next();
      });
      // A failure is thrown when the answer is awaited; until then it must not count as unhandled.
      for (const answer of answers) answer.catch(() => {});
      pending.push(...turns.map(({ dialogue }, i) => ({ dialogue, due, answer: answers[i]! })));
    };
    let runs = 0;
    const enter = async (arrived: readonly Dialogue<T>[]) => {
      const first = all.push(...arrived) - arrived.length;
      await deliver(
        arrived.map((_, i) => ({ dialogue: first + i })),
        runs,
      );
      // New dialogues are due before those that received completions in the last runs.
      pending.sort((a, b) => a.due - b.due);
    };
    await enter(dialogues);
    while (pending.length > 0 || !batch.isEmpty) {
      if (options.arrivals) await enter(options.arrivals());
      if (batch.isEmpty) runs = Math.max(runs, pending[0]!.due);
      while (pending.length > 0 && pending[0]!.due <= runs) {
        const { dialogue, answer } = pending.shift()!;
        const { done, value } = await answer;
        if (!done) batch.add(new SampledRow(dialogue, value, options, this.#model));
        else {
          onEnd(value, dialogue);
          batch.forget(dialogue);
        }
      }
      const ended = options.signal?.aborted ? batch.cancel() : await batch.advance();
      runs++;
      await deliver(ended, runs + RUNS_TO_ANSWER);
    }
  }

  async textLogprobs(texts: readonly (readonly number[])[], options?: TextLogprobsOptions): Promise<TextLogprobs[]> {
    using lease = this.#session.lease();
    const reader = { session: lease.session, config: this.#config, model: this.#model };
    return await textLogprobs(texts, reader, options);
  }

  dispose(): void {
    this.#session.dispose();
  }
}

/** A dialogue with a single request. */
async function* single(request: SampleRequest): Dialogue<Completion> {
  return yield request;
}
