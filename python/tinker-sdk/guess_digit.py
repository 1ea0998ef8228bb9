"""A game of several turns as an environment of verifiers, for tinker-cookbook's recipe `verifiers_rl`: guess a number from 1 to 9 in three turns, told "higher" or "lower"."""

import random
import re

import verifiers as vf
from datasets import Dataset

RULES = "I think of a number from 1 to 9. Guess it. Answer with one digit and nothing else. I then say higher or lower."


def guess_of(message):
    found = re.fullmatch(r"\s*([1-9])\s*", message["content"])
    return int(found.group(1)) if found else None


class GuessDigit(vf.MultiTurnEnv):
    async def env_response(self, messages, state, **_):
        guess, number = guess_of(messages[-1]), int(state["answer"])
        if guess == number:
            state["final_env_response"] = [{"role": "user", "content": "right"}]
            return state["final_env_response"]
        told = "one digit, please" if guess is None else "higher" if guess < number else "lower"
        return [{"role": "user", "content": told}]


def guesses(completion):
    return [guess_of(message) for message in completion if message["role"] == "assistant"]


def found(completion, answer, **_):
    return float(int(answer) in guesses(completion))


def digits(completion, **_):
    made = guesses(completion)
    return sum(guess is not None for guess in made) / len(made)


def load_environment(problems=2000, seed=0):
    numbers = random.Random(seed)
    rows = [{"question": RULES, "answer": str(numbers.randint(1, 9))} for _ in range(problems)]
    rubric = vf.Rubric(funcs=[found, digits], weights=[1.0, 0.2])
    return GuessDigit(dataset=Dataset.from_list(rows), rubric=rubric, max_turns=3)
