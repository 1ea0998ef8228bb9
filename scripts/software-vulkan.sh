#!/usr/bin/env bash
# Fetches a Vulkan driver that computes on the CPU, for the tests of `device: webgpu` where there is no GPU: .cache/vulkan.
# Mesa's lavapipe from Debian 12's backports (its own, 22.3.6, lacks what WebGPU asks for), unpacked without installing it.
# Needs no root. Where the system is another, or a library that the driver needs is missing, it says so and fetches nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=(mesa-vulkan-drivers=25.0.7-2~bpo12+1 libvulkan1=1.3.239.0-1)
target=$PWD/.cache/vulkan
stamp=$target/fetched

[ "$(cat "$stamp" 2>/dev/null || true)" = "${packages[*]}" ] && exit 0
fail() {
  echo "scripts/software-vulkan.sh: $1" >&2
  exit 3
}
sources=/etc/apt/sources.list.d/debian.sources
[ "$(. /etc/os-release && echo "$VERSION_CODENAME")" = bookworm ] && [ -e $sources ] && [ "$(uname -m)" = x86_64 ] ||
  fail "it is for Debian 12 on x86_64"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mirror=$(sed -n 's/^URIs: *//p' $sources | head -1)
keys=$(sed -n 's/^Signed-By: *//p' $sources | head -1)
for suite in bookworm bookworm-backports; do
  echo "deb [signed-by=$keys] $mirror $suite main"
done >"$work/sources.list"
mkdir -p "$work"/{lists,archives}/partial
apt=(apt-get -qq -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work" -o "Dir::Etc::SourceList=$work/sources.list"
  -o Dir::Etc::SourceParts=/dev/null -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
(cd "$work" && "${apt[@]}" update && "${apt[@]}" download "${packages[@]}") >&2 || fail "the packages cannot be fetched"

for package in "$work"/*.deb; do dpkg-deb -x "$package" "$work/unpacked"; done
libraries=$work/unpacked/usr/lib/x86_64-linux-gnu
missing=$(LD_LIBRARY_PATH=$libraries ldd "$libraries/libvulkan_lvp.so" | awk '/not found/ { print $1 }' | xargs)
[ -z "$missing" ] || fail "the driver needs $missing: apt-get install libllvm15 mesa-vulkan-drivers"

rm -rf "$target"
mkdir -p "$target"
cp -L "$libraries"/lib{vulkan.so.1,vulkan_lvp.so} "$target"
cat >"$target/driver.json" <<JSON
{ "file_format_version": "1.0.0", "ICD": { "library_path": "./libvulkan_lvp.so", "api_version": "1.4.305" } }
JSON
echo "${packages[*]}" >"$stamp"
echo "${packages[*]}: $target"
