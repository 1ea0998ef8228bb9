# configs/toy-grpo.yaml in numpy, as one would write it by hand: GRPO on a table of logits that learns to write digits with a given
# sum. `toy_grpo.py CONFIG FOLDER` reads the same configuration as gradus, prints one JSON line, and leaves the same record: for each step
# a line of metrics, of timings and of events and a file of rollouts; evaluations with their 95 % intervals; at the end policy.npz.
import json
import sys
import time
from pathlib import Path

import numpy as np
import yaml

RESAMPLES = 1000


def log_softmax(logits):
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def sample(random, probabilities, count):
    """Digits [count, T], each drawn by inverting its position's cumulative distribution."""
    points = random.random((count, len(probabilities), 1))
    return np.minimum((points > probabilities.cumsum(axis=1)).sum(axis=2), probabilities.shape[1] - 1)


def evaluate(random, logits, task, problems, k):
    """Success and reward of k samples a problem, with Wilson's and bootstrap intervals over problems, and of the likeliest digits."""
    def rewards(sequences):
        return np.exp(-np.abs(sequences.sum(axis=1) - task["target"]) / task["scale"])

    sampled = rewards(sample(random, np.exp(log_softmax(logits)), problems * k)).reshape(problems, k)
    successes = (sampled == 1).mean(axis=1)
    z, rate = 1.959964, float(successes.mean())
    scale = 1 + z**2 / problems
    center = (rate + z**2 / (2 * problems)) / scale
    spread = z / scale * np.sqrt(rate * (1 - rate) / problems + z**2 / (4 * problems**2))
    means = sampled.mean(axis=1)[random.integers(problems, size=(RESAMPLES, problems))].mean(axis=1)
    return {
        "accuracy": float(rewards(logits.argmax(axis=1)[None])[0] == 1),
        "sampled_accuracy": rate,
        "sampled_accuracy_interval": [float(center - spread), float(center + spread)],
        "sampled_reward": float(sampled.mean()),
        "sampled_reward_interval": np.quantile(means, [0.025, 0.975]).tolist(),
        "pass@k": float((sampled == 1).any(axis=1).mean()),
        "per_problem": successes.tolist(),
    }


def rollouts(step, sequences, rewards, advantages, logprobs):
    rows = zip(sequences.tolist(), rewards.tolist(), advantages.tolist(), logprobs.tolist())
    completions = [
        {"text": " ".join(map(str, ids)), "reward": reward, "advantage": advantage, "token_ids": ids, "logprobs": of_ids}
        for ids, reward, advantage, of_ids in rows
    ]
    return {"id": f"{step}.0", "completions": completions}


def main(config, folder):
    task, group = config["taskset_config"], config["num_generations"]
    evaluation = config["eval"]["limit"], max(config["eval"]["k"])
    random = np.random.default_rng(config.get("seed", 0))
    logits = np.zeros((task["digits"], task["vocab"]))
    reference = log_softmax(logits)
    positions = np.arange(task["digits"])
    (folder / "rollouts").mkdir(parents=True)
    files = {name: open(folder / f"{name}.jsonl", "w") for name in ("metrics", "timings", "events", "evals")}

    def append(name, line):
        files[name].write(json.dumps(line) + "\n")
        files[name].flush()

    first = evaluate(random, logits, task, *evaluation)
    append("evals", {"step": 0, **first})
    mean_rewards = []
    for step in range(1, config["max_steps"] + 1):
        start = time.perf_counter()
        logprobs = log_softmax(logits)
        probabilities = np.exp(logprobs)
        sequences = sample(random, probabilities, group)
        rewards = np.exp(-np.abs(sequences.sum(axis=1) - task["target"]) / task["scale"])
        advantages = (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-4)

        gradient = -advantages.mean() * probabilities
        np.add.at(gradient, (positions, sequences), advantages[:, None] / group)
        log_ratio = logprobs - reference
        divergence = (probabilities * log_ratio).sum(axis=1, keepdims=True)
        gradient -= config["beta"] * probabilities * (log_ratio - divergence)
        logits += config["learning_rate"] * gradient

        mean_rewards.append(float(rewards.mean()))
        line = {
            "step": step,
            "reward": mean_rewards[-1],
            "reward_std": float(rewards.std(ddof=1)),
            "kl": float(divergence.mean()),
            "entropy": float(-(probabilities * logprobs).sum(axis=1).mean()),
            "grad_norm": float(np.linalg.norm(gradient)),
        }
        timing = {"step": step, "step_time": time.perf_counter() - start}
        append("metrics", line)
        append("timings", timing)
        append("events", {"type": "step", "metrics": line, "timings": timing})
        record = rollouts(step, sequences, rewards, advantages, logprobs[positions, sequences])
        (folder / "rollouts" / f"step_{step:06}.jsonl").write_text(json.dumps(record) + "\n")

    last = evaluate(random, logits, task, *evaluation)
    append("evals", {"step": config["max_steps"], **last})
    np.savez(folder / "policy.npz", logits=logits)
    print(json.dumps({
        "mean_reward": float(np.mean(mean_rewards[-10:])),
        "final_success_rate": last["sampled_accuracy"],
        "random_baseline": first["sampled_accuracy"],
        "lift": last["sampled_accuracy"] - first["sampled_accuracy"],
    }))


if __name__ == "__main__":
    main(yaml.safe_load(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
