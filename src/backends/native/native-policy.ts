// Sampling with the engine's weights as they are: completions alone, and dialogues that read nothing twice.
import { begin, type Dialogue } from '../../dialogue.ts';
import type { Completion, Policy, SampleRequest, SamplingOptions } from '../../generation.ts';
import type { ModelConfig } from '../../models/layers.ts';
import { DecodingSession, type DecodingSessionOptions } from './decoding-session.ts';
import { RowBatch } from './row-batch.ts';
import { SampledRow } from './sampled-row.ts';

/** Runs that a dialogue may take for its next request. It is asked for then, never sooner, so that no clock has a say in what is sampled together. */
const RUNS_AWAY = 8;

export interface NativePolicyOptions extends DecodingSessionOptions {
  /** The most memory, in bytes, that keys and values of one call may take. */
  readonly cacheBudget: number;
}

/** What a dialogue is told; nothing when it begins. */
type Turn = Pick<SampledRow, 'dialogue'> & Partial<Pick<SampledRow, 'completion'>>;

/** A dialogue that has its completion, and when its answer is due, in runs. */
interface Away<T> {
  readonly dialogue: number;
  readonly due: number;
  readonly answer: Promise<IteratorResult<SampleRequest, T>>;
}

export class NativePolicy implements Policy {
  readonly contextLength: number;
  readonly #config: ModelConfig;
  readonly #cacheBudget: number;
  readonly #session: DecodingSession;

  constructor(options: NativePolicyOptions) {
    this.contextLength = options.positions;
    this.#config = options.architecture.config;
    this.#cacheBudget = options.cacheBudget;
    this.#session = new DecodingSession(options);
  }

  async sample(requests: readonly SampleRequest[], options: SamplingOptions): Promise<Completion[]> {
    const completions: Completion[] = [];
    await this.converse(requests.map(single), options, (completion, index) => {
      completions[index] = completion;
    });
    return completions;
  }

  /** Keys and values live as long as the call: nothing outlives an update of the weights. */
  async converse<T>(
    dialogues: readonly Dialogue<T>[],
    options: SamplingOptions,
    onEnd: (result: T, index: number) => void,
  ): Promise<void> {
    const batchOptions = { session: this.#session, config: this.#config, cacheBudget: this.#cacheBudget };
    using batch = new RowBatch({ ...batchOptions, sampling: options });
    const away: Away<T>[] = [];
    const speak = async (turns: readonly Turn[], due: number) => {
      const answers = await begin(turns, ({ dialogue, completion }) => {
        const speaker = dialogues[dialogue]!;
        return completion ? speaker.next(completion) : speaker.next();
      });
      // A failure is heard of when the answer is due.
      for (const answer of answers) answer.catch(() => {});
      away.push(...turns.map(({ dialogue }, i) => ({ dialogue, due, answer: answers[i]! })));
    };
    let runs = 0;
    await speak(
      dialogues.map((_, dialogue) => ({ dialogue })),
      runs,
    );
    while (away.length > 0 || !batch.isEmpty) {
      if (batch.isEmpty) runs = Math.max(runs, away[0]!.due);
      while (away.length > 0 && away[0]!.due <= runs) {
        const { dialogue, answer } = away.shift()!;
        const { done, value } = await answer;
        if (!done) batch.add(new SampledRow(dialogue, value, options, this.contextLength));
        else {
          onEnd(value, dialogue);
          batch.forget(dialogue);
        }
      }
      const ended = options.signal?.aborted ? batch.cancel() : await batch.advance();
      runs++;
      await speak(ended, runs + RUNS_AWAY);
    }
  }

  dispose(): void {
    this.#session[Symbol.dispose]();
  }
}

/** A dialogue of one request. */
async function* single(request: SampleRequest): Dialogue<Completion> {
  return yield request;
}
