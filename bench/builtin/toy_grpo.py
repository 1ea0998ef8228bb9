# The loop of configs/toy-grpo.yaml in numpy, as one would write it by hand: GRPO on a table of logits that learns to write
# four digits with a given sum. Prints one JSON line, and leaves in the folder that it is given what a run of gradus leaves: for each
# step a line of metrics, of timings and of events and a file of rollouts, and at the end policy.npz.
import json
import sys
import time
from pathlib import Path

import numpy as np

DIGITS, VOCAB, TARGET, SCALE = 4, 10, 18, 4
GROUP, STEPS, LEARNING_RATE, BETA = 24, 300, 0.5, 0.02
EVALUATION = 512


def log_softmax(logits):
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def sample(random, probabilities, count):
    """Digits [count, DIGITS], each drawn by inverting its position's cumulative distribution."""
    points = random.random((count, DIGITS, 1))
    return np.minimum((points > probabilities.cumsum(axis=1)).sum(axis=2), VOCAB - 1)


def success_rate(random, logits):
    sequences = sample(random, np.exp(log_softmax(logits)), EVALUATION)
    return float(np.mean(sequences.sum(axis=1) == TARGET))


def write_rollouts(folder, step, sequences, rewards, advantages, logprobs):
    completions = [
        {
            "text": " ".join(map(str, sequence)),
            "reward": reward,
            "advantage": advantage,
            "token_ids": sequence,
            "logprobs": sequence_logprobs,
        }
        for sequence, reward, advantage, sequence_logprobs in zip(
            sequences.tolist(), rewards.tolist(), advantages.tolist(), logprobs.tolist()
        )
    ]
    with open(folder / "rollouts" / f"step_{step:06}.jsonl", "w") as file:
        file.write(json.dumps({"id": f"{step}.0", "completions": completions}) + "\n")


def main(folder, seed):
    random = np.random.default_rng(seed)
    logits = np.zeros((DIGITS, VOCAB))
    reference = log_softmax(logits)
    positions = np.arange(DIGITS)
    baseline = success_rate(random, logits)
    rewards = []
    (folder / "rollouts").mkdir(parents=True)
    files = {name: open(folder / f"{name}.jsonl", "w") for name in ("metrics", "timings", "events")}

    def append(name, line):
        files[name].write(json.dumps(line) + "\n")
        files[name].flush()

    for step in range(1, STEPS + 1):
        start = time.perf_counter()
        logprobs = log_softmax(logits)
        probabilities = np.exp(logprobs)
        sequences = sample(random, probabilities, GROUP)
        reward = np.exp(-np.abs(sequences.sum(axis=1) - TARGET) / SCALE)
        advantages = (reward - reward.mean()) / (reward.std(ddof=1) + 1e-4)

        gradient = -advantages.mean() * probabilities
        np.add.at(gradient, (positions, sequences), advantages[:, None] / GROUP)
        log_ratio = logprobs - reference
        divergence = (probabilities * log_ratio).sum(axis=1, keepdims=True)
        gradient -= BETA * probabilities * (log_ratio - divergence)
        logits += LEARNING_RATE * gradient

        rewards.append(reward.mean())
        line = {
            "step": step,
            "reward": float(reward.mean()),
            "reward_std": float(reward.std(ddof=1)),
            "kl": float(divergence.mean()),
            "entropy": float(-(probabilities * logprobs).sum(axis=1).mean()),
            "grad_norm": float(np.linalg.norm(gradient)),
        }
        timing = {"step": step, "step_time": time.perf_counter() - start}
        append("metrics", line)
        append("timings", timing)
        append("events", {"type": "step", "metrics": line, "timings": timing})
        write_rollouts(folder, step, sequences, reward, advantages, logprobs[positions, sequences])
    np.savez(folder / "policy.npz", logits=logits)
    final = success_rate(random, logits)
    print(json.dumps({
        "mean_reward": float(np.mean(rewards[-10:])),
        "final_success_rate": final,
        "random_baseline": baseline,
        "lift": final - baseline,
    }))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
