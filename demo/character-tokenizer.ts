// The character-level tokenizer of the models that are made here, in the demo, tests and benchmarks: its tokenizer.json.

/**
 * Byte-pair encoding without merges. The special tokens get the ids from 0, then every character of `alphabet` is a token.
 * Other characters become `<unk>` if that is among the special tokens, and are left out otherwise.
 * Throws a RangeError if a token occurs twice.
 */
export function characterTokenizerJson(alphabet: string, special: readonly string[]): object {
  const tokens = [...special, ...alphabet];
  if (new Set(tokens).size !== tokens.length)
    throw new RangeError('every character and special token must be given once');
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: special.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    // Without a decoder, both libraries would put spaces between the characters.
    decoder: { type: 'Fuse' },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: special.includes('<unk>') ? '<unk>' : null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: [],
    },
  };
}
