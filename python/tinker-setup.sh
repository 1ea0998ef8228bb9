#!/usr/bin/env bash
# Sets up ../.cache/skyrl-venv: SkyRL 0.3.0, a server that speaks Tinker's API, with jax for the CPU, and Tinker's own library 0.38.0; 2.3 GB. Needs a
# Python 3.11 from 3.11.4 on, whose tarfile has the filters that the server uses. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
. ./setup-shared.sh
begin tinker "$cache/skyrl-venv" tinker/pyproject.toml tinker/uv.lock cuda_stubs.py
need_uv

.venv/bin/python -c 'import tarfile; tarfile.data_filter' 2>/dev/null ||
  { echo "python/tinker-setup.sh: Python 3.11.4 or a later 3.11 is needed" >&2; exit 3; }
UV_PROJECT_ENVIRONMENT=$folder "$uv" sync --frozen --quiet --project tinker --python .venv/bin/python
"$folder/bin/python" cuda_stubs.py "$folder/lib/python3.11/site-packages"
# It says that it runs on Python 3.11, where pydantic takes a TypedDict only from typing_extensions.
sed -i 's/^from typing import Annotated, Any, Literal, TypedDict$/from typing import Annotated, Any, Literal\nfrom typing_extensions import TypedDict/' \
  "$folder/lib/python3.11/site-packages/skyrl/tinker/types.py"
# The server wants to be the child of `uv run … -m skyrl.tinker.api`, and starts its engine with `uv run … -m skyrl.tinker.engine`; the real uv would make
# an environment of its own for each.
mkdir -p "$folder/uv-shim"
cat >"$folder/uv-shim/uv" <<SHIM
#!/bin/sh
while [ "\$1" != -m ]; do shift; done
[ "\$2" = skyrl.tinker.api ] || exec "$folder/bin/python" "\$@"
"$folder/bin/python" "\$@" &
trap 'kill \$!' INT TERM
wait \$! || wait \$!
SHIM
chmod +x "$folder/uv-shim/uv"
finish
