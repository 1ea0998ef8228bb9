"""Scores completions for verl as Gradus does: it asks one `gradus rewards serve`, which this process keeps alive.

The environment variable GRADUS names the command, `gradus` if it is not set. A completion that a reward failed on raises, and so does one to which
no reward applies: verl logs it and trains on the other completions of its group, so that nothing that was not measured counts as 0.
"""

import atexit
import json
import os
import shlex
import shutil
import subprocess
import threading
from concurrent.futures import Future
from itertools import count
from pathlib import Path

CONFIG = Path(__file__).resolve().with_name("gradus.json")


class RewardFailed(Exception):
    """No score, for a reason that the message tells."""


class Rewards:
    """A running `gradus rewards serve`: JSON lines over its stdin and stdout, many questions at once."""

    def __init__(self):
        command = shlex.split(os.environ.get("GRADUS", "gradus"))
        if shutil.which(command[0]) is None:
            raise RewardFailed(f"there is no {command[0]}: install Gradus on every node, or set GRADUS to its command")
        self.waiting: dict[int, Future] = {}
        self.ids = count(1)
        self.lock = threading.Lock()
        self.ended = None
        command += ["rewards", "serve", str(CONFIG), "--json"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        threading.Thread(target=self.read, daemon=True).start()

    def ask(self, question: dict) -> dict:
        answer: Future = Future()
        with self.lock:
            if self.ended:
                raise RewardFailed(self.ended)
            id = next(self.ids)
            self.waiting[id] = answer
            try:
                self.process.stdin.write(json.dumps({**question, "id": id}) + "\n")
                self.process.stdin.flush()
            except OSError:
                pass  # it has ended: whoever reads its output tells all that wait
        return answer.result()

    def read(self):
        last = "it said nothing"
        try:
            for line in self.process.stdout:
                told = json.loads(line)
                if "id" in told:
                    self.waiting.pop(told["id"]).set_result(told)
                elif "error" in told:
                    last = told["error"]["message"]
        finally:
            self.process.kill()
            with self.lock:
                self.ended = f"gradus rewards serve ended with code {self.process.wait()}: {last}"
                for answer in self.waiting.values():
                    answer.set_exception(RewardFailed(self.ended))
                self.waiting.clear()


_rewards = None
_starting = threading.Lock()


def rewards() -> Rewards:
    """Started by the first question of each process; started anew if it has ended."""
    global _rewards
    with _starting:
        if _rewards is None or _rewards.ended:
            _rewards = Rewards()
            atexit.register(_rewards.process.terminate)
        return _rewards


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **_):
    """verl's signature. Returns the score, each reward by its name (NaN where it does not apply), and `acc`: whether the first is at least 1."""
    extra = extra_info or {}
    if "row" not in extra or "completion_ids" not in extra:
        raise RewardFailed("extra_info lacks row or completion_ids: use the data and the reward_manager.py of this folder")
    ids = [int(id) for id in extra["completion_ids"]]
    answer = rewards().ask({"row": json.loads(extra["row"]), "completion": solution_str, "completion_ids": ids})
    if answer["score"] is None:
        faults = [f"{name}: {message}" for name, message in answer.get("errors", {}).items()]
        raise RewardFailed("; ".join(faults) or "no reward applies")
    parts = {f"rewards/{name}": _number(value) for name, value in answer["rewards"].items()}
    return {"score": float(answer["score"]), "acc": _number(answer["correct"]), **parts}


def _number(value):
    return float("nan") if value is None else float(value)
