# Runs and their curves, from a folder of run directories or from an MLflow server, whichever `source` names.
import json
import os
from pathlib import Path

Point = dict  # run, step, value


def default_source() -> str:
    """The server that MLFLOW_TRACKING_URI names, else the folder runs/ of this checkout."""
    return os.environ.get("MLFLOW_TRACKING_URI") or str(Path(__file__).resolve().parents[1] / "runs")


def run_names(source: str) -> list[str]:
    """The run that was started last comes first."""
    if _is_server(source):
        return list(dict.fromkeys(run.info.run_name for run in _server_runs(source)))
    records = [(json.loads(path.read_text())["started"], path.parent.name) for path in Path(source).glob("*/run.json")]
    return [name for _, name in sorted(records, reverse=True)]


def curve(source: str, run: str, metric: str) -> list[Point]:
    """The values of a metric in order of steps: of metrics.jsonl, or of evals.jsonl for names such as eval/accuracy. Empty if the run has none."""
    values = _server_values(source, run, metric) if _is_server(source) else _folder_values(Path(source) / run, metric)
    return [{"run": run, "step": step, "value": value} for step, value in sorted(values.items())]


def running_mean(points: list[Point], window: int) -> list[Point]:
    """Each value becomes the mean of as many values around it, fewer at the ends."""
    reach = window // 2
    near = [[point["value"] for point in points[max(0, i - reach) : i + reach + 1]] for i in range(len(points))]
    return [{**point, "value": sum(values) / len(values)} for point, values in zip(points, near)]


def _is_server(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _folder_values(directory: Path, metric: str) -> dict[int, float]:
    is_held_out = metric.startswith("eval/")
    records = _lines(directory / ("evals.jsonl" if is_held_out else "metrics.jsonl"))
    values = ((record["step"], (record["metrics"] if is_held_out else record).get(metric)) for record in records)
    return {step: value for step, value in values if value is not None}


def _lines(path: Path) -> list[dict]:
    """A run that is training may be writing the last line."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _server_runs(source: str) -> list:
    from mlflow import MlflowClient

    client = MlflowClient(source)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    return list(client.search_runs(experiments, order_by=["attributes.start_time DESC"]))


def _server_values(source: str, run: str, metric: str) -> dict[int, float]:
    from mlflow import MlflowClient

    found = next((each for each in _server_runs(source) if each.info.run_name == run), None)
    if found is None:
        return {}
    history = MlflowClient(source).get_metric_history(found.info.run_id, metric.replace("@", "_at_"))
    # Steps that a resumed run made again count as they were made last.
    return {point.step: point.value for point in sorted(history, key=lambda point: point.timestamp)}
