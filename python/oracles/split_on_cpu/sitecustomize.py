# Lets accelerate split models among processes on a CPU. It does so only on accelerators, although PyTorch's fully_shard works with gloo. What
# accelerate, TRL and the worker then run is what they run on GPUs. Python imports this file by itself if its folder is on PYTHONPATH.
import os

if "RANK" in os.environ:
    import accelerate.state as state

    original = state.AcceleratorState.__init__

    def init(self, *args, **kwargs):
        if not state.AcceleratorState._shared_state:
            state.PartialState(cpu=True)
            shared = state.PartialState._shared_state
            if shared["distributed_type"] == state.DistributedType.MULTI_CPU:
                shared["distributed_type"] = state.DistributedType.MULTI_GPU
        original(self, *args, **kwargs)

    state.AcceleratorState.__init__ = init
