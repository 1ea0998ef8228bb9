"""Plays episodes with Gradus: one `gradus episodes serve`, which this process keeps alive, asks for completions and reports each episode.

The environment variable GRADUS names the command, `gradus` if it is not set.
"""

import asyncio
import atexit
import json
import os
import shlex
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

CONFIG = Path(__file__).resolve().with_name("gradus.json")

# A line has the ids of a whole context.
LONGEST_LINE = 2**28


class EpisodesEnded(Exception):
    """`gradus episodes serve` could not be started, or has ended; the message says why."""


@dataclass
class Completion:
    ids: list[int]
    logprobs: list[float]
    """After temperature, one for each id."""
    finish_reason: str
    """stop, length or cancelled."""


Complete = Callable[[dict], Awaitable[Completion]]
"""Answers an episodes.request/1."""


class Episodes:
    """A running `gradus episodes serve`: JSON lines over its stdin and stdout, many episodes at once."""

    def __init__(self, config: Path = CONFIG):
        self.config = config
        self.process: asyncio.subprocess.Process | None = None
        self.ended: str | None = None
        self.ready: dict | None = None
        self.playing: dict[int, tuple[asyncio.Future, Complete]] = {}
        self.answering: set[asyncio.Task] = set()
        self.ids = count(1)

    async def start(self) -> dict:
        """Its first line: episodes.serve.result/1."""
        command = shlex.split(os.environ.get("GRADUS", "gradus"))
        if shutil.which(command[0]) is None:
            raise EpisodesEnded(f"there is no {command[0]}: install Gradus on every machine, or set GRADUS to its command")
        command += ["episodes", "serve", str(self.config), "--json"]
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=LONGEST_LINE)
        atexit.register(self.terminate)
        first = json.loads(await self.process.stdout.readline() or "{}")
        if not first.get("ok"):
            await self.process.wait()
            raise EpisodesEnded(first.get("error", {}).get("message", "gradus episodes serve said nothing"))
        self.ready = first
        self.reading = asyncio.create_task(self.read())
        return first

    async def play(self, row: dict, seed: int, complete: Complete, sampling: dict | None = None) -> dict:
        """The episodes.episode/1 of a row; `complete` answers its requests."""
        if self.ended:
            raise EpisodesEnded(self.ended)
        id = next(self.ids)
        episode = asyncio.get_running_loop().create_future()
        self.playing[id] = (episode, complete)
        await self.write({"type": "play", "id": id, "row": row, "seed": seed, "sampling": sampling or {}})
        try:
            return await episode
        except asyncio.CancelledError:
            await self.write({"type": "cancel", "id": id})
            raise
        finally:
            self.playing.pop(id, None)

    async def write(self, line: dict) -> None:
        # JSON has no NaN: such a log-probability would end all episodes instead of one.
        text = json.dumps(line, allow_nan=False)
        try:
            self.process.stdin.write(text.encode() + b"\n")
            await self.process.stdin.drain()
        except OSError:
            pass  # it has ended: whoever reads its output tells all that wait

    async def read(self) -> None:
        last = "it said nothing"
        try:
            async for line in self.process.stdout:
                told = json.loads(line)
                if "error" in told and "id" not in told:
                    last = told["error"]["message"]
                elif told["schema"] == "episodes.request/1":
                    task = asyncio.create_task(self.answer(told))
                    self.answering.add(task)
                    task.add_done_callback(self.answering.discard)
                elif told["id"] in self.playing:
                    episode, _ = self.playing[told["id"]]
                    if not episode.done():
                        episode.set_result(told)
        finally:
            self.terminate()
            self.ended = f"gradus episodes serve ended with code {await self.process.wait()}: {last}"
            for episode, _ in self.playing.values():
                if not episode.done():
                    episode.set_exception(EpisodesEnded(self.ended))

    async def answer(self, request: dict) -> None:
        """Answers a request. An environment's own request, which has no episode, is answered like those of the latest one."""
        number = request["request"]
        _, complete = self.playing.get(request["id"]) or next(reversed(self.playing.values()), (None, None))
        try:
            if complete is None:
                raise EpisodesEnded("no episode is being played")
            completion = await complete(request)
            await self.write(
                {
                    "type": "completion",
                    "request": number,
                    "ids": [int(id) for id in completion.ids],
                    "logprobs": [float(value) for value in completion.logprobs],
                    "finish_reason": completion.finish_reason,
                }
            )
        except Exception as error:
            await self.write({"type": "fault", "request": number, "message": f"{type(error).__name__}: {error}"})

    def terminate(self) -> None:
        if self.process and self.process.returncode is None:
            self.process.terminate()


_episodes: Episodes | None = None
_starting: asyncio.Lock | None = None


async def episodes() -> Episodes:
    """Started by the first episode of each process, and again if it has ended."""
    global _episodes, _starting
    _starting = _starting or asyncio.Lock()
    async with _starting:
        if _episodes is None or _episodes.ended:
            started = Episodes()
            await started.start()
            _episodes = started
        return _episodes
