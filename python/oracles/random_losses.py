# Random batches and settings for every loss, with the results of TRL's own trainer, in the form of conformance/vectors.
#
# usage: python random_losses.py SEED COUNT
# stdout: {batches, losses}, as fixtures/losses.py describes both; batches also have scale_rewards and num_generations, the size of their groups
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fixtures"))
import losses

rng = random.Random(int(sys.argv[1]))


def some(chance, **settings):
    """Each setting with one of its values, or left out."""
    return {name: rng.choice(values) for name, values in settings.items() if rng.random() < chance}


def batch():
    lengths = [rng.choice([1, 1, 2, 3, 5, 9]) for _ in range(losses.GROUP * rng.choice([1, 2, 3]))]
    old = [[round(-0.05 - rng.expovariate(1), 3) for _ in range(length)] for length in lengths]
    made = dict(
        rewards=[rng.choice([None, 0.0, 1.0, 1.0, rng.gauss(0, 1)]) for _ in lengths],
        max_completion_length=12,
        scale_rewards=rng.choice(["group", "batch", "none"]),
        num_generations=rng.choice([2, 4]),
        logprobs=losses.near(old, rng.choice([0.05, 0.4]), rng),
        old=old,
        reference=losses.near(old, 0.3, rng),
        sampler=losses.near(old, 0.15, rng),
        entropies=[[round(rng.expovariate(1.5), 3) for _ in row] for row in old],
    )
    # Gradus ignores a row without a token to learn, while TRL counts it.
    masks = [[1] + [rng.choice([0, 1, 1]) for _ in row[1:]] for row in old]
    return made | some(0.5, mask=[masks]) | some(0.2, truncated=[[i % 3 == 1 for i in range(len(old))]])


def settings(loss_type):
    chosen = some(0.5, beta=[0.001, 0.04, 1.0])
    if chosen:
        chosen |= some(0.5, use_bias_correction_kl=[False])
    chosen |= some(0.3, off_policy_mask_threshold=[0.01, 0.1], top_entropy_quantile=[0.1, 0.2, 0.5, 0.7, 0.8], entropy_coef=[0.01, -0.1])
    if loss_type in losses.CLIPPED:
        chosen |= some(0.5, epsilon=[1e-3, 0.1, 0.5], epsilon_high=[0.28, 1.0], delta=[2.5])
    if loss_type == "cispo":
        chosen |= {"epsilon_high": rng.choice([0.5, 1.2, 5.0])}
    if loss_type == "sapo":
        chosen |= some(0.5, sapo_temperature_pos=[0.1, 3.0], sapo_temperature_neg=[0.5, 5.0])
    if loss_type == "vespo":
        chosen |= some(0.5, vespo_k_pos=[0.0, 1.0], vespo_lambda_pos=[0.1, 1.5], vespo_k_neg=[0.5], vespo_lambda_neg=[0.5, 4.0])
    if loss_type == "luspo" or loss_type != "vespo" and rng.random() < 0.4:
        chosen |= {"importance_sampling_level": "sequence"}
    modes = [mode for mode in losses.MODES if loss_type != "vespo" or mode.startswith("token")]
    return chosen | some(0.5, sampling_correction=[losses.correction(mode)["sampling_correction"] for mode in modes])


def vector(trainer, name, made):
    loss_type, on_policy = rng.choice(losses.LOSS_TYPES), rng.random() < 0.2
    chosen = {"loss_type": loss_type, **settings(loss_type)}
    losses.configure(trainer)
    trainer.scale_rewards, trainer.num_generations = made["scale_rewards"], made["num_generations"]
    made["advantages"] = losses.numbers(losses.scored(trainer, made)["advantages"])
    losses.take_metrics(trainer)
    what = dict(loss_type=loss_type, variant=name, condition="random", batch=name, on_policy=on_policy, settings=chosen)
    return what | losses.judged(trainer, made, on_policy, chosen)


trainer = losses.open_trainer()
batches = {str(i): batch() for i in range(int(sys.argv[2]))}
print(json.dumps({"batches": batches, "losses": [vector(trainer, name, made) for name, made in batches.items()]}))
