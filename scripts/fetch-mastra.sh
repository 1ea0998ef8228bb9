#!/usr/bin/env bash
# Installs Mastra 1.71.0, which is too large for a dependency (132 MB), to .cache/mastra, and links it beside the example that uses it. Running it again costs a moment.
set -euo pipefail
cd "$(dirname "$0")/.."
ln -sfn ../../.cache/mastra/node_modules examples/agents/node_modules
[ -e .cache/mastra/setup-done ] && exit 0
mkdir -p .cache/mastra
echo '{ "private": true }' >.cache/mastra/package.json
npm install --prefix .cache/mastra --save-exact --ignore-scripts --no-audit --no-fund @mastra/core@1.71.0
touch .cache/mastra/setup-done
