#!/usr/bin/env bash
# Asks verl 0.9.1 for what TRL has no counterpart of: conformance/vectors/verl.json. verl and what its algorithms import go to
# ../.cache/verl-venv, over the PyTorch of .venv; 15 MB.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
uv=../.cache/uv-venv/bin/uv
venv=../.cache/verl-venv
"$uv" venv --quiet --clear --python .venv/bin/python "$venv"
"$uv" pip install --quiet --no-deps --python "$venv/bin/python" verl==0.9.1 tensordict==0.10.0 pyvers==0.2.3 orjson==3.13.0 \
  cloudpickle==3.1.2 codetiming==1.4.0 omegaconf==2.3.1 antlr4-python3-runtime==4.9.3
echo "$PWD/.venv/lib/python3.11/site-packages" >"$venv/lib/python3.11/site-packages/torch.pth"
"$venv/bin/python" fixtures/verl_values.py
