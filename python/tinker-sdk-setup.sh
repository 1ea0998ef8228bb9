#!/usr/bin/env bash
# Sets up ../.cache/tinker-sdk-venv over the PyTorch of .venv: Thinking Machines' tinker 0.38 and tinker-cookbook 0.6, the clients of our training server;
# 110 MB. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
. ./setup-shared.sh
# The checkout's place is in a file of the environment: one that was moved needs it again.
begin tinker-sdk "$cache/tinker-sdk-venv" .venv/setup-done tinker-sdk/requirements.txt <(realpath .venv)
need_uv

"$uv" venv --quiet --clear --python .venv/bin/python "$folder"
"$uv" pip install --quiet --no-deps --python "$folder/bin/python" -r tinker-sdk/requirements.txt
echo "$(realpath .venv)/lib/python3.11/site-packages" >"$folder/lib/python3.11/site-packages/torch.pth"
"$folder/bin/python" -c 'import tinker, tinker_cookbook'
finish
