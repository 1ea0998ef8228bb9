# Whole trainings of random small models by TRL's own trainer, on given completions and rewards, under random settings.
#
# usage: whole_trainings.py SEED COUNT OUT
# Each folder of OUT, `<number>`, has model/, of adapters adapter/ as they began, final/ as training left it, and training.json:
#   {config: keys of ours, weights: of rewards r0, r1, …, steps: [[{prompt, completions: [{ids, mask, logprobs: the sampler's, truncated,
#   rewards: one for each function}]}]], logs: [what TRL logged of each update], accumulated: whether its updates add up the gradients of
#   several passes, over which it averages metrics of tokens however many each has}
import contextlib
import json
import os
import random
import sys
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fixtures"))
import losses
import numpy as np
import tiny_models
import torch
from datasets import Dataset
from peft import LoraConfig
from random_configs import FAMILIES, HYBRIDS, LATER, random_config
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer
from trl.trainer import grpo_trainer, utils

START, END, TEXT = 1, 2, 3
words = Tokenizer(WordLevel({"<pad>": 0, "<s>": START, "</s>": END, "a": TEXT}, unk_token="a"))
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", bos_token="<s>", eos_token="</s>")


def some(rng, chance, **settings):
    """Each setting with one of its values, or left out."""
    return {name: rng.choice(values) for name, values in settings.items() if rng.random() < chance}


# Left out: top_entropy_quantile, because tokens of equal entropy are selected differently.
def loss_settings(rng):
    loss_type = rng.choice(losses.LOSS_TYPES)
    chosen = {"loss_type": loss_type} | some(rng, 0.5, beta=[0.04, 0.5, 1.0])
    if "beta" in chosen:
        chosen |= some(rng, 0.3, use_bias_correction_kl=[False])
    chosen |= some(rng, 0.3, off_policy_mask_threshold=[1e-4, 0.01], entropy_coef=[0.05, -0.1])
    if rng.random() < 0.25:
        chosen |= {"use_adaptive_entropy": True, "entropy_target": rng.choice([2.0, 3.0, 4.0]), "entropy_coef_delta": 0.02}
    if loss_type in losses.CLIPPED:
        chosen |= some(rng, 0.5, epsilon=[1e-3, 0.1, 0.5], epsilon_high=[0.28, 1.0], delta=[2.5])
    if loss_type == "cispo":
        chosen["epsilon_high"] = rng.choice([1.001, 1.2, 5.0])
    if loss_type == "sapo":
        chosen |= some(rng, 0.5, sapo_temperature_pos=[0.1, 3.0], sapo_temperature_neg=[0.5, 5.0])
    if loss_type == "vespo":
        chosen |= some(rng, 0.5, vespo_k_pos=[0.0, 1.0], vespo_lambda_pos=[0.1, 1.5], vespo_k_neg=[0.5], vespo_lambda_neg=[0.5, 4.0])
    if loss_type == "luspo" or loss_type != "vespo" and rng.random() < 0.4:
        chosen["importance_sampling_level"] = "sequence"
    return chosen


def settings(rng):
    chosen = loss_settings(rng) | some(rng, 0.5, temperature=[0.5, 1.3], scale_rewards=["batch", "none"])
    if rng.random() < 0.3:
        chosen = {name: value for name, value in chosen.items() if name != "scale_rewards"} | {"multi_objective_aggregation": "normalize_then_sum"}
    chosen |= some(rng, 0.5, weight_decay=[0.1, 0.5], adam_beta1=[0.5, 0.8], adam_beta2=[0.9, 0.99], max_grad_norm=[0.05, 0.3])
    # With a smaller epsilon, AdamW scales gradients that are rounding errors to full size.
    chosen |= {"adam_epsilon": rng.choice([1e-4, 1e-3, 1e-2]), "learning_rate": rng.choice([1e-4, 1e-3, 3e-3])}
    chosen["num_iterations"] = rng.choice([1, 1, 2, 3])
    # TRL's schedules count updates, ours count steps.
    if chosen["num_iterations"] == 1:
        chosen |= some(rng, 0.6, lr_scheduler_type=["linear", "cosine", "cosine_with_min_lr"], warmup_ratio=[0.3, 0.5])
    if chosen.get("lr_scheduler_type") == "cosine_with_min_lr":
        chosen["lr_scheduler_kwargs"] = rng.choice([{"min_lr_rate": 0.1}, {"min_lr": 5e-5}])
    return chosen


