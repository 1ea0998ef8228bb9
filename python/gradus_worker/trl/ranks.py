# Several processes that train together. The first speaks with Gradus and hands each call on, so that all of them answer it; data-parallel ones
# share the work of sampling and scoring.
import datetime
import os
import sys

import torch
import torch.distributed as dist
from accelerate import PartialState

COUNT = int(os.environ.get("WORLD_SIZE", "1"))
RANK = int(os.environ.get("RANK", "0"))
PATIENCE = datetime.timedelta(days=30)  # rewards may take as long as they like between two calls

_calls = None  # a group of its own, on the CPU


def join():
    """Before anything else of torch's."""
    global _calls
    if COUNT > 1:
        PartialState(cpu=not torch.cuda.is_available())
        _calls = dist.new_group(backend="gloo", timeout=PATIENCE)


def handing_on(handlers):
    """Handlers of the first process that have all others do the same."""
    if COUNT == 1:
        return handlers
    return {name: (schema, _handing_on(name, handler)) for name, (schema, handler) in handlers.items()}


def _handing_on(name, handler):
    def handle(params, call):
        dist.broadcast_object_list([name, params], group=_calls)
        return handler(params, call)

    return handle


def follow(handlers):
    """The life of every process but the first."""
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
            print(f"process {RANK}: {error}", flush=True)  # the first process tells of its own


def shared(items, work, split=True):
    """The results of work on a list, of which each process does a part; all of it in each where models are split among processes."""
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
