#!/usr/bin/env bash
# The package, with kernels, in a root that holds Node, the C libraries that it needs and nothing else: no compiler, make, Python or shell. Runs
# doctor and the demo there, and a training that only our kernels can do. Needs user namespaces or root, and Python 3 outside for zig's compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
made=$([ -e compiled ] || echo compiled)
trap 'rm -rf "$folder" $made' EXIT
root=$folder/root
mkdir -p "$root"/{app,home,tmp,proc,dev}

node scripts/compile-kernels.ts "linux-$(node -p process.arch)"
npm pack --silent --pack-destination "$folder" >/dev/null
echo '{"private":true}' >"$root/app/package.json"
npm install --prefix "$root/app" --ignore-scripts --prefer-offline --no-audit --no-fund --silent "$folder"/gradus-*.tgz
# Wide enough for our kernels to be used.
node --input-type=module -e "
  import { writeWidened } from './bench/rounding/widened-model.ts';
  await writeWidened('demo/model', process.argv[1]);" "$root/app/wide"
sed -e 's/^model:.*/model: ./; s/^max_steps:.*/max_steps: 3/' demo/demo.yaml >"$root/app/wide/config.yaml"

program=$(node -p process.execPath)
cp "$program" "$root/node"
onnxruntime=$root/app/node_modules/onnxruntime-node/bin/napi-v6/linux/$(node -p process.arch)/libonnxruntime.so.1
for library in $({ ldd "$program"; ldd "$onnxruntime"; } | sed -nE 's/(.* => )?[[:space:]]*(\/[^ ]+) \(0x.*/\2/p' | sort -u); do
  mkdir -p "$root$(dirname "$library")"
  cp -L "$library" "$root$library"
done

# $1 is a file for what the command prints, the rest its arguments.
inside() {
  local printed=$1 mounted='mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec env -i HOME=/home "$(command -v chroot)" "$0" /node "$@"'
  shift
  unshare --map-root-user --mount bash -c "$mounted" "$root" /app/node_modules/gradus/bin/gradus "$@" --json >"$printed"
}
told() { node -e "const said = JSON.parse(require('fs').readFileSync('$1', 'utf8').trim().split('\n').at(-1)); $2"; }

inside "$folder/doctor" doctor || true # no Python and no network are no fault of the machine's, but of its checks
told "$folder/doctor" "
  const { ok, detail } = said.checks.find(({ id }) => id === 'matmul');
  console.log(detail);
  if (!ok || !detail.includes('came with the package')) process.exit(1);"
inside "$folder/demo" demo
told "$folder/demo" "console.log('demo:', said.before.accuracy, '→', said.after.accuracy); if (!said.ok || said.after.accuracy < 0.9) process.exit(1);"
# bfloat16 is refused unless our kernels compute.
inside "$folder/train" train /app/wide/config.yaml --out /wide-run --no-preflight --set native.rollout_dtype=bfloat16
told "$folder/train" "console.log('training with kernels:', said.run.status); if (!said.ok) process.exit(1);"
