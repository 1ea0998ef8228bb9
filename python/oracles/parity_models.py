# Writes random models of every family in every format that Gradus reads, and what transformers, PyTorch and PEFT make of them.
#
# Usage: parity_models.py SEED OUT. Each folder of OUT, `<family>-<format>`, is a model with golden.json, adapter/ and gradients.json as
# fixtures/tiny_models.py writes them. Sizes, biases, ties, windows, heads and their groups are drawn at random; in GGUF rows are 256 wide, which
# K-quants need, and so they are in `<family>-wide`, which custom operators compute, of families whose GGUF files cannot say all, such as Gemma's.
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fixtures"))
import fixture_file

seed, out = int(sys.argv[1]), Path(sys.argv[2])
fixture_file.REPOSITORY = out

import gguf_models
import numpy as np
import tiny_models
import torch
from gguf import MODEL_ARCH, GGMLQuantizationType as Type
from transformers import AutoConfig, AutoModelForCausalLM

FAMILIES = ["llama", "mistral", "qwen2", "qwen3", "gemma3_text", "smollm3", "olmo2", "granite"]
ARCHITECTURES = {
    "llama": MODEL_ARCH.LLAMA,
    "qwen2": MODEL_ARCH.QWEN2,
    "qwen3": MODEL_ARCH.QWEN3,
    "gemma3_text": MODEL_ARCH.GEMMA3,
    "smollm3": MODEL_ARCH.SMOLLM3,
    "olmo2": MODEL_ARCH.OLMO2,
    "granite": MODEL_ARCH.GRANITE,
}
GGUF_TYPES = [Type.F32, Type.F16, Type.BF16, Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q4_K, Type.Q5_K, Type.Q6_K]


def random_config(family, random, wide):
    """`wide`: every matrix has rows of 256."""
    choose = lambda *values: values[random.integers(len(values))]
    groups, kv_heads = choose(1, 2, 3), choose(1, 2)
    heads = 4 if wide else groups * kv_heads
    sizes = {
        "vocab_size": int(random.integers(30, 70)),
        "hidden_size": 256 if wide else 2 * heads * int(random.integers(2, 6)),
        "intermediate_size": 256 if wide else int(random.integers(9, 60)),
        "num_hidden_layers": 1 if wide else choose(1, 2, 3),
        "num_attention_heads": heads,
        "num_key_value_heads": choose(1, 2, 4) if wide else kv_heads,
        "head_dim": 64 if wide else 2 * int(random.integers(1, 12)),
        "max_position_embeddings": 32,
        "rms_norm_eps": choose(1e-5, 1e-6),
        "tie_word_embeddings": choose(True, False),
        "bos_token_id": 1,
        "eos_token_id": 2,
        "rope_parameters": {"rope_type": "default", "rope_theta": choose(100.0, 10000.0, 1e6)},
    }
    if family == "llama" and not wide:
        scaling = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
        sizes["rope_parameters"] |= choose({}, scaling | {"original_max_position_embeddings": 12})
        sizes["attention_bias"] = choose(True, False)
    if family in ["smollm3", "olmo2", "granite"]:
        yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 12, "beta_fast": 2.0}
        sizes["rope_parameters"] |= choose({}, {"rope_type": "linear", "factor": 3.0}, yarn, yarn | {"truncate": False, "mscale": 1.0, "mscale_all_dim": 0.5})
        sizes["attention_bias"] = choose(True, False) and not wide
    if family == "smollm3":
        sizes |= {"num_hidden_layers": 3, "no_rope_layers": [1, 0, choose(0, 1)], "pad_token_id": 0}
        sizes |= {"use_sliding_window": choose(True, False) and not wide, "sliding_window": 5}
    if family == "olmo2":
        sizes["pad_token_id"] = 0
    if family == "granite":
        sizes |= {"embedding_multiplier": 3.0, "attention_multiplier": choose(0.1, 0.5), "residual_multiplier": 0.5, "logits_scaling": choose(0.5, 3.0)}
    if family == "mistral":
        sizes["sliding_window"] = None if wide else choose(None, 5)
    if family in ["qwen2", "qwen3"] and not wide:
        sizes |= {"use_sliding_window": choose(True, False), "sliding_window": 5, "max_window_layers": 1}
    if family in ["gemma3_text", "granite"]:
        sizes["tie_word_embeddings"] &= not wide  # embeddings that are scaled as much would repeat every token with certainty
    if family == "gemma3_text":
        sizes["num_hidden_layers"] = 3
        sizes["sliding_window"] = int(random.integers(2, 9))
        sizes["layer_types"] = [choose("sliding_attention", "full_attention") for _ in range(2)] + ["sliding_attention"]
        sizes["query_pre_attn_scalar"] = choose(8, 256)
        sizes["attention_bias"] = choose(True, False)
        sizes["rope_parameters"] = {kind: sizes["rope_parameters"] | {"rope_theta": choose(100.0, 1e6)} for kind in ["full_attention", "sliding_attention"]}
    if family == "qwen3":
        sizes["attention_bias"] = choose(True, False) and not wide
    if family == "qwen2":
        del sizes["head_dim"]
    return AutoConfig.for_model(family, **sizes)


def write_goldens(model, folder):
    # Greedy text is another test's: here two tokens may well be as good as equal.
    tiny_models.greedy = lambda *_: []
    ids = [1, *torch.randint(3, model.config.vocab_size, (11,)).tolist()]
    fixture_file.write(f"{folder}/golden.json", {"sequences": [tiny_models.golden(model, ids)]})
    fixture_file.write(f"{folder}/gradients.json", tiny_models.adapter_gradients(model, out / folder, folder, ids))


def write_folder(family, dtype, random, wide=False):
    folder = f"{family}-{'wide' if wide else str(dtype).removeprefix('torch.')}"
    model = AutoModelForCausalLM.from_config(random_config(family, random, wide)).float().eval()
    tiny_models.randomise(model)
    model.to(dtype).save_pretrained(out / folder)
    write_goldens(AutoModelForCausalLM.from_pretrained(out / folder, dtype=torch.float32).eval(), folder)


def write_gguf(family, type, random):
    folder = f"{family}-{type.name}"
    config = gguf_models.as_gguf_says(random_config(family, random, wide=True))
    gguf_models.WIDE = gguf_models.NARROW = iter(lambda: type, None)
    (out / folder).mkdir(parents=True)
    model = AutoModelForCausalLM.from_config(config).float().eval()
    gguf_models.write_gguf(out / folder / "model.gguf", ARCHITECTURES[family], config, model, random, tokenizer=True)
    write_goldens(model, folder)


random = np.random.default_rng(seed)
torch.manual_seed(seed)
for family in FAMILIES:
    for dtype in [torch.float32, torch.bfloat16, torch.float16]:
        write_folder(family, dtype, random)
for family in ["gemma3_text", "smollm3", "olmo2", "granite"]:
    write_folder(family, torch.float32, random, wide=True)
for family in ARCHITECTURES:
    for type in GGUF_TYPES:
        write_gguf(family, type, random)
