#!/usr/bin/env bash
# Sets up ../.cache/deepspeed-venv over the PyTorch of .venv: DeepSpeed, whose accelerator is then the CPU; 10 MB. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
. ./setup-shared.sh
# The checkout's place is in a file of the environment: one that was moved needs it again.
begin deepspeed "$cache/deepspeed-venv" .venv/setup-done <(pwd)
need_uv

"$uv" venv --quiet --clear --python .venv/bin/python "$folder"
# It comes as sources; operators would be compiled when it is installed.
DS_BUILD_OPS=0 "$uv" pip install --quiet --no-deps --python "$folder/bin/python" deepspeed==0.19.8 einops==0.8.2 hjson==3.1.0 msgpack==1.2.4 py-cpuinfo==9.0.0
echo "$PWD/.venv/lib/python3.11/site-packages" >"$folder/lib/python3.11/site-packages/torch.pth"
finish
