# Runs verl's own code on a hand-off, without its cluster. ../verl-setup.sh makes the environment.
#
# usage: python ask_verl.py      stdin: {"configs": {name: [override, …]}, "prompts": {name of a config: a tokenizer's folder},
#   "scores": {"config", "rows": [{"index", "completion_ids"}]}, "losses": [{"actor": overrides below actor_rollout_ref.actor, "correction":
#   {"level", "threshold"}, "batch": lists of logprobs, old, reference, sampler, entropies, mask and advantages, "on_policy"}],
#   "advantages": [{"estimator", "scaled", "rewards", "size"}], "rates": [{"type", "warmup", "steps", "least"}]}
# stdout, on its last line: {"configs": {name: what verl has checked, or {"error"}}, "prompts": {name: {"train", "eval": token ids of each row}},
#   "scores": [{…} or {"error"}], "losses": [{"loss", "gradient", "entropy_gradient"}], "advantages": […], "rates": [[…]]}
import asyncio
import importlib.abc
import importlib.machinery
import json
import sys
from copy import deepcopy
from unittest.mock import MagicMock

import numpy as np
import torch



class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Replaces every module of Ray: importing verl asks for its cluster, which nothing here uses."""

    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] == "ray" else None

    def create_module(self, spec):
        module = MagicMock(__path__=[], __spec__=spec)
        module.__name__ = spec.name
        return module

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Absent())
from hydra import compose, initialize_config_module  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402
from tensordict import NonTensorData, TensorDict  # noqa: E402
from verl import DataProto  # noqa: E402
from verl.trainer.ppo import core_algos  # noqa: E402
from verl.trainer.ppo.reward import get_custom_reward_fn, load_reward_manager  # noqa: E402
from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_weights  # noqa: E402
from verl.trainer.ppo.utils import create_rl_dataset, need_critic, need_reference_policy  # noqa: E402
from verl.utils import hf_tokenizer  # noqa: E402
from verl.utils.config import omega_conf_to_dataclass, validate_config  # noqa: E402
from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder  # noqa: E402
from verl.utils.torch_functional import get_constant_schedule_with_warmup, get_cosine_schedule_with_warmup  # noqa: E402
from verl.workers.utils import losses  # noqa: E402


def composed(overrides):
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose("ppo_trainer", overrides)


def checked(config):
    """The sections as verl's own classes, after its own checks."""
    validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    sections = {"algorithm": config.algorithm, "actor": config.actor_rollout_ref.actor, "rollout": config.actor_rollout_ref.rollout}
    return {name: type(omega_conf_to_dataclass(section)).__name__ for name, section in sections.items()}


def config_or_error(overrides):
    try:
        config = composed(overrides)
        return config, checked(config)
    except Exception as error:
        return None, {"error": f"{type(error).__name__}: {error}"}


def tokenizer_of(config, folder):
    """As verl's HFModelConfig opens it."""
    tokenizer = hf_tokenizer(folder)
    if config.actor_rollout_ref.model.custom_chat_template is not None:
        tokenizer.chat_template = config.actor_rollout_ref.model.custom_chat_template
    return tokenizer


def prompt_ids(config, folder):
    """The ids of each row of both files, by verl's data set and agent loop."""
    tokenizer = tokenizer_of(config, folder)
    builder = create_continuous_token_builder(tokenizer=tokenizer, chat_template_kwargs=config.data.apply_chat_template_kwargs)
    ids = {}
    for split, files in {"train": config.data.train_files, "eval": config.data.val_files}.items():
        rows = create_rl_dataset(files, config.data, tokenizer, None, is_train=split == "train")
        ids[split] = [list(map(int, builder.build_initial_tokens(list(row["raw_prompt"])))) for row in rows]
    return ids


