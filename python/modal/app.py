# Trains with Gradus on a GPU at Modal, and keeps a copy of the run here. Gradus writes a copy of this file with its own SPEC.
#
# usage: modal run --detach app.py --directory RUN [--mode new|resume|overwrite] [--pid PID]
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path, PurePath

import modal

SPEC = {}  # what differs from run to run

RUN = f"runs/{SPEC['run']}"  # on the volume
MOUNTED = f"/volume/{RUN}"  # the same, where it is trained
CHECKPOINTS = "checkpoints"
# The local run has its own files of these names.
KEPT = ("config.yaml", "config.resolved.json")
MADE = ["**/__pycache__", "**/node_modules"]  # in the package's own folders
INTERVAL = 5  # seconds between looks at what there is to copy
GRACE = 25  # seconds for a checkpoint after a cancellation

app = modal.App(SPEC["app"])
volume = modal.Volume.from_name(SPEC["volume"], create_if_missing=True)


def make_image():
    """Node and Gradus for the loop and the rewards, the locked packages for TRL; last the project, so that its changes rebuild nothing."""
    node = SPEC["node"]
    image = (
        modal.Image.debian_slim(python_version="3.11")
        .apt_install("curl", "xz-utils", "gcc", "libc6-dev")
        .run_commands(
            f"curl -fsSL https://nodejs.org/dist/v{node}/node-v{node}-linux-x64.tar.xz | tar -xJ -C /usr/local --strip-components=1"
        )
        .uv_sync(SPEC["lock"], extras=["quantized"], uv_version="0.13.8")
        .env(SPEC["environment"])
    )
    for here, there in SPEC["package"]:
        image = add(image, here, there, copy=True)
    image = image.run_commands("cd /gradus && npm install --omit=dev --no-audit --no-fund --ignore-scripts")
    for here, there, *files in SPEC["project"]:
        image = add(image, here, there, files=files[0] if files else None)
    return image


def add(image, here, there, copy=False, files=None):
    if here.endswith("/"):
        return image.add_local_dir(here, there, copy=copy, ignore=MADE if files is None else all_but(here, files))
    return image.add_local_file(here, there, copy=copy)


def all_but(here, files):
    """What Modal ignores in a folder: all but these files and the folders around them."""
    kept = {PurePath(".")}
    for file in files:
        kept |= {PurePath(file), *PurePath(file).parents}

    def ignore(path):
        path = PurePath(path)
        return (path.relative_to(here) if path.is_absolute() else path) not in kept

    return ignore


@app.function(
    image=make_image(),
    gpu=SPEC["gpu"],
    timeout=SPEC["timeout"],
    volumes={"/volume": volume},
    secrets=[modal.Secret.from_name(name) for name in SPEC["secrets"]],
)
def train() -> dict:
    """Trains into the volume, and continues what is there: Modal may move it to another machine. Returns `{"exit_code", "result"}`."""
    going_on = ["--resume"] if os.path.exists(f"{MOUNTED}/run.json") else []
    command = [*SPEC["command"], "--out", MOUNTED, *going_on, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        while True:
            try:
                stdout, _ = process.communicate(timeout=INTERVAL)
                break
            except subprocess.TimeoutExpired:
                volume.commit()
    except BaseException:  # cancelled: there is time for a checkpoint
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=GRACE)
        raise
    finally:
        volume.commit()
    return {"exit_code": process.returncode, "result": json.loads(stdout) if stdout.strip() else None}


@app.local_entrypoint()
def main(directory: str, mode: str = "new", pid: int = 0):
    """Starts training, or finds it running, and copies its run into a local directory until it is over."""
    # Programs that a shell starts in the background ignore this signal, which stops training.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    follow(Copy(volume, Path(directory), pid or os.getpid()), mode)


def follow(copy, mode):
    call = running_call() if mode == "resume" else None
    if call is None:
        if mode != "resume" and copy.listing():
            if mode != "overwrite":
                report(error=f"the volume {SPEC['volume']} holds a run {SPEC['run']} already")
                return
            volume.remove_file(RUN, recursive=True)
        call = train.spawn()
        call_file().write_text(call.object_id)
    report(call=call.object_id)
    try:
        while (outcome := outcome_of(call)) is None:
            copy.update(checkpoints=False)
            time.sleep(INTERVAL)
    except KeyboardInterrupt:
        call.cancel()
        outcome = {"stopped": "cancelled"}
        try:
            call.get(timeout=GRACE)
        except BaseException:  # that it was cancelled
            pass
    except modal.exception.FunctionTimeoutError:
        outcome = {"stopped": "modal.timeout"}
    copy.update(checkpoints=True)
    call_file().unlink()
    report(**outcome)


def report(**said):
    """Prints a line for the process that started this one, between Modal's own lines."""
    print("gradus: " + json.dumps(said), flush=True)


def call_file():
    return Path(__file__).with_name("call")


def running_call():
    """A training that was started before and is not over, because a connection may have been lost."""
    if not call_file().exists():
        return None
    call = modal.FunctionCall.from_id(call_file().read_text())
    try:
        call.get(timeout=0)
    except TimeoutError:
        return call
    except Exception:  # it failed, or nobody knows it any more
        return None
    return None


def outcome_of(call):
    """The result of `train`; None while it runs."""
    try:
        return call.get(timeout=0)
    except TimeoutError:
        return None


class Copy:
    """A copy of the run on the volume, as if a local process wrote it."""

    def __init__(self, volume, directory, pid):
        self._volume, self._directory, self._pid = volume, directory, pid
        self._seen = {}  # sizes and times of what was copied, by path

    def listing(self):
        """Paths in the run, with their sizes and times."""
        try:
            entries = self._volume.listdir(RUN, recursive=True)
        except (FileNotFoundError, modal.exception.NotFoundError):
            return {}
        files = [entry for entry in entries if entry.type.name == "FILE"]
        return {entry.path.lstrip("/").removeprefix(f"{RUN}/"): (entry.size, entry.mtime) for entry in files}

    def update(self, checkpoints):
        """Copies what has changed: run.json last, because it says that the rest is there."""
        found = self.listing()
        wanted = [path for path in found if path not in KEPT and (checkpoints or not path.startswith(CHECKPOINTS))]
        for path in sorted(wanted, key=lambda path: path == "run.json"):
            if self._seen.get(path) != found[path]:
                self._write(path, b"".join(self._volume.read_file(f"{RUN}/{path}")))
                self._seen[path] = found[path]
        if checkpoints:
            self._prune({path.split("/")[1] for path in found if path.startswith(CHECKPOINTS)})

    def _write(self, path, data):
        target = self._directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith((".json", ".jsonl")) and not path.startswith(CHECKPOINTS):
            data = data.replace(MOUNTED.encode(), str(self._directory).encode())
        if path == "run.json":
            record = {**json.loads(data), "pid": self._pid}
            record.pop("pid_start", None)
            data = json.dumps(record).encode()
        size = target.stat().st_size if target.exists() else 0
        if path.endswith(".jsonl") and size <= len(data):
            with target.open("ab") as file:  # whoever follows it sees it grow
                file.write(data[size:])
        else:
            temporary = target.with_name(f"{target.name}.tmp")
            temporary.write_bytes(data)
            temporary.replace(target)

    def _prune(self, kept):
        folder = self._directory / CHECKPOINTS
        for name in os.listdir(folder) if folder.exists() else []:
            if name not in kept:
                shutil.rmtree(folder / name)
