"""Stands in front of a training server as Thinking Machines' own service does: hosted.py URL

Keys are exchanged for tokens that soon expire, or are taken back before; passes have to be in zstd; requests are read with the classes of their SDK, which know every
field. Prints its address, and then a line of JSON for each request: its route, the status, and what the SDK would not have sent.
"""

import asyncio
import base64
import json
import sys
import time

import aiohttp
import pydantic
import zstandard
from aiohttp import web
from tinker import types
from tinker.proto import tinker_public_pb2
from tinker.types.create_session_request import CreateSessionRequest
from tinker.types.future_retrieve_request import FutureRetrieveRequest
from tinker.types.session_heartbeat_request import SessionHeartbeatRequest

KEY = "tml-hosted-key"
# In seconds, and in requests.
LIFETIME, USES = 60, 5
REQUESTS = {
    "create_session": CreateSessionRequest,
    "session_heartbeat": SessionHeartbeatRequest,
    "create_model": types.CreateModelRequest,
    "create_sampling_session": types.CreateSamplingSessionRequest,
    "asample": types.SampleRequest,
    "optim_step": types.OptimStepRequest,
    "save_weights": types.SaveWeightsRequest,
    "save_weights_for_sampler": types.SaveWeightsForSamplerRequest,
    "load_weights": types.LoadWeightsRequest,
    "get_info": types.GetInfoRequest,
    "unload_model": types.UnloadModelRequest,
    "retrieve_future": FutureRetrieveRequest,
}
url = sys.argv[1]
uses = {}


def part(content):
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


def new_token():
    now = int(time.time())
    token = ".".join([part({"alg": "none"}), part({"iat": now, "exp": now + LIFETIME, "jti": len(uses)}), "signature"])
    uses[token] = (USES, now + LIFETIME)
    return token


def is_good(token):
    left, end = uses.get(token, (0, 0))
    uses[token] = (left - 1, end)
    return left > 0 and time.time() < end


def fault_of(request, route, body):
    """What is wrong with a request."""
    if route == "forward_backward":
        if request.content_type != "application/x-protobuf" or request.headers.get("content-encoding") != "zstd":
            return f"a pass in {request.content_type} and {request.headers.get('content-encoding')}"
        plain = zstandard.ZstdDecompressor().decompressobj().decompress(body)
        message = tinker_public_pb2.ForwardBackwardRequest.FromString(plain)
        return None if message.seq_id >= 1 and message.SerializeToString() else "an empty pass"
    if route in REQUESTS:
        try:
            REQUESTS[route].model_validate_json(body)
        except pydantic.ValidationError as error:
            return str(error)
    return None


async def handle(request):
    route = request.path.removeprefix("/api/v1/")
    # aiohttp decompresses a body unless told not to.
    body = await request.read()
    key = request.headers.get("x-api-key", "")
    if route in ("client/config", "auth/token"):
        status, content = 401, {"detail": "no such key"}
        if key == KEY:
            config = types.ClientConfigResponse(
                pjwt_auth_enabled=True, proto_compress_fwdbwd=True, parallel_fwdbwd_chunks=False, sample_enable_stuck_detection=False
            )
            status, content = 200, {"jwt": new_token()} if route == "auth/token" else config.model_dump()
        print(json.dumps({"route": route, "status": status, "fault": None}), flush=True)
        return web.json_response(content, status=status)
    if not is_good(key):
        print(json.dumps({"route": route, "status": 401, "fault": None}), flush=True)
        return web.json_response({"detail": "the token is not good"}, status=401, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})
    fault = fault_of(request, route, body)
    headers = {name: value for name, value in request.headers.items() if name.lower() in ("accept", "content-type", "content-encoding")}
    try:
        async with request.app["session"].request(request.method, url + request.path_qs, data=body or None, headers=headers) as answer:
            content = await answer.read()
            print(json.dumps({"route": route, "status": answer.status, "fault": fault}), flush=True)
            return web.Response(body=content, status=answer.status, content_type=answer.content_type)
    except aiohttp.ClientError:
        return web.Response(status=502)


async def main():
    app = web.Application(client_max_size=2**26)
    app["session"] = aiohttp.ClientSession(auto_decompress=False)
    app.router.add_route("*", "/api/v1/{route:.*}", handle)
    runner = web.AppRunner(app, auto_decompress=False)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    print(f"http://127.0.0.1:{port}", flush=True)
    # It ends with the program that started it.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await app["session"].close()
    await runner.cleanup()


asyncio.run(main())
