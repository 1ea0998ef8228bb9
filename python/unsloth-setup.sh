#!/usr/bin/env bash
# Unpacks Unsloth 2026.10.7, which cannot be imported without a GPU, and TRL 1.15.0, the newest that it takes, to ../.cache/unsloth
# and ../.cache/trl-1.15; 13 MB. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
. ./setup-shared.sh
begin unsloth "$cache/unsloth"
need_uv

rm -rf "$folder" "$cache/trl-1.15"
"$uv" pip install --quiet --no-deps --python .venv/bin/python --target "$folder" unsloth==2026.10.7 unsloth_zoo==2026.10.7
"$uv" pip install --quiet --no-deps --python .venv/bin/python --target "$cache/trl-1.15" trl==1.15.0
rm -rf "$folder/studio" "$folder/unsloth_cli" # its user interfaces
finish
