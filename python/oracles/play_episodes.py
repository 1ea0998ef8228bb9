# The client of `gradus episodes serve` in a hand-off to verl, with scripted answers.
#
# usage: python play_episodes.py FOLDER of a hand-off      stdin: {"rows": [row, …], "said": [ids, …] of the turns of each episode}
# stdout: {"ready", "episodes": one of each row, "fault": one whose sampler fails, "nan": one whose
# log-probabilities are not numbers, "ended": the error when the process is killed, "again": an episode after it}
import asyncio
import json
import sys

sys.path.insert(0, sys.argv[1])
import gradus_episodes  # noqa: E402
from gradus_episodes import Completion, EpisodesEnded, episodes  # noqa: E402


def speaker(said):
    turns = iter(said)

    async def complete(request):
        await asyncio.sleep(0.01 * (request["request"] % 3))
        ids = next(turns)[: request["max_tokens"]]
        return Completion(ids, [-0.5] * len(ids), "stop" if ids[-1] in request["stop_ids"] else "length")

    return complete


async def broken(request):
    raise MemoryError("out of memory")


async def nan(request):
    return Completion([0], [float("nan")], "stop")


async def main(rows, said):
    server = await episodes()
    play = lambda row: server.play(row, 7, speaker(said))
    played = await asyncio.gather(*map(play, rows))
    fault, not_a_number = await asyncio.gather(server.play(rows[0], 7, broken), server.play(rows[0], 7, nan))

    killed = asyncio.Event()

    async def never(request):
        killed.set()
        await asyncio.Event().wait()

    waiting = asyncio.create_task(server.play(rows[0], 7, never))
    await killed.wait()
    server.process.kill()
    try:
        await waiting
        ended = None
    except EpisodesEnded as error:
        ended = str(error)
    another = await episodes()
    again = await another.play(rows[0], 7, speaker(said))
    another.process.stdin.close()
    await another.process.wait()
    gradus_episodes._episodes = None
    return {"ready": server.ready, "episodes": played, "fault": fault, "nan": not_a_number, "ended": ended, "again": again}


asked = json.loads(sys.stdin.read())
print(json.dumps(asyncio.run(main(asked["rows"], asked["said"]))))
