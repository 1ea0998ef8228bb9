// One completion while it is sampled: the tokens up to now, and whether they have ended.
import { GradusError } from '../../errors.ts';
import type { Completion, SampleRequest, SamplingOptions } from '../../generation.ts';
import { likeliestToken, sampleToken } from '../../models/sampler.ts';
import { type RandomStream, randomStream } from '../../random.ts';

/** What a run tells of one row's next token. */
export interface Scores {
  readonly logits: Float32Array;
  readonly probabilities: Float32Array;
  /** log Σ exp of the logits. */
  readonly logTotal: number;
}

export class SampledRow {
  /** Whose request it is. */
  readonly dialogue: number;
  readonly request: SampleRequest;
  /** Equal for equal prompts. */
  readonly prompt: string;
  readonly #options: SamplingOptions;
  readonly #random: RandomStream;
  readonly #limit: number;
  readonly #ids: number[] = [];
  readonly #logprobs: number[] = [];
  readonly #plainLogprobs: number[] = [];
  #finishReason: Completion['finishReason'] | undefined;
  /** Tokens whose keys and values are in its slot. */
  cached = 0;

  /** Throws `PROMPT_EMPTY`, `PROMPT_TOO_LONG`. */
  constructor(dialogue: number, request: SampleRequest, options: SamplingOptions, contextLength: number) {
    const { length } = request.promptIds;
    if (length === 0)
      throw new GradusError('PROMPT_EMPTY', 'a prompt needs at least one token', {
        hint: 'begin it with the beginning-of-text token',
      });
    if (length >= contextLength) {
      throw new GradusError(
        'PROMPT_TOO_LONG',
        `a prompt of ${length} tokens leaves no room in a context of ${contextLength}`,
        {
          hint: 'shorten the prompt, or set overlong_prompts',
        },
      );
    }
    this.dialogue = dialogue;
    this.request = request;
    this.prompt = request.promptIds.join(' ');
    this.#options = options;
    this.#random = randomStream(request.seed);
    this.#limit = Math.min(request.maxTokens ?? options.maxTokens, contextLength - length);
  }

  /** The prompt and what was sampled. */
  get tokens(): number[] {
    return [...this.request.promptIds, ...this.#ids];
  }

  get length(): number {
    return this.request.promptIds.length + this.#ids.length;
  }

  /** The longest that it can become. */
  get longest(): number {
    return this.request.promptIds.length + this.#limit;
  }

  /** The tokens that are not in its slot yet. */
  get unread(): readonly number[] {
    const { length } = this.request.promptIds;
    return this.cached >= length ? this.#ids.slice(this.cached - length) : this.tokens.slice(this.cached);
  }

  get hasEnded(): boolean {
    return this.#finishReason !== undefined;
  }

  /** The completion as far as it goes: only cancelling leaves a row without an end of its own. */
  get completion(): Completion {
    return {
      ids: this.#ids,
      logprobs: this.#logprobs,
      plainLogprobs: this.#plainLogprobs,
      finishReason: this.#finishReason ?? 'cancelled',
    };
  }

  /** Takes the next token from its scores, for which all before it were read, and notices whether that was the last. */
  take({ logits, probabilities, logTotal }: Scores): void {
    const { temperature = 1, stopIds, stopWhen } = this.#options;
    this.cached = this.length;
    const greedy = temperature === 0;
    // Greedy choice is certain: its probability is 1.
    const { id, logprob } = greedy
      ? { id: likeliestToken(logits), logprob: 0 }
      : sampleToken(probabilities, this.#random, this.#options);
    this.#ids.push(id);
    this.#logprobs.push(logprob);
    this.#plainLogprobs.push(logits[id]! - logTotal);
    const stopped = stopIds.has(id) || stopWhen?.(this.#ids);
    if (stopped) this.#finishReason = 'stop';
    else if (this.#ids.length >= this.#limit) this.#finishReason = 'length';
  }
}
