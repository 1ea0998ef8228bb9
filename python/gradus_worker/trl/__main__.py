# Answers calls of src/backends/trl/trl-model.ts: opens a model, samples from it, trains it step by step, saves and loads it.
import os
import sys

from ..channel import Channel

is_first = os.environ.get("RANK", "0") == "0"
channel = Channel() if is_first else None
if not is_first:
    os.dup2(2, 1)  # the standard output of all processes is the first one's channel
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # models are folders by now
try:
    import accelerate
    import peft
    import torch
    import transformers
    import trl

    from . import ranks
    from .engine import Engine
except ImportError as error:
    if is_first:
        channel.fatal(error)
    sys.exit(1)

OPEN = {
    "model": str,
    "name": str,
    "grpo": dict,
    "lora": (dict, None),
    "quantization": (dict, None),
    "adapter": (str, None),
    "trainable": ([str], None),
    "kl_estimator": str,
}
SAMPLE = {
    "requests": [{"prompt_ids": [int], "seed": int, "max_tokens": int, "top_logprobs": int}],
    "temperature": float,
    "top_k": int,
    "top_p": float,
    "min_p": float,
    "repetition_penalty": float,
    "stop_ids": [int],
    "stop_texts": [str],
}
SEQUENCES = [{"prompt_ids": [int], "completion_ids": [int]}]
TEXT_LOGPROBS = {"texts": [[int]], "top_logprobs": int}
LOGPROBS = {"sequences": SEQUENCES, "weights": str}
ROW = {"prompt_ids": [int], "completion_ids": [int], "mask": [int], "logprobs": [float], "old_logprobs?": [float], "advantage": float}
UPDATE = {"rows": ([ROW], None), "tokens_per_update": (float, None), "learning_rate": float, "supervised": bool}
FOLDER = {"directory": str}

engine = Engine()
HANDLERS = {
    "open": (OPEN, lambda params, call: engine.open(**params)),
    "sample": (SAMPLE, lambda params, call: engine.sample(params, call)),
    "text_logprobs": (TEXT_LOGPROBS, lambda params, call: engine.text_logprobs(call=call, **params)),
    "logprobs": (LOGPROBS, lambda params, call: engine.logprobs(**params)),
    "update": (UPDATE, lambda params, call: engine.update(**params)),
    "save": (FOLDER, lambda params, call: engine.save(**params)),
    "load": ({**FOLDER, "weights_only": bool}, lambda params, call: engine.load(**params)),
}
ranks.join()
if not is_first:
    ranks.follow(HANDLERS)
channel.hello("trl", {module.__name__: module.__version__ for module in (torch, transformers, peft, trl, accelerate)})
channel.serve(ranks.handing_on(HANDLERS))
