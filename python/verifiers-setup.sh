#!/usr/bin/env bash
# Sets up ../.cache/verifiers-venv: Prime Intellect's verifiers 0.4.0 with OpenEnv's client, whose environments its tests play; 600 MB. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
uv=../.cache/uv-venv/bin/uv
venv=$(realpath ../.cache)/verifiers-venv
exec 9>../.cache/verifiers-setup.lock
flock 9 # two test runs may start at once

stamp=$venv/setup-done
wanted=$(sha256sum verifiers-setup.sh | cut -d' ' -f1)
[ "$(cat "$stamp" 2>/dev/null || true)" = "$wanted" ] && exit 0

rm -rf "$venv"
UV_PYTHON_DOWNLOADS=never "$uv" venv --quiet --python .venv/bin/python "$venv"
"$uv" pip install --quiet --python "$venv/bin/python" "verifiers[openenv]==0.4.0"
echo "$wanted" >"$stamp"
