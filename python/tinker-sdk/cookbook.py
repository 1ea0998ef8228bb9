"""Runs a recipe of tinker-cookbook, unmodified, with a small model and local rows: cookbook.py RECIPE MODEL GSM8K [argument=value …]

RECIPE is a module below tinker_cookbook.recipes, such as sl_loop, rl_loop or math_rl.train; MODEL the folder of SmolLM2-135M-Instruct, which a server at
TINKER_BASE_URL has under its name on the Hub; GSM8K a JSON Lines file with `question` and `answer`. The cookbook knows neither the model nor local files, so this
registers the one and hands the others to `load_dataset`.
"""

import json
import os
import runpy
import sys

NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"
recipe, model, rows_file, *arguments = sys.argv[1:]
os.environ.setdefault("TINKER_API_KEY", "tml-none")
os.environ.update(HF_HUB_OFFLINE="1", TINKER_TELEMETRY="0")

import datasets
from tinker_cookbook import model_info, tokenizer_utils
from transformers import AutoTokenizer

known = model_info.get_model_attributes
attributes = model_info.ModelAttributes("HuggingFaceTB", "2", "135M", True, ("role_colon",))
model_info.get_model_attributes = lambda name: attributes if name.split(":", 1)[0] == NAME else known(name)
tokenizer = AutoTokenizer.from_pretrained(model)
tokenizer_utils.register_tokenizer(NAME, lambda: tokenizer)

with open(rows_file) as file:
    rows = [json.loads(line) for line in file]


def chat(row):
    return [{"role": "user", "content": row["question"]}, {"role": "assistant", "content": row["answer"]}]


def preference(row, other):
    said = f"Human: {row['question']}\n\nAssistant: "
    return {"chosen": said + row["answer"], "rejected": said + other["answer"]}


local = {
    "openai/gsm8k": rows,
    "zwhe99/DeepMath-103K": rows,
    "HuggingFaceH4/no_robots": [{"messages": chat(row)} for row in rows],
    # The answer to a problem is preferred to the answer to another.
    "Anthropic/hh-rlhf": [preference(row, other) for row, other in zip(rows, rows[1:] + rows[:1])],
}


def load_dataset(path, *_, split=None, **__):
    only = datasets.Dataset.from_list(local[path])
    held_out = only.select(range(min(16, len(only))))
    return datasets.DatasetDict(train=only, test=held_out) if split is None else only


datasets.load_dataset = load_dataset
sys.argv = [recipe, f"model_name={NAME}", *arguments]
runpy.run_module(f"tinker_cookbook.recipes.{recipe}", run_name="__main__", alter_sys=True)
