#!/usr/bin/env bash
# Sets up ../.cache/openenv-venv: OpenEnv's own client, without its web pages; 200 MB. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
uv=../.cache/uv-venv/bin/uv
venv=$(realpath ../.cache)/openenv-venv
exec 9>../.cache/openenv-setup.lock
flock 9 # two test runs may start at once

wanted=$(cat openenv/requirements.txt openenv-setup.sh | sha256sum | cut -d' ' -f1)
[ "$(cat "$venv/setup-done" 2>/dev/null || true)" = "$wanted" ] && exit 0

"$uv" venv --quiet --clear --python .venv/bin/python "$venv"
"$uv" pip install --quiet --no-deps --python "$venv/bin/python" -r openenv/requirements.txt
"$venv/bin/python" -c 'from openenv import GenericEnvClient'
echo "$wanted" >"$venv/setup-done"
