# What the set-up scripts share, each of which begins with `. ./setup-shared.sh` in this folder:
#
#   begin NAME FOLDER [FILE...]   sets $folder; one set-up of a name at a time; ends the script if neither the files nor the scripts have changed
#                                 since the folder was finished
#   need_uv                       sets $uv, which is installed if it is missing, and $python, a Python 3.11
#   finish                        remembers that the folder is done
export UV_PYTHON_DOWNLOADS=never UV_PYTHON_PREFERENCE=only-system
unset VIRTUAL_ENV
# What a set-up imports stays compiled, also where Python is told to write no bytecode: it would compile it at each start, for longer than it loads it.
unset PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX
uv_version=0.13.8
mkdir -p ../.cache
cache=$(realpath ../.cache)

begin() {
  folder=$2
  exec 9>"$cache/$1-setup.lock"
  if command -v flock >/dev/null; then flock 9; fi # two test runs may start at once
  shift 2
  wanted=$(cat "$@" "$(basename "$0")" setup-shared.sh | sha256sum | cut -d' ' -f1)
  if [ "$(cat "$folder/setup-done" 2>/dev/null || true)" = "$wanted" ]; then exit 0; fi
}

need_uv() {
  local candidate
  python=""
  for candidate in python3.11 python3 /usr/bin/python3; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
      python=$("$candidate" -c 'import sys; print(sys.executable)')
      break
    fi
  done
  [ -n "$python" ] || { echo "$(basename "$0"): Python 3.11 is needed and was not found" >&2; exit 3; }
  uv=$cache/uv-venv/bin/uv
  if [ "$("$uv" --version 2>/dev/null | cut -d' ' -f2)" != "$uv_version" ]; then
    rm -rf "$cache/uv-venv"
    "$python" -m venv "$cache/uv-venv"
    "$cache/uv-venv/bin/pip" install --quiet --disable-pip-version-check "uv==$uv_version"
  fi
}

finish() {
  echo "$wanted" >"$folder/setup-done"
}
