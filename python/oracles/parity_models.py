# Writes random models of every family in every format that Gradus reads, and the results of transformers, PyTorch and PEFT.
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
from random_configs import FAMILIES, LATER, random_config
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, Gemma4Config, Gemma4ForConditionalGeneration, Mistral3Config, Mistral3ForConditionalGeneration, Qwen3_5Config, Qwen3_5ForConditionalGeneration

ARCHITECTURES = {
    "llama": MODEL_ARCH.LLAMA,
    "qwen2": MODEL_ARCH.QWEN2,
    "qwen3": MODEL_ARCH.QWEN3,
    "gemma3_text": MODEL_ARCH.GEMMA3,
    "smollm3": MODEL_ARCH.SMOLLM3,
    "olmo2": MODEL_ARCH.OLMO2,
    "granite": MODEL_ARCH.GRANITE,
    "lfm2": MODEL_ARCH.LFM2,
    "qwen3_5_text": MODEL_ARCH.QWEN35,
}
LATER_ARCHITECTURES = {
    "olmo3": MODEL_ARCH.OLMO2,
    "granitemoehybrid": MODEL_ARCH.GRANITE,
    "ministral3": MODEL_ARCH.MISTRAL3,
    "phi3": MODEL_ARCH.PHI3,
    "gemma4_text": MODEL_ARCH.GEMMA4,
}
GGUF_TYPES = [Type.F32, Type.F16, Type.BF16, Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q4_K, Type.Q5_K, Type.Q6_K]


def write_goldens(model, folder):
    # Another test compares greedy text: here two tokens may be almost equally likely.
    tiny_models.greedy = lambda *_: []
    # More than one chunk of the delta rule.
    length = 79 if model.config.model_type == "qwen3_5_text" else 11
    ids = [1, *torch.randint(3, model.config.vocab_size, (length,)).tolist()]
    fixture_file.write(f"{folder}/golden.json", {"sequences": [tiny_models.golden(model, ids)]})
    fixture_file.write(f"{folder}/gradients.json", tiny_models.adapter_gradients(model, out / folder, folder, ids))


def write_folder(family, dtype, random, wide=False):
    folder = f"{family}-{'wide' if wide else str(dtype).removeprefix('torch.')}"
    model = AutoModelForCausalLM.from_config(random_config(family, random, wide)).float().eval()
    tiny_models.randomise(model)
    model.to(dtype).save_pretrained(out / folder)
    write_goldens(AutoModelForCausalLM.from_pretrained(out / folder, dtype=torch.float32).eval(), folder)


def write_with_vision(random):
    """A Qwen3.5 that also reads images and predicts the token after the next one, whose text part is what we read."""
    folder, text = "qwen3_5-vision", random_config("qwen3_5_text", random, wide=True).to_dict()
    vision = {"depth": 1, "hidden_size": 8, "intermediate_size": 8, "num_heads": 1, "out_hidden_size": text["hidden_size"], "num_position_embeddings": 16}
    config = Qwen3_5Config(text_config=text, vision_config=vision, tie_word_embeddings=text["tie_word_embeddings"])
    model = Qwen3_5ForConditionalGeneration(config).float().eval()
    tiny_models.randomise(model.model.language_model)
    model.save_pretrained(out / folder)
    weights = load_file(out / folder / "model.safetensors") | {"mtp.fc.weight": torch.zeros(2, 2), "mtp.layers.0.mlp.up_proj.weight": torch.zeros(2, 2)}
    save_file(weights, out / folder / "model.safetensors", {"format": "pt"})
    write_goldens(AutoModelForCausalLM.from_pretrained(out / folder, dtype=torch.float32).eval(), folder)


def write_around_text(model, folder):
    """A model of several parts whose text part has random weights, and the results of that part alone."""
    causal = AutoModelForCausalLM.from_config(model.config.text_config).float().eval()
    tiny_models.randomise(causal)
    model.model.language_model.load_state_dict(causal.model.state_dict())
    model.lm_head.load_state_dict(causal.lm_head.state_dict())
    model.save_pretrained(out / folder)
    write_goldens(causal, folder)


def write_ministral_with_vision(random):
    """A Ministral 3 that also reads images, under the names of the published files."""
    folder, text = "mistral3-vision", random_config("ministral3", random, wide=True).to_dict()
    vision = {"model_type": "pixtral", "num_hidden_layers": 1, "hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 1, "head_dim": 8, "image_size": 32}
    config = Mistral3Config(text_config=text, vision_config=vision, tie_word_embeddings=text["tie_word_embeddings"])
    write_around_text(Mistral3ForConditionalGeneration(config).float().eval(), folder)


def write_gemma_with_vision(random):
    """A Gemma 4 that also reads images and sound."""
    folder, text = "gemma4-vision", random_config("gemma4_text", random, wide=True).to_dict()
    vision = {"num_hidden_layers": 1, "hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 8}
    audio = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "output_proj_dims": 8, "subsampling_conv_channels": [2, 2]}
    config = Gemma4Config(text_config=text, vision_config=vision, audio_config=audio, tie_word_embeddings=text["tie_word_embeddings"])
    write_around_text(Gemma4ForConditionalGeneration(config).float().eval(), folder)


def write_gguf(family, arch, type, random):
    folder = f"{family}-{type.name}"
    config = gguf_models.as_gguf_says(random_config(family, random, wide=True))
    gguf_models.WIDE = gguf_models.NARROW = iter(lambda: type, None)
    (out / folder).mkdir(parents=True)
    model = AutoModelForCausalLM.from_config(config).float().eval()
    gguf_models.write_gguf(out / folder / "model.gguf", arch, config, model, random, tokenizer=True)
    write_goldens(model, folder)


random = np.random.default_rng(seed)
torch.manual_seed(seed)
for family in FAMILIES:
    for dtype in [torch.float32, torch.bfloat16, torch.float16]:
        write_folder(family, dtype, random)
for family in ["gemma3_text", "smollm3", "olmo2", "olmo3", "granite", "lfm2", "qwen3_5_text"]:
    write_folder(family, torch.float32, random, wide=True)
write_with_vision(random)
for family, arch in ARCHITECTURES.items():
    for type in GGUF_TYPES:
        write_gguf(family, arch, type, random)
for family in LATER:
    for dtype in [torch.float32, torch.bfloat16, torch.float16]:
        write_folder(family, dtype, random)
    write_folder(family, torch.float32, random, wide=True)
write_ministral_with_vision(random)
write_gemma_with_vision(random)
for family, arch in LATER_ARCHITECTURES.items():
    for type in GGUF_TYPES:
        write_gguf(family, arch, type, random)
