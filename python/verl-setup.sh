#!/usr/bin/env bash
# Sets up ../.cache/verl-venv over the PyTorch of .venv: verl 0.9.1 and what its configuration, data, rewards and algorithms import, without its
# cluster and its samplers; 20 MB. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
. ./setup-shared.sh
# The checkout's place is in a file of the environment: one that was moved needs it again.
begin verl "$cache/verl-venv" .venv/setup-done <(pwd)
need_uv

"$uv" venv --quiet --clear --python .venv/bin/python "$folder"
"$uv" pip install --quiet --no-deps --compile-bytecode --python "$folder/bin/python" verl==0.9.1 tensordict==0.10.0 pyvers==0.2.3 orjson==3.13.0 \
  cloudpickle==3.1.2 codetiming==1.4.0 omegaconf==2.3.1 antlr4-python3-runtime==4.9.3 hydra-core==1.3.8 pillow==13.0.0 \
  aiohttp==3.14.5 aiohappyeyeballs==2.7.1 aiosignal==1.4.0 attrs==26.1.0 frozenlist==1.8.0 multidict==7.2.1 propcache==0.5.4 yarl==1.25.1
echo "$PWD/.venv/lib/python3.11/site-packages" >"$folder/lib/python3.11/site-packages/torch.pth"
finish
