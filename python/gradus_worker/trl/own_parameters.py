# Trains and saves only some of a model's own parameters, in the files of src/backends/native/checkpoint.ts.
import os

import torch
from safetensors.torch import load_file, save_file

from ..channel import WorkerError
from .adapters import mismatch

FILE = "trained.safetensors"


def train_only(model, names):
    """Freezes all parameters but these."""
    parameters = dict(model.named_parameters())
    unknown = [name for name in names if name not in parameters]
    if unknown:
        raise WorkerError("PARAMETER_UNKNOWN", f"transformers has no parameter {unknown[0]} in this model", "name others in trainable")
    for name, parameter in parameters.items():
        parameter.requires_grad_(name in names)


def save(model, directory):
    os.makedirs(directory, exist_ok=True)
    save_file({name: weight.detach().contiguous() for name, weight in trained(model)}, os.path.join(directory, FILE), metadata={"format": "pt"})


@torch.no_grad()
def load(model, directory):
    """Raises CHECKPOINT_MISMATCH unless the file has all trained parameters, and nothing else."""
    stored = load_file(os.path.join(directory, FILE))
    for name, weight in trained(model):
        found = stored.pop(name, None)
        if found is None or found.shape != weight.shape:
            raise mismatch(f"{directory}: {name} " + ("is missing" if found is None else f"has shape {list(found.shape)}, not {list(weight.shape)}"))
        weight.copy_(found)
    if stored:
        raise mismatch(f"{directory} holds {len(stored)} tensors that have no place here, such as {next(iter(stored))}")


def trained(model):
    return [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
