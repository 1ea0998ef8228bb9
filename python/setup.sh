#!/usr/bin/env bash
# Sets up python/.venv, the PyTorch environment of the oracles and benchmarks: uv, the locked packages, stand-ins for CUDA libraries.
# Running it again costs a moment. Needs Python 3.11, cc and readelf; about 1.6 GB.
set -euo pipefail
cd "$(dirname "$0")"
. ./setup-shared.sh
begin python .venv pyproject.toml uv.lock cuda_stubs.py
need_uv
UV_PROJECT_ENVIRONMENT=.venv "$uv" sync --frozen --quiet --python "$python"
.venv/bin/python cuda_stubs.py .venv/lib/python3.11/site-packages
.venv/bin/python -c 'import torch, transformers, peft; from trl import GRPOTrainer; assert not torch.cuda.is_available(); print("python: torch", torch.__version__, "transformers", transformers.__version__, "peft", peft.__version__)'
finish
