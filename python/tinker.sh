#!/usr/bin/env bash
# Runs the server of tinker-setup.sh for one model on the CPU, until it is stopped: python/tinker.sh MODEL PORT
# Clients name the model as it is named here. Its database and its weights are kept in the working directory.
set -euo pipefail
venv=$(realpath "$(dirname "$0")/../.cache/skyrl-venv")
export PATH="$venv/uv-shim:$PATH" JAX_PLATFORMS=cpu HF_HUB_OFFLINE=1
# Batches of a fixed size, since each other size would be compiled anew.
exec uv run -m skyrl.tinker.api --base-model "$1" --host 127.0.0.1 --port "$2" --backend jax \
  --backend-config '{"max_lora_adapters": 8, "max_lora_rank": 8, "sample_max_num_sequences": 16}' \
  --checkpoints-base "$PWD/checkpoints" --database-url "sqlite:///$PWD/tinker.db"
