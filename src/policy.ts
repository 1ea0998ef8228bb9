// What samples: requests for completions, and the interface of a policy that answers them.

export interface SamplingOptions {
  /** Maximum number of tokens in a completion. */
  readonly maxTokens: number;
  /** Divides the logits; 0 is greedy. @default 1 */
  readonly temperature?: number;
  /** Keep the k most likely tokens; 0 keeps all. @default 0 */
  readonly topK?: number;
  /** Nucleus sampling: keep the most likely tokens up to this total probability. @default 1 */
  readonly topP?: number;
  /** Drop tokens whose probability is below this fraction of the largest. @default 0 */
  readonly minP?: number;
  /** Tokens that end a completion, of which they are part. */
  readonly stopIds: ReadonlySet<number>;
  /** Called after each token; says whether the completion ends with it. See `stopAtText`. @default never */
  readonly stopWhen?: (ids: readonly number[]) => boolean;
  /** Ends all completions early, with finish reason `cancelled`. */
  readonly signal?: AbortSignal;
}

export interface SampleRequest {
  /** The prompt; it is read only once for requests with equal prompts. */
  readonly promptIds: readonly number[];
  /** The name of the completion's random stream, so that the result does not depend on what else is in the batch. */
  readonly seed: number;
  /** A limit for this completion, if shorter. @default the options' maxTokens */
  readonly maxTokens?: number;
  /** Whether this completion ends after these ids, in addition to the options' `stopWhen`. @default never */
  readonly stopWhen?: (ids: readonly number[]) => boolean;
  /** Whether the dialogue's next prompt may begin with this prompt and its completion, so that the cache is worth keeping. @default false */
  readonly goesOn?: boolean;
  /** How many of the likeliest tokens to tell at each place of the completion. @default 0 */
  readonly topLogprobs?: number;
  /** Told each token, before `stopWhen` is asked about it; where a policy samples elsewhere, all of them when it is done. @default not told */
  readonly onToken?: (token: SampledToken) => void;
}

/** One place of a completion: see there. */
export interface SampledToken {
  readonly id: number;
  readonly plainLogprob: number;
  readonly topLogprobs?: readonly TokenLogprob[];
}

export interface TokenLogprob {
  readonly id: number;
  readonly logprob: number;
}

export interface Completion {
  readonly ids: readonly number[];
  /**
   * Log-probability of each id after temperature, but before top-k, top-p and min-p: what a trainer's log-probabilities, which know no filters,
   * can be compared with. 0 if the choice was greedy.
   */
  readonly logprobs: readonly number[];
  /** Log-probability of each id under the model itself, with temperature 1. */
  readonly plainLogprobs: readonly number[];
  /** Where they were asked for: by place the likeliest tokens under the model itself, likeliest first. vLLM does not tell them. */
  readonly topLogprobs?: readonly (readonly TokenLogprob[])[];
  readonly finishReason: 'stop' | 'length' | 'cancelled';
}

/** What a model says of a text that it is given. */
export interface TextLogprobs {
  /** Log-probability of each id but the first, given all before it, under the model itself. */
  readonly logprobs: readonly number[];
  /** Where they were asked for: in place of each of these ids the likeliest tokens, likeliest first. */
  readonly topLogprobs?: readonly (readonly TokenLogprob[])[];
}

export interface TextLogprobsOptions {
  /** How many of the likeliest tokens to tell at each place. @default 0 */
  readonly topLogprobs?: number;
  /** Where it is aborted, its reason is thrown. */
  readonly signal?: AbortSignal;
}

/** A sequence of requests to a policy: yields one, is given its completion, may yield the next, and returns what came of it. */
export type Dialogue<T> = AsyncGenerator<SampleRequest, T, Completion>;

export interface Policy {
  /** The maximum length of a prompt with its completion, in tokens. */
  readonly contextLength: number;
  /** Returns completions in the order of the requests. */
  sample(requests: readonly SampleRequest[], options: SamplingOptions): Promise<Completion[]>;
  /**
   * Holds dialogues until they end; `onEnd` is called with the outcome of each. A dialogue gets its completion as soon as that has ended, while
   * others are still sampled. When its next request is awaited depends only on what was sampled. @default see `converse`
   */
  converse?<T>(
    dialogues: readonly Dialogue<T>[],
    options: ConverseOptions<T>,
    onEnd: (result: T, index: number) => void,
  ): Promise<void>;
  /** Reads texts of one token or more, in order, with the weights that it samples with. @default it cannot */
  textLogprobs?(texts: readonly (readonly number[])[], options?: TextLogprobsOptions): Promise<TextLogprobs[]>;
}

export interface ConverseOptions<T> extends SamplingOptions {
  /** Asked before each run for dialogues that have come meanwhile, which are held together with the others; their indices follow. @default none */
  readonly arrivals?: () => readonly Dialogue<T>[];
}

/** Ends completions at any of the given texts, even if they begin or end inside a token. */
export function stopAtText(
  texts: readonly string[],
  decode: (ids: readonly number[]) => string,
): (ids: readonly number[]) => boolean {
  // A text of n bytes is within the last n tokens, since each token holds at least one byte of it.
  const reach = Math.max(0, ...texts.map((text) => new TextEncoder().encode(text).length));
  return (ids) => {
    const tail = decode(ids.slice(-reach));
    return texts.some((text) => tail.includes(text));
  };
}
