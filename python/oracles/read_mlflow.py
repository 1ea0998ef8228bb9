# Reads a run with MLflow's own client, from MLFLOW_TRACKING_URI.
#
# usage: python read_mlflow.py RUN
# stdout: {"name", "status", "params", "tags", "metrics": {key: [[step, value], …]}, "texts": {path: text}}
import json
import sys

from mlflow import artifacts
from mlflow.tracking import MlflowClient

client = MlflowClient()
run = client.get_run(sys.argv[1])


def files(path=None):
    for item in client.list_artifacts(run.info.run_id, path):
        if item.is_dir:
            yield from files(item.path)
        else:
            yield item.path


def text(path):
    return artifacts.load_text(f"runs:/{run.info.run_id}/{path}")


json.dump(
    {
        "name": run.info.run_name,
        "status": run.info.status,
        "params": run.data.params,
        "tags": run.data.tags,
        "metrics": {
            key: [[m.step, m.value] for m in client.get_metric_history(run.info.run_id, key)] for key in run.data.metrics
        },
        "texts": {path: text(path) for path in files()},
    },
    sys.stdout,
)
