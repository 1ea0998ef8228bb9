#!/usr/bin/env bash
# Sets up ../.cache/openenv-venv: OpenEnv's own client, without its web pages; 200 MB. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
. ./setup-shared.sh
begin openenv "$cache/openenv-venv" openenv/requirements.txt
need_uv

"$uv" venv --quiet --clear --python .venv/bin/python "$folder"
"$uv" pip install --quiet --no-deps --python "$folder/bin/python" -r openenv/requirements.txt
"$folder/bin/python" -c 'from openenv import GenericEnvClient'
finish
