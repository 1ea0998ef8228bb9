# Logits of a Hugging Face model folder as transformers computes them in float32.
#
# usage: python logits.py MODEL_FOLDER      stdin: {"ids": [[…], …]}      stdout: {"logits": [sequence][position][token]}
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import AutoModelForCausalLM


def load(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


@torch.no_grad()
def answer(model):
    """Each sequence is run alone, so nothing is padded."""
    model.eval()
    sequences = json.load(sys.stdin)["ids"]
    json.dump({"logits": [model(torch.tensor([ids])).logits[0].tolist() for ids in sequences]}, sys.stdout)


if __name__ == "__main__":
    answer(load(sys.argv[1]))
