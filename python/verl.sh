#!/usr/bin/env bash
# Asks verl for what TRL has no counterpart of: conformance/vectors/verl.json.
set -euo pipefail
cd "$(dirname "$0")"
./verl-setup.sh
../.cache/verl-venv/bin/python fixtures/verl_values.py
