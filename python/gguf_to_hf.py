# Writes a Llama GGUF as a Hugging Face model folder, for the Python engines, which read no GGUF quickly.
#
# usage: python gguf_to_hf.py MODEL_FOLDER OUT_FOLDER [float32|bfloat16]
# MODEL_FOLDER holds one *.gguf beside the config and tokenizer files. float32 (the default) keeps the dequantised values exactly.
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.torch import save_file

MODEL_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def hugging_face_name(name):
    """blk.3.attn_q.weight → model.layers.3.self_attn.q_proj.weight"""
    module = name.removesuffix(".weight")
    if not module.startswith("blk."):
        return f"{MODEL_NAMES[module]}.weight"
    _, layer, module = module.split(".", 2)
    return f"model.layers.{layer}.{LAYER_NAMES[module]}.weight"


def half_split(weight, heads):
    """GGUF stores a head's rows for interleaved rotary embeddings, x0 y0 x1 y1 …; Hugging Face wants x0 x1 … y0 y1 …"""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def read_tensors(path, dtype):
    reader = GGUFReader(path)
    heads = {"attn_q": "llama.attention.head_count", "attn_k": "llama.attention.head_count_kv"}
    for tensor in reader.tensors:
        shape = tuple(reversed(tensor.shape.tolist()))
        weight = dequantize(tensor.data, tensor.tensor_type).astype(np.float32).reshape(shape)
        for module, field in heads.items():
            if f".{module}." in tensor.name:
                weight = half_split(weight, reader.fields[field].contents())
        yield hugging_face_name(tensor.name), torch.from_numpy(np.ascontiguousarray(weight)).to(dtype)


def main(source, target, dtype="float32"):
    target.mkdir(parents=True, exist_ok=True)
    for file in source.glob("*.json"):
        if not file.name.startswith("golden"):
            shutil.copyfile(file, target / file.name)
    tensors = dict(read_tensors(next(source.glob("*.gguf")), getattr(torch, dtype)))
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    print(f"{target}: {len(tensors)} tensors, {sum(tensor.numel() for tensor in tensors.values())} parameters")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
