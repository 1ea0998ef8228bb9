#!/usr/bin/env bash
# Sets up ../.cache/verifiers-venv: Prime Intellect's verifiers 0.4.0 with OpenEnv's client, whose environments its tests play; 600 MB. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
. ./setup-shared.sh
begin verifiers "$cache/verifiers-venv"
need_uv

rm -rf "$folder"
"$uv" venv --quiet --python .venv/bin/python "$folder"
"$uv" pip install --quiet --python "$folder/bin/python" "verifiers[openenv]==0.4.0"
finish
