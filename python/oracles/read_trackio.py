# Prints what Trackio's own storage has of a run, as JSON: read_trackio.py RUN_ID, with TRACKIO_DIR and TRACKIO_PROJECT.
import json
import os
import sys

from trackio.sqlite_storage import SQLiteStorage

project, run = os.environ["TRACKIO_PROJECT"], sys.argv[1]
metrics, texts = {}, {}
for line in SQLiteStorage.get_logs(project, run_id=run):
    for key, value in line.items():
        if isinstance(value, dict) and value.get("_type") == "trackio.markdown":
            texts.setdefault(key, {})[line["step"]] = value["_value"]
        elif isinstance(value, (int, float)) and key != "step":
            metrics.setdefault(key, []).append([line["step"], value])
names = [record["name"] for record in SQLiteStorage.get_run_records(project) if record["id"] == run]
alerts = [[alert["title"], alert["text"]] for alert in SQLiteStorage.get_alerts(project, run_id=run)]
config = SQLiteStorage.get_run_config(project, run_id=run)
json.dump({"name": names[0], "metrics": metrics, "texts": texts, "config": config, "alerts": alerts}, sys.stdout)
