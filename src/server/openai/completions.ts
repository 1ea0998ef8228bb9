// POST /v1/completions
import { completionLogprobs, finishReason, headOf, usageOf } from './answers.ts';
import { ApiError } from './api-error.ts';
import type { CompletionRequest } from './requests.ts';
import type { Asked, ServedCompletion, ServedModel } from './served-model.ts';

/** What OpenAI's interface takes where a request says nothing. */
const defaultTokens = 16;

export async function completion(model: ServedModel, request: CompletionRequest, signal: AbortSignal): Promise<object> {
  const asked = askedOf(model, request, signal);
  const completions = await model.complete(asked);
  return {
    ...headOf(model, 'text_completion'),
    choices: completions.map((each, index) => choice(model, request, each, index, each.text)),
    usage: usageOf(asked.prompts, completions),
  };
}

/** The pieces of the same answer, as it grows. */
export async function completionChunks(
  model: ServedModel,
  request: CompletionRequest,
  signal: AbortSignal,
  tell: (chunk: object) => void,
): Promise<void> {
  const asked = askedOf(model, request, signal);
  const head = headOf(model, 'text_completion');
  const grows = !wantsLogprobs(request);
  const completions = await model.complete({
    ...asked,
    ...(grows && {
      onText: (index: number, text: string) => {
        tell({ ...head, choices: [{ index, text, logprobs: null, finish_reason: null }] });
      },
    }),
  });
  for (const [index, each] of completions.entries()) {
    tell({ ...head, choices: [choice(model, request, each, index, each.untold)] });
  }
  if (request.stream_options?.include_usage) {
    tell({ ...head, choices: [], usage: usageOf(asked.prompts, completions) });
  }
}

function choice(
  model: ServedModel,
  request: CompletionRequest,
  each: ServedCompletion,
  index: number,
  text: string,
): object {
  const logprobs = wantsLogprobs(request) ? completionLogprobs(model.tokenizer, each) : null;
  return { index, text, logprobs, finish_reason: finishReason(each) };
}

/** 0 asks for those of the sampled tokens alone. */
function wantsLogprobs({ logprobs }: CompletionRequest): boolean {
  return logprobs !== null && logprobs !== undefined;
}

function askedOf(model: ServedModel, request: CompletionRequest, signal: AbortSignal): Asked {
  model.assertIs(request.model);
  const { prompt, max_tokens, logprobs } = request;
  const maxTokens = max_tokens ?? defaultTokens;
  return { prompts: promptsOf(model, prompt), request, maxTokens, topLogprobs: logprobs ?? 0, signal };
}

/** One prompt or several, as text or as token ids. */
function promptsOf({ tokenizer }: ServedModel, prompt: CompletionRequest['prompt']): (readonly number[])[] {
  const prompts = typeof prompt === 'string' || typeof prompt[0] === 'number' ? [prompt] : prompt;
  return (prompts as readonly (string | readonly number[])[]).map((each) => {
    if (typeof each === 'string') return tokenizer.encode(each, { addSpecialTokens: true });
    const unknown = each.find((id) => id >= tokenizer.vocabSize);
    if (unknown === undefined) return each;
    throw new ApiError(
      400,
      'invalid_value',
      `prompt: ${unknown} is no token: there are ${tokenizer.vocabSize}`,
      'prompt',
    );
  });
}
