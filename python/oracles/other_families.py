# Writes small random models of families that Gradus does not support: partly rotated heads, a mixture of experts.
# Their weights are large enough that every token and its place matter.
#
# Usage: other_families.py OUT VOCABULARY_SIZE. Each folder of OUT is a model without a tokenizer.
import sys
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM

out, vocabulary = Path(sys.argv[1]), int(sys.argv[2])
SIZES = {
    "vocab_size": vocabulary,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 2,
}
FAMILIES = {
    "stablelm": {},
    "qwen3_moe": {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "head_dim": 8},
}

for family, sizes in FAMILIES.items():
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **SIZES, **sizes)).float()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn_like(parameter) * 1.5 / parameter.shape[-1] ** 0.5)
    model.save_pretrained(out / family)
