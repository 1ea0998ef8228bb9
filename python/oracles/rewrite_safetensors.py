# Reads a safetensors file with the package `safetensors` and writes every tensor again, as several floating-point types.
#
# usage: python rewrite_safetensors.py IN OUT      OUT has NAME.float32, NAME.float16 and NAME.bfloat16; metadata is kept
import sys

import torch
from safetensors import safe_open
from safetensors.torch import save_file

with safe_open(sys.argv[1], framework="pt") as file:
    tensors = {
        f"{name}.{dtype}": file.get_tensor(name).to(getattr(torch, dtype))
        for name in file.keys()
        for dtype in ("float32", "float16", "bfloat16")
    }
    save_file(tensors, sys.argv[2], metadata=file.metadata())
