// The answers of OpenAI's interface, whole and in pieces.
import { randomUUID } from 'node:crypto';
import { argumentsJson } from '../../call-arguments.ts';
import type { ToolCall } from '../../message.ts';
import type { SampledToken, TokenLogprob } from '../../policy.ts';
import { textBehind } from '../../tokenizers/text-stream.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';
import type { ServedCompletion, ServedModel } from './served-model.ts';

export type FinishReason = 'stop' | 'length' | 'tool_calls';

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** @param prompts each counts once, however many completions it has */
export function usageOf(prompts: readonly (readonly number[])[], completions: readonly ServedCompletion[]): Usage {
  const prompt_tokens = prompts.reduce((sum, { length }) => sum + length, 0);
  const completion_tokens = completions.reduce((sum, { ids }) => sum + ids.length, 0);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** The fields with which all answers to one request begin. */
export function headOf({ id }: ServedModel, kind: 'chat.completion' | 'chat.completion.chunk' | 'text_completion') {
  const prefix = kind === 'text_completion' ? 'cmpl' : 'chatcmpl';
  return { id: `${prefix}-${randomUUID()}`, object: kind, created: Math.floor(Date.now() / 1000), model: id };
}

export function finishReason(
  { finishReason: reason }: ServedCompletion,
  calls: readonly ToolCall[] = [],
): FinishReason {
  if (calls.length > 0) return 'tool_calls';
  return reason === 'length' ? 'length' : 'stop';
}

export interface ToolCallAnswer {
  readonly id: string;
  readonly type: 'function';
  /** The arguments are the text of a JSON object. */
  readonly function: { readonly name: string; readonly arguments: string };
}

export function toolCallsOf(calls: readonly ToolCall[]): ToolCallAnswer[] {
  return calls.map((call) => ({
    id: `call_${randomUUID()}`,
    type: 'function',
    function: { name: call.name, arguments: argumentsJson(call) },
  }));
}

/** The first token of a prompt has no log-probability: nothing is before it. */
export interface ScoredToken extends Omit<SampledToken, 'plainLogprob'> {
  readonly plainLogprob: number | null;
}

/** A token's text, its bytes in UTF-8, and its log-probability in nats. */
export interface ChatToken {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}

/** A token of an answer, and the likeliest tokens in its place. */
export interface AnswerToken extends ChatToken {
  readonly top_logprobs: readonly ChatToken[];
}

export interface ChatLogprobs {
  readonly content: readonly AnswerToken[];
  readonly refusal: null;
}

/**
 * A function that writes the tokens of one answer for a chat completion. It is called with each part of the answer in turn. The log-probabilities are
 * those of the model itself, whatever the temperature.
 */
export function chatLogprobs(tokenizer: Tokenizer): (tokens: readonly SampledToken[]) => ChatLogprobs {
  let before: number | undefined;
  return (tokens) => {
    const content = tokens.map(({ id, plainLogprob, topLogprobs = [] }) => {
      const entry = (one: TokenLogprob): ChatToken => {
        const token = textBehind(before, [one.id], tokenizer);
        return { token, logprob: one.logprob, bytes: [...new TextEncoder().encode(token)] };
      };
      const place = { ...entry({ id, logprob: plainLogprob }), top_logprobs: topLogprobs.map(entry) };
      before = id;
      return place;
    });
    return { content, refusal: null };
  };
}

export interface TextPlace {
  /** The token before the first one that is written. */
  readonly before: number | undefined;
  /** Where the text of the first one begins; below 0 for tokens that the tokenizer puts before a text, which are not part of it. */
  readonly offset: number;
}

/** Writes the log-probabilities of a completion's tokens, beginning at a place of its text. */
export function completionLogprobs(tokenizer: Tokenizer, { before, offset }: TextPlace) {
  return (tokens: readonly ScoredToken[]) => {
    const places = tokens.map(({ id, plainLogprob, topLogprobs }) => {
      const textOf = (one: number) => textBehind(before, [one], tokenizer);
      const token = textOf(id);
      // The token itself is listed even if it is unlikely. Where several tokens have the same text, the likeliest counts.
      const likeliest: Record<string, number> = {};
      for (const { id: other, logprob } of topLogprobs ?? []) likeliest[textOf(other)] ??= logprob;
      if (plainLogprob !== null) likeliest[token] ??= plainLogprob;
      const place = { token, logprob: plainLogprob, offset: Math.max(0, offset), likeliest: topLogprobs && likeliest };
      before = id;
      offset += token.length;
      return place;
    });
    return {
      tokens: places.map(({ token }) => token),
      token_logprobs: places.map(({ logprob }) => logprob),
      top_logprobs: places.some(({ likeliest }) => likeliest) ? places.map(({ likeliest }) => likeliest ?? null) : null,
      text_offset: places.map((place) => place.offset),
    };
  };
}
