#!/usr/bin/env bash
# Sets up ../.cache/tinker-sdk-venv over the PyTorch of .venv: Thinking Machines' tinker 0.38 and tinker-cookbook 0.6, the clients of our training server;
# 110 MB. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
uv=../.cache/uv-venv/bin/uv
venv=$(realpath ../.cache)/tinker-sdk-venv
exec 9>../.cache/tinker-sdk-setup.lock
flock 9 # two test runs may start at once

stamp=$venv/setup-done
# The checkout's place is in a file of the environment: one that was moved needs it again.
wanted=$({ cat .venv/setup-done tinker-sdk/requirements.txt tinker-sdk-setup.sh; realpath .venv; } | sha256sum | cut -d' ' -f1)
[ "$(cat "$stamp" 2>/dev/null || true)" = "$wanted" ] && exit 0

"$uv" venv --quiet --clear --python .venv/bin/python "$venv"
"$uv" pip install --quiet --no-deps --python "$venv/bin/python" -r tinker-sdk/requirements.txt
echo "$(realpath .venv)/lib/python3.11/site-packages" >"$venv/lib/python3.11/site-packages/torch.pth"
"$venv/bin/python" -c 'import tinker, tinker_cookbook'
echo "$wanted" >"$stamp"
