#!/usr/bin/env bash
# Sets up python/.venv, the PyTorch environment of the oracles and benchmarks: uv, the locked packages, stand-ins for CUDA libraries.
# Running it again costs a moment. Needs Python 3.11, cc and readelf; about 1.6 GB.
set -euo pipefail
cd "$(dirname "$0")"
export UV_PYTHON_DOWNLOADS=never UV_PYTHON_PREFERENCE=only-system UV_PROJECT_ENVIRONMENT=.venv
unset VIRTUAL_ENV
uv_version=0.13.8
cache=../.cache
mkdir -p "$cache"

exec 9>"$cache/python-setup.lock"
flock 9 # two test runs may start at once

stamp=.venv/setup-done
wanted=$(cat pyproject.toml uv.lock cuda_stubs.py setup.sh | sha256sum | cut -d' ' -f1)
[ "$(cat "$stamp" 2>/dev/null || true)" = "$wanted" ] && exit 0

python=""
for candidate in python3.11 python3 /usr/bin/python3; do
  if "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
    python=$("$candidate" -c 'import sys; print(sys.executable)')
    break
  fi
done
[ -n "$python" ] || { echo "python/setup.sh: Python 3.11 is needed and was not found" >&2; exit 3; }

uv="$cache/uv-venv/bin/uv"
if [ "$("$uv" --version 2>/dev/null | cut -d' ' -f2)" != "$uv_version" ]; then
  rm -rf "$cache/uv-venv"
  "$python" -m venv "$cache/uv-venv"
  "$cache/uv-venv/bin/pip" install --quiet --disable-pip-version-check "uv==$uv_version"
fi

"$uv" sync --frozen --quiet --python "$python"
.venv/bin/python cuda_stubs.py .venv/lib/python3.11/site-packages
.venv/bin/python -c 'import torch, transformers, peft; assert not torch.cuda.is_available(); print("python: torch", torch.__version__, "transformers", transformers.__version__, "peft", peft.__version__)'
echo "$wanted" >"$stamp"
