#!/usr/bin/env bash
# An MLflow server in the background: mlflow.sh up [PORT] [FOLDER], mlflow.sh down [PORT] [FOLDER]. Its runs and files are in the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
port=${2:-5050}
folder=${3:-.cache/mlflow}
mkdir -p "$folder"
folder=$(realpath "$folder")
pid_file=$folder/pid-$port
log=$folder/server-$port.log
programs=.cache/notebooks-venv/bin

# Whether the process that was started still lives, and is not another one of the same number.
is_up() {
  [ -s "$pid_file" ] && ps -ww -o command= -p "$(cat "$pid_file")" | grep -q "mlflow server .*--port $port "
}

# Whether an MLflow server answers there. Its first answer comes long after it listens.
answers() {
  "$programs/python" - "$port" <<'PYTHON' 2>/dev/null
import sys, urllib.request
urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/api/2.0/mlflow/experiments/get?experiment_id=0", timeout=60)
PYTHON
}

up() {
  python/notebooks-setup.sh
  if ! is_up; then
    if answers; then
      echo "mlflow: another MLflow server listens on port $port" >&2
      exit 1
    fi
    set -m # in a process group of its own, so that `down` ends its workers, too
    "$programs/mlflow" server --host 127.0.0.1 --port "$port" --workers 1 \
      --backend-store-uri "sqlite:///$folder/mlflow.db" --artifacts-destination "$folder/artifacts" >"$log" 2>&1 </dev/null &
    echo $! >"$pid_file"
    until answers; do
      is_up || { tail -n 5 "$log" >&2; rm -f "$pid_file"; echo "mlflow: the server ended; its log is $log" >&2; exit 1; }
      sleep 0.5
    done
  fi
  echo "MLflow is at http://localhost:$port; it ends with \`make down\`"
  echo "export MLFLOW_TRACKING_URI=http://localhost:$port"
}

down() {
  is_up || { rm -f "$pid_file"; echo "no MLflow server of this checkout is running"; return; }
  local pid
  pid=$(cat "$pid_file")
  kill -TERM -- "-$pid"
  while kill -0 "$pid" 2>/dev/null; do sleep 0.2; done
  rm -f "$pid_file"
  echo "MLflow has ended; its runs are in $folder"
}

case ${1:-} in
  up | down) "$1" ;;
  *) echo "usage: scripts/mlflow.sh up|down [PORT] [FOLDER]" >&2; exit 2 ;;
esac
