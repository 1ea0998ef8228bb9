# The bytes of a vocabulary's tokens, and where the tokens of texts begin, as the packages `tokenizers` and `transformers` have them.
#
# usage: python token_bytes.py TOKENIZER_JSON      stdin: {"texts": […]}
# stdout: {"bytes": [bytes of each id, or null], "ids": [of each text], "offsets": [code points before each token]}
import json
import re
import sys

from tokenizers import Tokenizer
from transformers.convert_slow_tokenizer import bytes_to_unicode

tokenizer = Tokenizer.from_file(sys.argv[1])
byte_of = {character: byte for byte, character in bytes_to_unicode().items()}
is_byte_level = "ByteLevel" in json.dumps(json.load(open(sys.argv[1]))["decoder"])
added = tokenizer.get_added_tokens_decoder()


def own_bytes(id):
    token = tokenizer.id_to_token(id)
    if id in added:
        return None
    if is_byte_level:
        return [byte_of[character] for character in token]
    byte = re.fullmatch("<0x([0-9A-F]{2})>", token)
    return [int(byte.group(1), 16)] if byte else None


texts = [tokenizer.encode(text, add_special_tokens=False) for text in json.load(sys.stdin)["texts"]]
json.dump(
    {
        "bytes": [own_bytes(id) for id in range(tokenizer.get_vocab_size())],
        "ids": [text.ids for text in texts],
        "offsets": [[begin for begin, _ in text.offsets] for text in texts],
    },
    sys.stdout,
)
