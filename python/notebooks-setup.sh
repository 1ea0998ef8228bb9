#!/usr/bin/env bash
# Sets up ../.cache/notebooks-venv: marimo, Altair and MLflow, for notebooks/ and `make up`; 810 MB. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")"
. ./setup-shared.sh
begin notebooks "$cache/notebooks-venv" ../notebooks/pyproject.toml ../notebooks/uv.lock
need_uv
UV_PROJECT_ENVIRONMENT=$folder "$uv" sync --frozen --quiet --project ../notebooks --python "$python"
finish