LLAMA_TARGETS = ["all-linear", ["q_proj", "v_proj"], r".*layers\.0\..*(up|o)_proj", ["q_proj", "0.mlp.down_proj"], r"model\.layers\.\d+\.mlp\.\w+_proj"]
TARGETS = {"lfm2": ["all-linear", ["in_proj", "out_proj"], r".*layers\.\d+\.conv\..*_proj", ["q_proj", "0.feed_forward.w2"]]}
TARGETS["phi3"] = ["all-linear", ["qkv_proj", "o_proj"], r".*layers\.0\..*(gate_up|o)_proj", ["qkv_proj", "0.mlp.down_proj"]]
TARGETS["granitemoehybrid"] = ["all-linear", ["q_proj", "input_linear"], r".*layers\.\d+\.shared_mlp\..*_linear", ["q_proj", "0.shared_mlp.output_linear"]]
TARGETS["qwen3_5_text"] = ["all-linear", ["in_proj_qkv", "out_proj"], r".*layers\.\d+\.linear_attn\.(in|out)_.*", ["q_proj", "in_proj_a", "0.mlp.down_proj"]]


def adapters(rng, config):
    """Settings of LoraConfig, or None if the whole model is trained."""
    if rng.random() < 0.35:
        return None
    targets = TARGETS.get(config.model_type, LLAMA_TARGETS)
    chosen = {"r": rng.choice([1, 2, 4]), "lora_alpha": rng.choice([3, 4, 8]), "target_modules": rng.choice(targets)}
    chosen |= some(rng, 0.4, use_rslora=[True], rank_pattern=[{"v_proj": 3}, {"0.mlp.up_proj": 2}, {"q_proj|o_proj": 3}])
    chosen |= some(rng, 0.4, alpha_pattern=[{"o_proj": 7}, {".*q_proj": 9}, {"layers.[01].*": 3}])
    last = "embedding_norm" if config.model_type == "lfm2" else "norm"
    saved = [["embed_tokens"], [last], ["embed_tokens", last], *([] if config.tie_word_embeddings else [["lm_head"]])]
    chosen |= some(rng, 0.35, modules_to_save=saved)
    # Tied embeddings stay tied, as in our runs.
    return chosen | {"ensure_weight_tying": config.tie_word_embeddings and "modules_to_save" in chosen}


def correction(rng, loss_type):
    """How the loss corrects for the sampler, or None."""
    if rng.random() < 0.6:
        return None
    mode = rng.choice([mode for mode in losses.MODES if loss_type != "vespo" or mode.startswith("token")])
    return {"mode": mode, "clip_max": rng.choice([1.1, 3.0]), "clip_min": rng.choice([None, 0.8])}


def masks_truncated(rng, chosen, corrects):
    """Whether completions that were cut off are masked: where TRL counts tokens, and not sequences, of which masked ones are absent here."""
    counts_tokens = chosen["loss_type"] in ["bnpo", "dapo", "cispo"] and chosen.get("importance_sampling_level") != "sequence"
    return counts_tokens and not (corrects and corrects["mode"].startswith("sequence")) and rng.random() < 0.6


def passes(rng, chosen, rows):
    """The number of passes of an update: several where TRL's loss does not depend on how rows are divided among them."""
    divides = chosen["loss_type"] == "bnpo" or "entropy_coef" in chosen or "use_adaptive_entropy" in chosen
    return 1 if divides else rng.choice([1, *(count for count in [2, 3] if rows % count == 0)])


def updates_of_batch(seed, number, chosen, groups):
    """In how many updates TRL learns from a generation batch once: one, or one for each group."""
    # TRL's schedules count updates, ours count steps.
    has_schedule = "lr_scheduler_type" in chosen or "warmup_ratio" in chosen
    return 1 if has_schedule else random.Random(f"parts {seed} {number}").choice([1, groups])


def reference_settings(seed, number, chosen, lora):
    """How the reference follows the policy, which TRL's does only without adapters."""
    rng = random.Random(f"reference {seed} {number}")
    if lora or "beta" not in chosen or rng.random() < 0.3:
        return {}
    return {"sync_ref_model": True, "ref_model_mixup_alpha": rng.choice([0.3, 0.6, 1.0]), "ref_model_sync_steps": rng.choice([1, 2])}


