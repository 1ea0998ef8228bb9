# The environment: find a number by calling a tool that says whether it is higher or lower.
import random


def call(number):
    """A turn of the model that calls the tool, as OpenAI writes it."""
    return {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "guess", "arguments": {"number": number}}}]}


def asked(low, high):
    return {"role": "user", "content": f"Find the number from {low} to {high}."}


# Shows small models what a call looks like; larger ones need no example.
EXAMPLE = [
    asked(3, 7),
    call(5),
    {"role": "tool", "content": "Lower."},
    call(4),
    {"role": "tool", "content": "Right."},
    {"role": "assistant", "content": "It is 4."},
]


class GuessNumber:
    """A new number each episode. Public methods with types and docstrings are what the model may call."""

    def __init__(self, widest=8):
        """What environment_config says: the most by which the bounds differ."""
        self.widest = widest

    def build_dataset(self, tokenizer):
        """The problems: what begins an episode, and whatever else `reset` needs."""
        draw = random.Random(0)
        # Each prompt once, so that those held out are new to the model.
        bounds = [(low, low + width) for low in range(1, 21) for width in range(2, self.widest + 1)]
        return [
            {"prompt": [*EXAMPLE, asked(low, high)], "low": low, "high": high, "secret": draw.randint(low, high)}
            for low, high in bounds
        ]

    def reset(self, secret, **row):
        """Begins an episode. A text that is returned would be added to the prompt."""
        self.secret, self.guesses, self.found = secret, 0, False

    def guess(self, number: int) -> str:
        """Guesses the number, and tells whether it is higher or lower.

        Args:
            number: The guess
        """
        self.guesses += 1
        self.found = number == self.secret
        if self.found:
            return "Right."
        return "Higher." if number < self.secret else "Lower."

    def get_reward(self):
        """At the end of an episode; 1 counts as correct. A guess at all is worth a little, so that episodes that fail differ, too."""
        return 1.0 if self.found else min(self.guesses, 4) * 0.05

    def gold(self, secret, **row):
        """The turns of who knows: `gradus env check` plays them."""
        return [call(secret), "Found it."]
