# The reward: up to 1 for a right answer, less for a reply that hides it among other words.
import re


def score(completions, answer, log_metric, **kwargs):
    """One score a completion. 1 counts as correct; every column of the data is an argument, an entry a completion."""
    texts = [text_of(completion) for completion in completions]
    log_metric("digits_only", sum(text.isdigit() for text in texts) / len(texts))
    return [one(text, gold) for text, gold in zip(texts, answer)]


def one(text, gold):
    numbers = re.findall(r"-?\d+", text)
    if not numbers:
        return 0
    # One number only, so that listing several is no strategy.
    if len(numbers) > 1 or int(numbers[0]) != int(gold):
        return 0.1
    return 1 if text == numbers[0] else 0.8


def text_of(completion):
    """Completions are messages where there is a chat template, and texts otherwise."""
    text = completion if isinstance(completion, str) else completion[-1]["content"]
    return text.strip()
