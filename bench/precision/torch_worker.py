# PyTorch's side of the benchmark of precision: log-probabilities and gradients of adapters in bfloat16, as TRL computes them, against float32.
#
# Its only argument is JSON: {float32, bfloat16: model folders, adapter: folder, texts: {name: [{promptIds, completionIds, advantage}]}, threads}.
# It prints a JSON line {system, texts, logprobs, cosine} for each kind of texts and setting.
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

TOGETHER = 4  # sequences in memory at a time
task = json.loads(sys.argv[1])
torch.set_num_threads(task["threads"])


def gradients(dtype, autocast, sequences):
    """Log-probabilities of completions, and the gradients of all factors in one vector."""
    base = AutoModelForCausalLM.from_pretrained(task[dtype], dtype=getattr(torch, dtype))
    model = PeftModel.from_pretrained(base, task["adapter"], is_trainable=True)
    model.train()
    found = []
    for start in range(0, len(sequences), TOGETHER):
        batch = sequences[start : start + TOGETHER]
        ids = torch.tensor([each["promptIds"] + each["completionIds"] for each in batch])
        tokens = len(batch[0]["completionIds"])
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            logits = model(input_ids=ids, logits_to_keep=tokens + 1).logits[:, :-1]
            logprobs = torch.log_softmax(logits.float(), -1).gather(-1, ids[:, -tokens:, None])[..., 0]
            advantages = torch.tensor([float(each["advantage"]) for each in batch])[:, None]
            loss = -(logprobs * advantages).sum() / (len(sequences) * tokens)
        loss.backward()
        found.append(logprobs.detach().flatten())
    trained = [parameter.grad.float().flatten() for parameter in model.parameters() if parameter.requires_grad]
    return torch.cat(found), torch.cat(trained)


for name, sequences in task["texts"].items():
    exact_logprobs, exact = gradients("float32", False, sequences)
    for system, dtype in {"PyTorch, bfloat16": "bfloat16", "PyTorch, bfloat16, weights in float32": "float32"}.items():
        logprobs, gradient = gradients(dtype, True, sequences)
        difference = (logprobs - exact_logprobs).abs().mean().item()
        cosine = torch.nn.functional.cosine_similarity(gradient, exact, dim=0).item()
        print(json.dumps({"system": system, "texts": name, "logprobs": difference, "cosine": cosine}), flush=True)
