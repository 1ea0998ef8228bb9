# Adapters on disk: checks that one fits before PEFT loads it, because a wrong one loads in part or is scaled wrongly; and the copy of the adapter that
# training started from, which is the reference.
import json
import os

from peft import get_peft_model_state_dict
from safetensors import safe_open
from trl.trainer.utils import use_adapter

from ..channel import WorkerError

SCALES = ("r", "lora_alpha", "use_rslora", "rank_pattern", "alpha_pattern")


def assert_fits(directory, model):
    """Raises CHECKPOINT_MISMATCH unless the adapter has the model's ranks, scales and layers."""
    path = os.path.join(directory, "adapter_config.json")
    with open(path) as file:
        stored = json.load(file)
    own = vars(model.peft_config["default"])
    differing = [name for name in SCALES if (stored.get(name) or None) != (own[name] or None)]
    if differing:
        told, expected = (" and ".join(f"{name} {config.get(name)}" for name in differing) for config in (stored, own))
        raise mismatch(f"{path} has {told}, not {expected}")
    found = shapes(os.path.join(directory, "adapter_model.safetensors"))
    for name, weight in get_peft_model_state_dict(model).items():
        shape = found.pop(name, None)
        if shape != list(weight.shape):
            raise mismatch(f"{directory}: {name} " + (f"has shape {shape}, not {list(weight.shape)}" if shape else "is missing"))
    if found:
        raise mismatch(f"{directory} holds {len(found)} tensors that have no place here, such as {next(iter(found))}")


REFERENCE = "ref"  # the name by which TRL looks for it


def keep_reference(model):
    """Adds a frozen copy of the adapter, as TRL does for a model that comes with one."""
    model.add_adapter(REFERENCE, model.peft_config["default"])
    for name, parameter in list(model.named_parameters()):
        if ".default." in name:
            model.get_parameter(name.replace(".default.", f".{REFERENCE}.")).data.copy_(parameter.data)
    for name, parameter in model.named_parameters():
        if is_reference(name):
            parameter.requires_grad = False


def is_reference(parameter):
    return f".{REFERENCE}." in parameter


def as_at_the_start(model):
    """The model, for a while, with the adapter that training started from, or without one."""
    return use_adapter(model, adapter_name=REFERENCE if REFERENCE in model.peft_config else None)


def shapes(path):
    with safe_open(path, "pt") as file:
        return {name: file.get_slice(name).get_shape() for name in file.keys()}


def mismatch(message):
    return WorkerError("CHECKPOINT_MISMATCH", message, "the checkpoint belongs to another model or other lora settings")
