"""Plays an environment with OpenEnv's own client: play_openenv.py URL, a line of JSON for each result."""

import json
import sys

from openenv import GenericEnvClient


def show(result):
    print(json.dumps({"observation": result.observation, "reward": result.reward, "done": result.done}))


with GenericEnvClient(base_url=sys.argv[1]).sync() as env:
    show(env.reset(index=2, episode_id="mine"))
    show(env.step({"tool": "add", "arguments": {"a": 2, "b": 1}}))
    show(env.step({"message": '<tool_call>{"name": "add", "arguments": {"a": 2, "b": 2}}</tool_call>'}))
    show(env.step({"message": "3"}))
    print(json.dumps(env.state()))
    for wrong in ({"message": "more"}, {"moves": 1}):
        try:
            env.step(wrong)
        except RuntimeError as error:
            print(json.dumps(str(error)))
