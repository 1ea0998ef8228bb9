# The fields of a GRPOConfig: one that TRL saved beside a checkpoint, or one made from a hand-off's settings.
#
# usage: python training_arguments.py training_args.bin | settings.json      stdout: {name: value}, and `trl`, its version
import dataclasses
import json
import sys
from pathlib import Path

import torch
import trl

file = Path(sys.argv[1])
if file.suffix == ".json":
    args = trl.GRPOConfig(output_dir=str(file.parent), **{**json.loads(file.read_text())["GRPOConfig"], "bf16": False})
else:
    args = torch.load(file, weights_only=False)
fields = {field.name: getattr(args, field.name) for field in dataclasses.fields(args)}
json.dump({"trl": trl.__version__, **fields}, sys.stdout, default=str)
