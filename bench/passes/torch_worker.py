# PyTorch's side of the benchmark of passes: forward, backward and AdamW of LoRA adapters through PEFT, as TRL does them.
#
# Its only argument is JSON: {model: folder, dtype, sequences: [{promptIds, completionIds}], threads, repeats}; all are equally long.
# It prints {update: seconds, the median}.
import json
import os
import statistics
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

task = json.loads(sys.argv[1])
torch.set_num_threads(task["threads"])
base = AutoModelForCausalLM.from_pretrained(task["model"], dtype=getattr(torch, task["dtype"]))
model = get_peft_model(base, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
model.train()
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-5)

ids = torch.tensor([sequence["promptIds"] + sequence["completionIds"] for sequence in task["sequences"]])
tokens = len(task["sequences"][0]["completionIds"])
targets = ids[:, -tokens:]
advantages = torch.tensor([1.0 if row % 2 == 0 else -1.0 for row in range(len(ids))])[:, None]


def update():
    logits = model(ids, logits_to_keep=tokens + 1, use_cache=False).logits[:, :-1]
    chosen = logits.gather(-1, targets[..., None]).squeeze(-1)
    logprobs = (chosen - logits.logsumexp(-1)).float()
    loss = -(torch.exp(logprobs - logprobs.detach()) * advantages).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    optimizer.zero_grad()


times = []
for _ in range(task["repeats"] + 1):
    began = time.perf_counter()
    update()
    times.append(time.perf_counter() - began)
print(json.dumps({"update": statistics.median(times[1:])}))