async def score(config, rows):
    """Scores each completion with verl's own loaders of reward managers and reward functions."""
    tokenizer = tokenizer_of(config, config.actor_rollout_ref.model.path)
    data = create_rl_dataset(config.data.train_files, config.data, tokenizer, None)
    assert callable(get_custom_reward_fn(config))
    manager = load_reward_manager(config, tokenizer)
    length = max(len(row["completion_ids"]) for row in rows)

    async def one(index, completion_ids):
        item = data[index]
        columns = {name: np.array([item[name]], dtype=object) for name in ("data_source", "reward_model", "extra_info")}
        present = torch.tensor([[1] * len(completion_ids) + [0] * (length - len(completion_ids))])
        responses = torch.tensor([completion_ids + [0] * (length - len(completion_ids))])
        try:
            batch = {"responses": responses, "attention_mask": torch.cat([torch.ones(1, 3, dtype=torch.int64), present], 1)}
            scored = await manager.run_single(DataProto.from_dict(tensors=batch, non_tensors=columns))
            return {"score": scored["reward_score"], **{name: None if value != value else value for name, value in scored["reward_extra_info"].items()}}
        except Exception as error:
            return {"error": str(error)}

    return await asyncio.gather(*[one(**row) for row in rows])


def padded(rows, filler=0.0):
    width = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (width - len(row))] for row in rows], dtype=torch.float64)


def loss(config, actor, correction, batch, on_policy):
    """verl's ppo_loss of padded log-probabilities."""
    section = deepcopy(config.actor_rollout_ref.actor)
    for key, value in actor.items():
        OmegaConf.update(section, key, value)
    settings = omega_conf_to_dataclass(section)
    mask = padded(batch["mask"])
    logprobs, entropy = padded(batch["logprobs"]).requires_grad_(), padded(batch["entropies"]).requires_grad_()
    old = logprobs.detach() if on_policy else padded(batch["old"])
    data = {
        "response_mask": mask,
        "old_log_probs": old,
        "ref_log_prob": padded(batch["reference"]),
        "advantages": torch.tensor(batch["advantages"], dtype=torch.float64).unsqueeze(1).expand_as(mask).contiguous(),
    }
    if correction["level"] is not None:
        data["rollout_is_weights"], _ = compute_rollout_correction_weights(
            old - padded(batch["sampler"]), mask, correction["level"], correction["threshold"]
        )
    sizes = {"dp_size": 1, "batch_num_tokens": int(mask.sum()), "global_batch_size": len(mask)}
    losses.no_padding_2_padding = lambda tensor, _: tensor
    value, _ = losses.ppo_loss(
        settings,
        {"log_probs": logprobs, "entropy": entropy},
        TensorDict({**data, **{name: NonTensorData(size) for name, size in sizes.items()}}, batch_size=len(mask)),
    )
    gradient, entropy_gradient = torch.autograd.grad(value, [logprobs, entropy], allow_unused=True)
    present = [len(row) for row in batch["logprobs"]]
    rows = lambda tensor: [row[:size] for row, size in zip(tensor.tolist(), present)]  # noqa: E731
    return {"loss": value.item(), "gradient": rows(gradient), "entropy_gradient": rows(entropy_gradient)}


def advantages(estimator, scaled, rewards, size):
    scores = torch.tensor(rewards, dtype=torch.float64).unsqueeze(1)
    compute = core_algos.get_adv_estimator_fn(estimator)
    index = [i // size for i in range(len(rewards))]
    extra = {"norm_adv_by_std_in_grpo": scaled} if estimator == "grpo" else {}
    values, _ = compute(scores.clone(), torch.ones_like(scores), index, **extra)
    return values.squeeze(1).tolist()


def rates(type, warmup, steps, least):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = (
        get_constant_schedule_with_warmup(optimizer, warmup)
        if type == "constant"
        else get_cosine_schedule_with_warmup(optimizer, warmup, steps, min_lr_ratio=least)
    )
    of_step = []
    for _ in range(steps):
        of_step.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return of_step


asked = json.load(sys.stdin)
opened = {name: config_or_error(overrides) for name, overrides in asked.get("configs", {}).items()}
configs = {name: config for name, (config, _) in opened.items()}
answer = {"configs": {name: told for name, (_, told) in opened.items()}}
answer["prompts"] = {name: prompt_ids(configs[name], folder) for name, folder in asked.get("prompts", {}).items()}
if "scores" in asked:
    answer["scores"] = asyncio.run(score(configs[asked["scores"]["config"]], asked["scores"]["rows"]))
if "losses" in asked:
    plain = composed(["actor_rollout_ref.rollout.name=vllm", "actor_rollout_ref.actor.use_dynamic_bsz=true"])
    answer["losses"] = [loss(plain, **each) for each in asked["losses"]]
answer["advantages"] = [advantages(**each) for each in asked.get("advantages", [])]
answer["rates"] = [rates(**each) for each in asked.get("rates", [])]
print(f"\n{json.dumps(answer)}")