def logprobs(model, prompt, ids, temperature):
    with torch.no_grad():
        scores = (model(torch.tensor([prompt + ids])).logits[0] / temperature).log_softmax(-1)
    return [scores[len(prompt) - 1 + i, token].item() for i, token in enumerate(ids)]


def completion(rng, length, vocabulary, has_tools):
    text = lambda count: [rng.randrange(TEXT, vocabulary) for _ in range(count)]
    truncated = rng.random() < 0.25
    ids = text(length if truncated else rng.choice([1, 2, 3, length - 1]))
    mask = [1] * len(ids)
    if has_tools and rng.random() < 0.7:
        answer, turn = text(rng.choice([1, 2])), text(rng.choice([1, 3]))
        ids, mask = ids + answer + turn, mask + [0] * len(answer) + [1] * len(turn)
    return {"ids": ids if truncated else [*ids[:-1], END], "mask": mask, "truncated": truncated}


def group(rng, model, sizes, temperature, has_equal_rewards):
    prompt = [START] + [rng.randrange(TEXT, sizes.vocabulary) for _ in range(rng.choice([1, 3, 6]))]
    completions = [completion(rng, sizes.length, sizes.vocabulary, sizes.has_tools) for _ in range(sizes.group)]
    while all(made["truncated"] for made in completions):  # where all are masked, AdamW moves in TRL, while nothing is updated here
        completions = [completion(rng, sizes.length, sizes.vocabulary, sizes.has_tools) for _ in range(sizes.group)]
    for made in completions:
        made["logprobs"] = [min(value + rng.gauss(0, 0.15), -1e-3) for value in logprobs(model, prompt, made["ids"], temperature)]
        known = [0.0, 1.0, 0.5, -0.25, rng.gauss(0, 1)]
        # In groups with equal rewards, TRL's advantages of several objectives are rounding errors, which clip_ratio counts by their sign.
        made["rewards"] = [1.0 if has_equal_rewards else rng.choice([None, *known] if sizes.may_lack else known[-1:]) for _ in range(sizes.rewards)]
    return {"prompt": prompt, "completions": completions}


class Given:
    """Returns the completions and rewards of each step."""

    def __init__(self, steps, has_tools):
        self.steps, self.has_tools, self.step = steps, has_tools, -1

    def rows(self):
        return [(group["prompt"], made) for group in self.steps[self.step] for made in group["completions"]]

    def rollout(self, prompts, trainer):
        self.step += 1
        columns = {"completion_ids": "ids", "logprobs": "logprobs", **({"env_mask": "mask"} if self.has_tools else {})}
        return {"prompt_ids": [prompt for prompt, _ in self.rows()]} | {name: [made[key] for _, made in self.rows()] for name, key in columns.items()}

    def reward(self, index):
        given = lambda completions, **_: [made["rewards"][index] for _, made in self.rows()]
        given.__name__ = f"r{index}"
        return given


def correct_as_for_vllm(trainer, correction):
    trainer.use_vllm = trainer.vllm_importance_sampling_correction = True
    for name, value in correction.items():
        setattr(trainer, f"vllm_importance_sampling_{name}", value)
    trainer.vllm_generation = SimpleNamespace(sync_weights=lambda: None)
    trainer._last_loaded_step = -1


def lengthen(config):
    """Keeps texts within the original context, beyond which these families compute differently."""
    config.max_position_embeddings = 64
    for settings in [config.rope_parameters, vars(config)]:
        if "original_max_position_embeddings" in settings:
            settings["original_max_position_embeddings"] = 32


