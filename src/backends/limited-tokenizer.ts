// Sets a time limit for tokenizers whose regular expressions may backtrack for ever: they run in this thread, which no signal could interrupt.
import { GradusError } from '../errors.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import { endedAfter } from './ended-after.ts';

/** A group that is repeated, as in `(a+)+`. Patterns without one, such as those of all families here, take polynomial time. */
const mayBacktrack = /\)[*+{]/;

/** Milliseconds for one text; a megabyte takes a second or two. */
const LONGEST = 10_000;

/** Throws `TOKENIZER_TOO_SLOW` for texts on which the tokenizer takes longer. @param description tokenizer.json, which tells whether a limit is needed */
export function limitedTokenizer(
  tokenizer: Tokenizer,
  { normalizer, pre_tokenizer, decoder }: Readonly<Record<string, unknown>>,
  limit = LONGEST,
): Tokenizer {
  if (!mayBacktrack.test(JSON.stringify([normalizer, pre_tokenizer, decoder]))) return tokenizer;
  const limited = endedAfter(
    limit,
    (cause) =>
      new GradusError('TOKENIZER_TOO_SLOW', `the tokenizer takes longer than ${limit / 1000} s for a text`, {
        hint: 'look at the regular expressions in tokenizer.json: one with a repeated group may never end',
        path: 'model',
        cause,
      }),
  );
  return {
    ...tokenizer,
    encode: (...given) => limited(() => tokenizer.encode(...given)),
    decode: (...given) => limited(() => tokenizer.decode(...given)),
  };
}
