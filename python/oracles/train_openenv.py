"""TRL trains a tiny random model for two steps on an environment that is served: train_openenv.py URL OPENENV_PACKAGES MODEL. Prints the logged rewards as JSON.

The model folder gives the tokenizer; TRL gives the chat template, which must be one that it knows.
"""

import json
import os
import sys
import tempfile

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
url, packages, model = sys.argv[1:]
sys.path.append(packages)

from openenv import GenericEnvClient  # noqa: E402
from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM, set_seed  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402
from trl.chat_template_utils import qwen3_chat_template  # noqa: E402


class Sums:
    """Sums over OpenEnv. Whatever is not a tool goes to the reward function."""

    def __init__(self):
        self._env = GenericEnvClient(base_url=url).sync()
        self._env.connect()

    def reset(self, **row):
        result = self._env.reset()
        return result.observation["messages"][-1]["content"]

    def add(self, a: int, b: int) -> str:
        """
        Adds two numbers.

        Args:
            a: the first
            b: the second
        """
        result = self._env.step({"tool": "add", "arguments": {"a": a, "b": b}})
        return result.observation["messages"][-1]["content"]

    def _finish(self, text):
        result = self._env.step({"message": text})
        return result.reward if result.done else 0


def reward(environments, completions, **_):
    return [env._finish(turns[-1]["content"]) for env, turns in zip(environments, completions)]


tokenizer = AutoTokenizer.from_pretrained(model)
tokenizer.chat_template = qwen3_chat_template
set_seed(0)
size = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=16)
policy = Qwen3ForCausalLM(Qwen3Config(vocab_size=len(tokenizer), **size))
with tempfile.TemporaryDirectory() as folder:
    args = GRPOConfig(
        output_dir=folder, max_steps=2, per_device_train_batch_size=4, num_generations=4, max_completion_length=12, logging_steps=1,
        report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True, chat_template_kwargs={"enable_thinking": False},
    )  # fmt: skip
    trainer = GRPOTrainer(policy, reward, args=args, processing_class=tokenizer, environment_factory=Sums)
    trainer.train()
    print(json.dumps([line["reward"] for line in trainer.state.log_history if "reward" in line]))
