# Several processes that train together. The first talks to Gradus and passes each call on, so that all answer it; data-parallel ones
# share the work of sampling and scoring.
import datetime
import os
import sys

import torch
import torch.distributed as dist
from accelerate import PartialState
from torch.distributed.tensor import DTensor

from ..channel import WorkerError

COUNT = int(os.environ.get("WORLD_SIZE", "1"))
RANK = int(os.environ.get("RANK", "0"))
PATIENCE = datetime.timedelta(days=30)  # rewards may take as long as they like between two calls

_calls = None  # the group through which calls and results go between processes, on the CPU


def join():
    """Joins this process with the others. Must be the first call of torch.distributed."""
    global _calls
    if COUNT > 1:
        PartialState(cpu=not torch.cuda.is_available())
        _calls = dist.new_group(backend="gloo", timeout=PATIENCE)


def assert_split(accelerator):
    """Raises CONFIG_CONFLICT if accelerate should split the model but silently gives each process a whole one, as on a CPU."""
    told = {"FSDP": "ACCELERATE_USE_FSDP", "DEEPSPEED": "ACCELERATE_USE_DEEPSPEED"}
    for name, variable in told.items():
        if os.environ.get(variable, "false").lower() == "true" and accelerator.distributed_type != name:
            hint = "use a machine with GPUs, or leave trl.accelerate_config out: the processes then share the work, each with the whole model"
            raise WorkerError("CONFIG_CONFLICT", f"trl.accelerate_config asks for {name}, and accelerate does not split models on this machine", hint)


def tell_share(model):
    """Writes into the log how much of the model this process holds."""
    parts = [parameter.to_local() if isinstance(parameter, DTensor) else getattr(parameter, "ds_tensor", parameter) for parameter in model.parameters()]
    whole = sum(getattr(parameter, "ds_numel", parameter.numel()) for parameter in model.parameters())
    # A single write, so that lines of other processes do not mix with it.
    os.write(2, f"process {RANK} holds {sum(part.numel() for part in parts)} of {whole} parameters\n".encode())


def handing_on(handlers):
    """Handlers for the first process that pass each call on to the others, so that they answer it too."""
    if COUNT == 1:
        return handlers
    return {name: (schema, _handing_on(name, handler)) for name, (schema, handler) in handlers.items()}


def _handing_on(name, handler):
    def handle(params, call):
        dist.broadcast_object_list([name, params], group=_calls)
        return handler(params, call)

    return handle


def follow(handlers):
    """Runs in every process but the first: answers the calls that the first passes on, until it ends."""
    while True:
        call = [None, None]
        try:
            dist.broadcast_object_list(call, group=_calls)
        except RuntimeError:
            sys.exit()  # the first process has ended
        name, params = call
        try:
            handlers[name][1](params, None)
        except Exception as error:
            # To the log: the first process reports its own error.
            print(f"process {RANK}: {error}", file=sys.stderr, flush=True)


def shared(items, work, split=True):
    """The results of work on a list. Each process does a part, or all of it if `split` is false, as for models split among processes."""
    if COUNT == 1 or not split:
        return work(items)
    size = -(-len(items) // COUNT)
    return gathered(work(items[RANK * size : (RANK + 1) * size]))


def gathered(part):
    """The lists of all processes, one after the other."""
    if COUNT == 1:
        return part
    parts = [None] * COUNT
    dist.all_gather_object(parts, part, group=_calls)
    return [item for part in parts for item in part]


def wait():
    if COUNT > 1:
        dist.barrier(group=_calls)
