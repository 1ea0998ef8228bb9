# What verl_cpu.py recorded of verl's trainer.
#
# usage: python read_verl_cpu.py FOLDER      stdout: [{"rows": [{"prompts", "responses", "response_mask", "rollout_log_probs", "advantages"}],
#   "losses": of each optimiser step}], one for each update; without the rows that fill a batch up. The weights before optimiser step S of update
#   U are then in FOLDER/U-S.safetensors, and its gradients in FOLDER/U-S.gradients.safetensors.
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

folder = Path(sys.argv[1])
updates = []
for number in range(len(list(folder.glob("*.pt")))):
    update = torch.load(folder / f"{number}.pt", weights_only=False)
    names = ("prompts", "responses", "response_mask", "rollout_log_probs", "advantages")
    rows = [{name: update["rows"][name][i].tolist() for name in names if name in update["rows"]} for i in range(len(update["rows"]["prompts"]))]
    for at, step in enumerate(update["steps"]):
        save_file({name: value.contiguous() for name, value in step["weights"].items()}, folder / f"{number}-{at}.safetensors")
        save_file({name: value.contiguous() for name, value in step["gradients"].items()}, folder / f"{number}-{at}.gradients.safetensors")
    # A row that verl adds is 127 end tokens and one more, none of which is trained on.
    own = [row for row in rows if any(row["response_mask"]) or len(row["responses"]) > 1]
    losses = [loss for entry in update["losses"] for loss in (entry if isinstance(entry, list) else [entry])]
    updates.append({"rows": own, "added": len(rows) - len(own), "losses": losses})
print(json.dumps(updates))
