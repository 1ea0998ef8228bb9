# What the reward pays, and how the game goes. Run: python3 -m unittest
import json
import pathlib
import unittest

from env import GuessNumber
from rewards.reward import score

CASES = pathlib.Path(__file__).parent / "rewards" / "cases.jsonl"


class Reward(unittest.TestCase):
    def test_cases(self):
        for line in CASES.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            for completion in (case["completion"], [{"role": "assistant", "content": case["completion"]}]):
                scores = score([completion], [case["answer"]], log_metric=lambda name, value: None)
                self.assertEqual(scores, [case["expected"]], line)


class Game(unittest.TestCase):
    def played(self, *guesses):
        game = GuessNumber()
        game.reset(secret=6)
        return [game.guess(number) for number in guesses], game.get_reward()

    def test_says_which_way_to_go(self):
        self.assertEqual(self.played(3, 8, 6), (["Higher.", "Lower.", "Right."], 1.0))

    def test_found_is_better_than_not_and_guessing_better_than_nothing(self):
        self.assertTrue(0 == self.played()[1] < self.played(3)[1] < self.played(3, 7)[1] < self.played(6)[1])

    def test_problems(self):
        rows = GuessNumber().build_dataset(tokenizer=None)
        self.assertEqual(len({row["prompt"][-1]["content"] for row in rows}), len(rows))
        self.assertTrue(all(row["low"] <= row["secret"] <= row["high"] for row in rows))
