"""verl's agent loop: Gradus plays the episodes, and verl's servers answer its requests with token ids and log-probabilities.

`run` returns one row for each branch of an episode, all with its score. An episode that failed, or that has no score, returns no row: verl then
trains on the other episodes of its group, while an error would fail the whole group.
"""

import json
import logging
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

from gradus_episodes import Completion, episodes
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput

logger = logging.getLogger(__name__)

REPORTS = "gradus"
"""The partition of verl's queue that reports each training episode, even without a row: gradus_sampler.py logs them."""

PLAYED = ("completed", "max_turns", "max_tokens", "max_tool_calls", "parse_error", "context_overflow")
"""The stop reasons of episodes that have a score."""


class Unanswered(Exception):
    """verl's server gave up a request."""


@dataclass
class Sampling:
    """Answers the requests of one episode, and counts what verl reports of it."""

    generate: Callable
    """That of verl's client."""
    request_id: str = field(default_factory=lambda: uuid4().hex)
    """Requests with the same id go to the same server, which still has the keys and values of their common tokens."""
    seconds: float = 0.0
    preempted: int = -1
    versions: list[int] = field(default_factory=list)
    """Of the weights that answered."""

    async def complete(self, request: dict) -> Completion:
        began = time.monotonic()
        params = {
            "temperature": request["temperature"],
            "top_p": request["top_p"],
            "top_k": request["top_k"] or -1,
            "repetition_penalty": 1.0,
            "logprobs": True,
            "max_tokens": request["max_tokens"],
            "stop_token_ids": request["stop_ids"],
        }
        if request["stop"]:
            params["stop"] = request["stop"]
        output = await self.generate(request_id=self.request_id, prompt_ids=request["prompt_ids"], sampling_params=params)
        self.seconds += time.monotonic() - began
        if output.num_preempted is not None:
            self.preempted = max(self.preempted, 0) + output.num_preempted
        versions = [output.extra_fields.get(name) for name in ("min_global_steps", "max_global_steps")]
        self.versions += [version for version in versions if version is not None]
        if output.stop_reason == "aborted":
            raise Unanswered("verl's server gave the request up")
        ids = list(output.token_ids)
        cut = len(ids) >= request["max_tokens"] and ids[-1] not in request["stop_ids"]
        return Completion(ids, list(output.log_probs), "length" if cut else "stop")


class GradusAgentLoop:
    """Named in agent_loop.yaml; verl makes one for each rollout."""

    def __init__(self, trainer_config, server_manager, **_):
        self.servers = server_manager

    async def run(self, sampling_params: dict, *, uid: str, session_id: int, global_steps: int, extra_info: dict, **_) -> list[AgentLoopOutput]:
        sampling = Sampling(self.servers.generate)
        seed = zlib.crc32(f"{global_steps}/{extra_info['index']}/{session_id}".encode())
        server = await episodes()
        chosen = {name: sampling_params[name] for name in ("temperature", "top_p", "top_k")}
        episode = await server.play(json.loads(extra_info["row"]), seed, sampling.complete, chosen)
        rows = rows_of(episode, sampling)
        if not rows:
            logger.warning("an episode ended as %s and is not trained on: %s", episode["stop_reason"], fault_of(episode))
        if extra_info["split"] == "train":
            await report(f"{uid}_{session_id}", episode, len(rows))
        return rows


def rows_of(episode: dict, sampling: Sampling) -> list[AgentLoopOutput]:
    """The branches with trained tokens; one row of a rollout without any, because its score counts in its group."""
    if episode["score"] is None:
        return []
    written = [sequence for sequence in episode["sequences"] if sequence["completion_ids"]]
    trained = [sequence for sequence in written if 1 in sequence["mask"]] or written[:1]
    extra = {
        "reward_extra_info": extra_info_of(episode),
        "min_global_steps": min(sampling.versions, default=None),
        "max_global_steps": max(sampling.versions, default=None),
    }
    return [
        AgentLoopOutput(
            prompt_ids=sequence["prompt_ids"],
            response_ids=sequence["completion_ids"],
            response_mask=sequence["mask"],
            response_logprobs=sequence["logprobs"],
            reward_score=episode["score"],
            num_turns=episode["turns"],
            metrics=AgentLoopMetrics(generate_sequences=sampling.seconds, num_preempted=sampling.preempted),
            extra_fields=dict(extra),
        )
        for sequence in trained
    ]


def extra_info_of(episode: dict) -> dict:
    """The values that verl averages in validations, which leave out None."""
    return {
        "acc": episode["correct"],
        **{f"rewards/{name}": value for name, value in episode["rewards"].items()},
        **{f"stop/{reason}": float(episode["stop_reason"] == reason) for reason in PLAYED},
        **episode["metrics"],
    }


def fault_of(episode: dict) -> str:
    faults = [f"{name}: {message}" for name, message in episode.get("reward_errors", {}).items()]
    return episode.get("error") or "; ".join(faults) or "no reward applies"


async def report(key: str, episode: dict, rows: int) -> None:
    import transfer_queue

    told = {name: value for name, value in episode.items() if name not in ("schema", "id", "sequences")}
    await transfer_queue.async_kv_put(key=key, partition_id=REPORTS, tag={**told, "rows": rows})
