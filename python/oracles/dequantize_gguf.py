# Decodes every tensor of a GGUF file with the package gguf.
#
# usage: python dequantize_gguf.py FILE      stdout: {tensor: SHA-256 of its float32 values, little-endian}
import hashlib
import json
import sys

from gguf import GGUFReader
from gguf.quants import dequantize

hashes = {
    tensor.name: hashlib.sha256(dequantize(tensor.data, tensor.tensor_type).astype("<f4").tobytes()).hexdigest()
    for tensor in GGUFReader(sys.argv[1]).tensors
}
json.dump(hashes, sys.stdout)
