# Encodes texts and decodes ids with the package `tokenizers`.
#
# usage: python tokenize_texts.py TOKENIZER_JSON      stdin: {"texts": […], "ids": [[…], …]}
# stdout: {"encoded": [ids of each text], "decoded": [text of each ids], "vocab_size": …}
import json
import sys

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1])
asked = json.load(sys.stdin)
json.dump(
    {
        "encoded": [tokenizer.encode(text, add_special_tokens=False).ids for text in asked["texts"]],
        "decoded": [tokenizer.decode(ids, skip_special_tokens=False) for ids in asked["ids"]],
        "vocab_size": tokenizer.get_vocab_size(),
    },
    sys.stdout,
)
