# Makes a random adapter with PEFT, and writes it as PEFT does.
#
# usage: python make_adapter.py MODEL_FOLDER OUT      stdin: what LoraConfig is given
import json
import sys

import torch
from peft import LoraConfig, get_peft_model

from logits import load

if __name__ == "__main__":
    torch.manual_seed(0)
    model = get_peft_model(load(sys.argv[1]), LoraConfig(task_type="CAUSAL_LM", **json.load(sys.stdin)))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.copy_(torch.randn_like(parameter) * (0.3 if "lora_B" in name else parameter.shape[-1] ** -0.5))
    model.save_pretrained(sys.argv[2])
