# What can be asked of users' code: one thing at a time, each answered with a result or with what went wrong and where.
import asyncio
import inspect
import platform

from ..channel import Channel, WorkerError
from .loading import LoadError, load, place_of, told
from .rewards import score

METHOD = {"path": str, "name": str}
BATCH = {"prompts": [object], "completions": [object], "completion_ids": [[int]], "columns": dict}


def main():
    channel = Channel()
    loop = asyncio.new_event_loop()  # one for good, so that clients of asynchronous functions may live in it

    def resolve(value):
        return loop.run_until_complete(value) if inspect.isawaitable(value) else value

    def load_reward(params):
        if not callable(load(**params)):
            raise LoadError(f"its {params['name']} is no function", "write def")

    def score_batch(params):
        function = load(params.pop("path"), params.pop("name"))
        return score(function, **params, resolve=resolve)

    handlers = {"load_reward": (METHOD, load_reward), "score": (METHOD | BATCH, score_batch)}
    channel.hello("python", {"python": platform.python_version()})
    channel.serve({name: (schema, guarded(handler)) for name, (schema, handler) in handlers.items()})


def guarded(handler):
    """Whatever user code raises, in one line with its place; SystemExit too, which does not end the worker."""

    def answer(params, _call):
        path = params["path"]
        try:
            return handler(params)
        except LoadError as error:
            raise WorkerError("LOAD_FAILED", str(error), error.hint) from error
        except BaseException as error:
            place = place_of(error, path)
            raise WorkerError("USER_CODE_FAILED", f"{told(error)} ({place})" if place else told(error)) from error

    return answer
