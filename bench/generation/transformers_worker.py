# transformers' side of the benchmark of generation: `generate` with sampling, one line of JSON for each batch.
#
# Its only argument is JSON: {model: folder, dtype, promptIds, tokens, batches, threads, repeats}. Lines: {batch, seconds}, the median.
import json
import os
import sys
import time
from statistics import median

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import AutoModelForCausalLM

task = json.loads(sys.argv[1])
torch.set_num_threads(task["threads"])
model = AutoModelForCausalLM.from_pretrained(task["model"], dtype=getattr(torch, task["dtype"]))
prompt = torch.tensor([task["promptIds"]])
tokens = task["tokens"]


def sample(batch):
    length = {"max_new_tokens": tokens, "min_new_tokens": tokens}
    unfiltered = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    mask = torch.ones_like(prompt)
    return model.generate(prompt, attention_mask=mask, num_return_sequences=batch, **length, **unfiltered)


with torch.inference_mode():
    for batch in task["batches"]:
        sample(batch)
        seconds = []
        for _ in range(task["repeats"]):
            began = time.perf_counter()
            sampled = sample(batch)
            seconds.append(time.perf_counter() - began)
            assert sampled.shape == (batch, prompt.shape[1] + tokens)
        print(json.dumps({"batch": batch, "seconds": median(seconds)}), flush=True)
