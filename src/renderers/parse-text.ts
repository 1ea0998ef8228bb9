// What sampled ids say, for models whose answers are text and nothing else.
import type { Action } from '../rl.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';

/** The text up to the first stop token, without special tokens. */
export function parseText(
  tokenizer: Tokenizer,
  stopIds: ReadonlySet<number>,
  completionIds: readonly number[],
): Action {
  const end = completionIds.findIndex((id) => stopIds.has(id));
  const ids = end < 0 ? completionIds : completionIds.slice(0, end);
  return { message: { role: 'assistant', content: tokenizer.decode(ids, { skipSpecialTokens: true }) } };
}
