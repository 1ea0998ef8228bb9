#!/usr/bin/env bash
# Unpacks Unsloth 2026.10.7, which cannot be imported without a GPU, and TRL 1.15.0, the newest that it takes, to ../.cache/unsloth
# and ../.cache/trl-1.15; 13 MB. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
uv=../.cache/uv-venv/bin/uv
exec 9>../.cache/unsloth-setup.lock
flock 9 # two test runs may start at once

stamp=../.cache/unsloth/setup-done
wanted=$(sha256sum unsloth-setup.sh | cut -d' ' -f1)
[ "$(cat "$stamp" 2>/dev/null || true)" = "$wanted" ] && exit 0

rm -rf ../.cache/unsloth ../.cache/trl-1.15
"$uv" pip install --quiet --no-deps --python .venv/bin/python --target ../.cache/unsloth unsloth==2026.10.7 unsloth_zoo==2026.10.7
"$uv" pip install --quiet --no-deps --python .venv/bin/python --target ../.cache/trl-1.15 trl==1.15.0
rm -rf ../.cache/unsloth/studio ../.cache/unsloth/unsloth_cli # its user interfaces
echo "$wanted" >"$stamp"
