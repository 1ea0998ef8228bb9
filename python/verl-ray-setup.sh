#!/usr/bin/env bash
# Sets up ../.cache/verl-ray-venv over that of verl-setup.sh: Ray, verl's queue and what its trainer imports; 220 MB. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")"
./verl-setup.sh
uv=../.cache/uv-venv/bin/uv
venv=../.cache/verl-ray-venv
exec 9>../.cache/verl-ray-setup.lock
flock 9 # two test runs may start at once

stamp=$venv/setup-done
# The checkout's place is in a file of the environment: one that was moved needs it again.
wanted=$({ cat ../.cache/verl-venv/setup-done verl-ray-setup.sh; pwd; } | sha256sum | cut -d' ' -f1)
[ "$(cat "$stamp" 2>/dev/null || true)" = "$wanted" ] && exit 0

"$uv" venv --quiet --clear --python .venv/bin/python "$venv"
"$uv" pip install --quiet --no-deps --python "$venv/bin/python" ray==2.60.0 transferqueue==0.1.11 msgpack==1.2.4 msgspec==0.22.0 protobuf==7.36.2 \
  pyzmq==27.3.0 torchdata==0.11.0 cachetools==8.0.2 prometheus-client==0.26.0 fastapi==0.165.0 starlette==1.10.0 uvicorn==0.54.0 \
  annotated-doc==0.0.7 opentelemetry-api==1.45.2 anyio==4.16.0 h11==0.16.0
printf '%s\n' "$PWD/../.cache/verl-venv/lib/python3.11/site-packages" "$PWD/.venv/lib/python3.11/site-packages" >"$venv/lib/python3.11/site-packages/verl.pth"
echo "$wanted" >"$stamp"