def train(folder, seed, number):
    rng = random.Random(f"{seed} {number}")
    torch.manual_seed(rng.randrange(2**31))
    # Every sixth is a hybrid of attention and other layers, and every sixth is of a family that was added later, in turn.
    family = rng.choice(HYBRIDS) if number % 6 == 5 else rng.choice([name for name in FAMILIES if name not in HYBRIDS])
    if number % 6 == 2:
        family = LATER[number // 6 % len(LATER)]
    config = random_config(family, np.random.default_rng(rng.randrange(2**31)), wide=False)
    if family in ["ministral3", "phi3"]:
        lengthen(config)
    if family == "lfm2":
        config.conv_bias = False  # with biases transformers lets the padding of a batch into LFM2's convolutions
    model = AutoModelForCausalLM.from_config(config).float().eval()
    tiny_models.randomise(model)
    model.to(rng.choice([torch.float32, torch.float32, torch.bfloat16, torch.float16])).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    model = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32).eval()

    chosen, lora = settings(rng), adapters(rng, config)
    if family == "gemma4_text" and not lora:
        # Full training would also change its embeddings of layers, which Gradus never trains.
        lora = {"r": 2, "lora_alpha": 4, "target_modules": "all-linear", "ensure_weight_tying": False}
    corrects = correction(rng, chosen["loss_type"])
    groups, group_size, count = rng.choice([1, 2, 3]), rng.choice([2, 3, 4]), rng.choice([2, 3])
    sizes = SimpleNamespace(vocabulary=config.vocab_size, length=rng.choice([6, 9]), group=group_size, rewards=rng.choice([1, 2]))
    sizes.has_tools, sizes.may_lack = rng.random() < 0.4, "multi_objective_aggregation" not in chosen
    weights = [1.0, rng.choice([0.5, -1.0, 2.0])][: sizes.rewards]
    chosen["mask_truncated_completions"] = masks_truncated(rng, chosen, corrects)
    chosen |= reference_settings(seed, number, chosen, lora)
    parts = updates_of_batch(seed, number, chosen, groups)
    accumulated = passes(rng, chosen, groups * group_size // parts)
    # Ours learns from whole groups, in their order.
    grpo_trainer.shuffle_sequence_dict = (lambda rows: rows) if parts > 1 else utils.shuffle_sequence_dict
    temperature = chosen.get("temperature", 1.0)
    steps = [
        [group(rng, model, sizes, temperature, sizes.may_lack and rng.random() < 0.15) for _ in range(groups)] for _ in range(count)
    ]
    given = Given(steps, sizes.has_tools)

    theirs = {name: value for name, value in chosen.items() if name != "warmup_ratio"}
    if "lr_scheduler_type" not in chosen:
        theirs["lr_scheduler_type"] = "constant_with_warmup"
    if family == "granitemoehybrid":
        theirs["router_aux_loss_coef"] = 0.0  # or TRL looks for experts
    args = GRPOConfig(
        output_dir=str(folder / "scratch"),
        **dict(use_cpu=True, bf16=False, gradient_checkpointing=False, report_to=[], save_strategy="no", disable_tqdm=True),
        **dict(per_device_train_batch_size=groups * group_size // parts // accumulated, gradient_accumulation_steps=accumulated),
        **dict(num_generations=group_size, max_completion_length=sizes.length, reward_weights=weights, logging_steps=1),
        steps_per_generation=parts * accumulated,
        max_steps=count * parts * chosen["num_iterations"],
        warmup_steps=chosen.get("warmup_ratio", 0),
        **theirs,
    )
    trainer = GRPOTrainer(
        model=str(folder / "model"),
        reward_funcs=[given.reward(i) for i in range(sizes.rewards)],
        args=args,
        train_dataset=Dataset.from_list([{"prompt": "a"}] * groups * count),
        processing_class=tokenizer,
        rollout_func=given.rollout,
        peft_config=LoraConfig(task_type="CAUSAL_LM", **lora) if lora else None,
    )
    if corrects:
        correct_as_for_vllm(trainer, corrects)
    if lora:
        trainer.model.save_pretrained(folder / "adapter")
    trainer.train()
    trainer.model.save_pretrained(folder / "final")

    ours = chosen | {"num_generations": group_size, "prompts_per_step": groups, "max_completion_length": sizes.length, "max_steps": count}
    ours["steps_per_generation"] = parts
    ours["importance_sampling_correction"] = bool(corrects)
    if corrects:
        ours |= {f"importance_sampling_{name}": value for name, value in corrects.items()}
    ours["lora"] = lora and {name.removeprefix("lora_"): value for name, value in lora.items() if name != "ensure_weight_tying"}
    logs = [logged for logged in trainer.state.log_history if "loss" in logged]
    content = {"config": ours, "weights": weights, "steps": steps, "logs": logs, "accumulated": accumulated > 1}
    (folder / "training.json").write_text(json.dumps(content))


torch.set_num_threads(1)
seed, count, out = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
with contextlib.redirect_stdout(sys.stderr):
    for number in range(count):
        train(out / str(number), seed, number)
