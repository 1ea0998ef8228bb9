# The peer of the benchmark: TRL's GRPO trainer on the CPU, LoRA on every linear layer or full fine-tuning, one JSON line a step.
#
# Lines: {step, step_s, generate_s, reward, completion_tokens, entropy, frac_reward_zero_std, loss, grad_norm}
# and last {done: true, load_s, train_s, peak_memory_bytes: VmHWM of this process, versions}.
import argparse
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
start = time.perf_counter()

import peft
import torch
import transformers
import trl
from datasets import Dataset
from peft import LoraConfig
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

LOGGED = {
    "reward": "reward",
    "completion_tokens": "completions/mean_length",
    "entropy": "entropy",
    "frac_reward_zero_std": "frac_reward_zero_std",
    "loss": "loss",
    "grad_norm": "grad_norm",
}


def arguments():
    parser = argparse.ArgumentParser(description="GRPO with TRL on the CPU, one JSON line a step")
    parser.add_argument("--model", required=True, help="Hugging Face model folder")
    parser.add_argument("--data", required=True, help="JSONL of questions, one for each prompt of all steps")
    parser.add_argument("--prompts-per-step", type=int, default=4)
    parser.add_argument("--generations", type=int, default=8, help="completions of each prompt")
    parser.add_argument("--tokens", type=int, default=24, help="of every completion: none ends before")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16")
    parser.add_argument("--learning-rate", type=float, default=2e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--full", action="store_true", help="train all weights, without adapters")
    return parser


def rows(path):
    return [chat(json.loads(line)["question"]) for line in Path(path).read_text().splitlines()]


def chat(question):
    return {"prompt": [{"role": "user", "content": question}]}


def alternating(completions, **_):
    """Scores that give every group advantages, whatever is written."""
    return [float(i % 2) for i in range(len(completions))]


class Lines(TrainerCallback):
    """Prints a line a step. A step's time begins at the end of the step before, so nothing is left out."""

    def __init__(self):
        self.generate_s = 0.0

    def on_train_begin(self, *_, **__):
        self.began = self.step_began = time.perf_counter()

    def on_step_end(self, *_, **__):
        now = time.perf_counter()
        self.step_s, self.step_began = now - self.step_began, now

    def on_log(self, args, state, control, logs, **_):
        if "reward" not in logs:
            return
        timings = {"step": state.global_step, "step_s": round(self.step_s, 3), "generate_s": round(self.generate_s, 3)}
        print_line(timings | {ours: logs.get(theirs) for ours, theirs in LOGGED.items()})
        self.generate_s = 0.0

    def time_generation(self, trainer):
        generate = trainer._generate

        def timed(*args, **kwargs):
            began = time.perf_counter()
            result = generate(*args, **kwargs)
            self.generate_s += time.perf_counter() - began
            return result

        trainer._generate = timed


def print_line(content):
    print(json.dumps(content), flush=True)


def peak_memory():
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024


def trainer(options, folder, reward, dataset, lines, **settings):
    """TRL's trainer for a model folder in one of two dtypes, `options.dtype`; it writes into `folder`."""
    torch.set_num_threads(options.threads)
    built = GRPOTrainer(
        model=options.model,
        reward_funcs=reward,
        train_dataset=Dataset.from_list(dataset),
        peft_config=None if options.full else LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
        callbacks=[lines],
        args=GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=options.prompts_per_step * options.generations,
            num_generations=options.generations,
            max_completion_length=options.tokens,
            max_steps=options.steps,
            learning_rate=options.learning_rate,
            lr_scheduler_type="constant",
            model_init_kwargs={"dtype": options.dtype},
            bf16=options.dtype == "bfloat16",
            use_cpu=True,
            gradient_checkpointing=False,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            seed=options.seed,
            **settings,
        ),
    )
    built.remove_callback(PrinterCallback)
    return built


def main(options):
    lines = Lines()
    endless = {"generation_kwargs": {"min_new_tokens": options.tokens}}
    with tempfile.TemporaryDirectory() as folder:
        peer = trainer(options, folder, alternating, rows(options.data), lines, **endless)
        lines.time_generation(peer)
        loaded = time.perf_counter()
        peer.train()
    versions = {library.__name__: library.__version__ for library in (torch, transformers, peft, trl)} | {"python": sys.version.split()[0]}
    load_s, train_s = loaded - start, time.perf_counter() - lines.began
    print_line({"done": True, "load_s": round(load_s, 3), "train_s": round(train_s, 3), "peak_memory_bytes": peak_memory(), "versions": versions})


if __name__ == "__main__":
    main(arguments().parse_args())
