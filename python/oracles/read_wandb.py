# Reads the files of an offline run, which may have been resumed, with Weights & Biases' own reader.
#
# usage: python read_wandb.py FOLDER ID
# stdout: {"metrics": {key: [[step, value], …]}, "texts": {name: {step: text}}, "config", "summary", "exit_codes", "files"}
import glob
import html
import json
import os
import sys

from wandb.proto import wandb_internal_pb2

STEP = "train/global_step"
HEADER, BLOCK = 7, 32768
folder, run = sys.argv[1:]


def records(path):
    """The file is a log of LevelDB (doc/log_format.md there); its first block begins with seven bytes of Weights & Biases."""
    with open(path, "rb") as file:
        data = file.read()
    assert data.startswith(b":W&B")
    at, parts = 7, []
    while at + HEADER <= len(data):
        if BLOCK - at % BLOCK < HEADER:
            at += BLOCK - at % BLOCK
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        parts.append(data[at + HEADER : at + HEADER + length])
        at += HEADER + length
        if kind in (1, 4):  # whole, or the last part
            yield b"".join(parts)
            parts = []


metrics, texts, config, summary, exit_codes, kept = {}, {}, {}, {}, [], []

for path in sorted(glob.glob(f"{folder}/wandb/offline-run-*-{run}/*.wandb")):
    for data in records(path):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        kind = record.WhichOneof("record_type")
        if kind == "run":
            config |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
        elif kind == "summary":
            for item in record.summary.update:
                summary[item.key or "/".join(item.nested_key)] = json.loads(item.value_json)
        elif kind == "exit":
            exit_codes.append(record.exit.exit_code)
        elif kind == "files":
            kept += [os.path.basename(file.path) for file in record.files.files]
        elif kind == "history":
            values = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            step = values.pop(STEP)
            for key, value in values.items():
                if key.endswith("/path"):
                    with open(os.path.join(os.path.dirname(path), "files", value), encoding="utf-8") as file:
                        text = file.read().split("<pre>")[1].split("</pre>")[0]
                    texts.setdefault(key.removesuffix("/path"), {})[step] = html.unescape(text)
                elif isinstance(value, (int, float)):
                    metrics.setdefault(key, {})[step] = value

json.dump(
    {
        "metrics": {key: sorted(values.items()) for key, values in metrics.items()},
        "texts": texts,
        "config": config,
        "summary": summary,
        "exit_codes": exit_codes,
        "files": kept,
    },
    sys.stdout,
)
