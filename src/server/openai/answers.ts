// The answers of OpenAI's interface, whole and in pieces.
import { randomUUID } from 'node:crypto';
import type { ToolCall } from '../../message.ts';
import type { TokenLogprob } from '../../policy.ts';
import { textBehind } from '../../tokenizers/text-stream.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';
import type { ServedCompletion, ServedModel } from './served-model.ts';

type FinishReason = 'stop' | 'length' | 'tool_calls';

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

/** What all answers of one request begin with. */
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

export function toolCallsOf(calls: readonly ToolCall[]) {
  return calls.map(({ name, arguments: given }) => ({
    id: `call_${randomUUID()}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  }));
}

/** Log-probabilities under the model itself, whatever the temperature. */
export function chatLogprobs(tokenizer: Tokenizer, { ids, plainLogprobs, topLogprobs }: ServedCompletion) {
  const content = ids.map((id, i) => {
    const told = (one: TokenLogprob) => {
      const token = textBehind(ids[i - 1], one.id, tokenizer);
      return { token, logprob: one.logprob, bytes: [...new TextEncoder().encode(token)] };
    };
    return { ...told({ id, logprob: plainLogprobs[i]! }), top_logprobs: (topLogprobs?.[i] ?? []).map(told) };
  });
  return { content, refusal: null };
}

export function completionLogprobs(tokenizer: Tokenizer, { ids, plainLogprobs, topLogprobs }: ServedCompletion) {
  const textAt = (i: number, id: number) => textBehind(ids[i - 1], id, tokenizer);
  const tokens = ids.map((id, i) => textAt(i, id));
  let offset = 0;
  return {
    tokens,
    token_logprobs: plainLogprobs,
    top_logprobs:
      topLogprobs?.map((told, i) => {
        const logprobs: Record<string, number> = {};
        // The sampled token is among them even if it was unlikely. Of tokens with the same text the likeliest one counts.
        for (const { id, logprob } of [...told, { id: ids[i]!, logprob: plainLogprobs[i]! }])
          logprobs[textAt(i, id)] ??= logprob;
        return logprobs;
      }) ?? null,
    text_offset: tokens.map(({ length }) => {
      offset += length;
      return offset - length;
    }),
  };
}
