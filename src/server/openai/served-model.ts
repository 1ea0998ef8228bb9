// A model that answers requests: its name, its renderer and tokenizer, and the queue that samples from it.
import { randomInt } from 'node:crypto';
import type { Completion, Policy } from '../../policy.ts';
import { stopAtText } from '../../policy.ts';
import { streamSeed } from '../../random.ts';
import type { Renderer } from '../../rendering.ts';
import { createTextStream } from '../../tokenizers/text-stream.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';
import { ApiError } from './api-error.ts';
import type { SamplingRequest } from './requests.ts';
import { SamplingQueue } from './sampling-queue.ts';
import { stopTexts } from './stop-texts.ts';

export interface ServedModelOptions {
  readonly id: string;
  readonly policy: Policy;
  readonly renderer: Renderer;
  readonly tokenizer: Tokenizer;
}

/** A completion as clients want it. */
export interface ServedCompletion extends Completion {
  /** Without special tokens, and up to the first stop text. */
  readonly text: string;
  /** The end of the text, what `onText` has not been told. */
  readonly untold: string;
}

export interface Asked {
  readonly prompts: readonly (readonly number[])[];
  readonly request: SamplingRequest;
  /** @default what the context has room for */
  readonly maxTokens: number | undefined;
  /** How many of the likeliest tokens are told at each place of a completion. @default 0 */
  readonly topLogprobs?: number;
  readonly signal: AbortSignal;
  /** Called with what is added to the text of a completion, as it grows. */
  readonly onText?: (index: number, text: string) => void;
}

export class ServedModel {
  readonly id: string;
  /** When it began to be served, in seconds since 1970. */
  readonly created = Math.floor(Date.now() / 1000);
  readonly renderer: Renderer;
  readonly tokenizer: Tokenizer;
  readonly #contextLength: number;
  readonly #queue: SamplingQueue;

  constructor({ id, policy, renderer, tokenizer }: ServedModelOptions) {
    this.id = id;
    this.renderer = renderer;
    this.tokenizer = tokenizer;
    this.#contextLength = policy.contextLength;
    const { stopIds } = renderer;
    this.#queue = new SamplingQueue({ policy, stopIds });
  }

  /** `n` completions of each prompt, in order. Throws an `ApiError` for prompts that are too long, or too many. */
  async complete({ prompts, request, maxTokens, topLogprobs = 0, signal, onText }: Asked): Promise<ServedCompletion[]> {
    const { n, seed, temperature, top_p, top_k, min_p } = request;
    assertFew(prompts.length * (n ?? 1));
    for (const prompt of prompts) this.#assertRoom(prompt.length);
    const first = seed ?? randomInt(2 ** 31);
    const stop = stopsOf(request);
    const told: number[] = [];
    const tell = (index: number) => (text: string) => {
      told[index] = (told[index] ?? 0) + text.length;
      onText!(index, text);
    };
    const requests = prompts.flatMap((promptIds, p) =>
      Array.from({ length: n ?? 1 }, (_, i) => ({
        promptIds,
        seed: streamSeed(first, `${p} ${i}`),
        topLogprobs,
        maxTokens: Math.min(maxTokens ?? this.#contextLength, this.#contextLength - promptIds.length),
        stopWhen: this.#end(stop, { signal }, onText && tell(p * (n ?? 1) + i)),
      })),
    );
    const options = { temperature: temperature ?? 1, topP: top_p ?? 1, topK: top_k ?? 0, minP: min_p ?? 0 };
    const completions = await this.#queue.sample({ requests, options, signal });
    return completions.map((completion, i) => {
      const { text, ...served } = this.#served(completion, stop);
      return { ...served, text, untold: text.slice(told[i] ?? 0) };
    });
  }

  /** Returns when nothing is sampled any more. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  /** Throws unless this is the model that a request names. */
  assertIs(name: string): void {
    if (name === this.id) return;
    throw new ApiError(404, 'model_not_found', `The model \`${name}\` is not served here; \`${this.id}\` is`, 'model');
  }

  #assertRoom(length: number): void {
    if (length === 0) throw new ApiError(400, 'prompt_empty', 'A prompt needs at least one token');
    if (length < this.#contextLength) return;
    const said = `The prompt has ${length} tokens, which leaves no room in a context of ${this.#contextLength}`;
    throw new ApiError(400, 'context_length_exceeded', said);
  }

  #served(completion: Completion, stop: readonly string[]): Omit<ServedCompletion, 'untold'> {
    const { stopIds } = this.renderer;
    const ends = stopIds.has(completion.ids.at(-1)!);
    const text = this.tokenizer.decode(ends ? completion.ids.slice(0, -1) : completion.ids, {
      skipSpecialTokens: true,
    });
    const at = Math.min(...stop.map((end) => text.indexOf(end)).filter((index) => index >= 0));
    // A policy that cannot look for texts while it samples may have gone on behind one.
    return Number.isFinite(at)
      ? { ...completion, text: text.slice(0, at), finishReason: 'stop' }
      : { ...completion, text };
  }

  /** Whether a completion ends with its last token: at a stop text, or because its client has gone. Tells its text as it grows. */
  #end(stop: readonly string[], { signal }: Pick<Asked, 'signal'>, onText?: (text: string) => void) {
    if (!onText) {
      const atStop = stopAtText(stop, (ids) => this.tokenizer.decode(ids));
      return (ids: readonly number[]) => signal.aborted || (stop.length > 0 && atStop(ids));
    }
    const decoded = createTextStream(this.tokenizer, { skipSpecialTokens: true });
    const shown = stopTexts(stop);
    let seen = 0;
    return (ids: readonly number[]) => {
      for (; seen < ids.length; seen++) {
        if (this.renderer.stopIds.has(ids[seen]!)) continue;
        const text = shown.push(decoded.push(ids[seen]!));
        if (text !== '') onText(text);
      }
      return signal.aborted || shown.found;
    };
  }
}

/** They are held at once. */
const mostCompletions = 1024;

function assertFew(completions: number): void {
  if (completions <= mostCompletions) return;
  const said = `A request may ask for ${mostCompletions} completions, of all its prompts together, not for ${completions}`;
  throw new ApiError(400, 'too_many_completions', said, 'n');
}

function stopsOf({ stop }: SamplingRequest): readonly string[] {
  return typeof stop === 'string' ? [stop] : (stop ?? []);
}
