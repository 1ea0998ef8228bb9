#!/usr/bin/env bash
# The kernels as Windows would run them, under Wine: a small program that multiplies, and loads the libraries of the package. Needs Debian's wine64.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
export ZIG_GLOBAL_CACHE_DIR=$root/.cache/ziglang/zig WINEDEBUG=-all WINEPREFIX=$(realpath .cache)/wine
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
[ -x "$wine" ] || { echo "test-windows: there is no wine64" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
node scripts/compile-kernels.ts --into "$folder" win32-x64
failed=0
for flags in "" "-mavx2 -mfma -mf16c" "-mavx512f -mavx512bw -mavx512vnni"; do
  echo "== ${flags:-portable}"
  # shellcheck disable=SC2086
  .cache/ziglang/bin/python -m ziglang cc -target x86_64-windows-gnu -O3 -std=gnu11 -fno-strict-aliasing -w $flags test/kernels-alone.c -o "$folder/alone.exe"
  "$wine" "$folder/alone.exe" "$folder"/win32-x64/*.dll || failed=1
done
exit "$failed"
