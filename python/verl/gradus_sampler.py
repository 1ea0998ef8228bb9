"""verl's replay buffer, which also logs the metrics of episodes under the names of Gradus, after `gradus/`."""

from collections import defaultdict
from statistics import fmean, stdev

import transfer_queue
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

REPORTS = "gradus"
"""The partition in which gradus_agent_loop.py reports episodes."""

STOP_REASONS = ("completed", "max_turns", "max_tokens", "max_tool_calls", "parse_error", "context_overflow", "timeout", "error", "cancelled")


class GradusReplayBuffer(ReplayBuffer):
    """run.sh names it as verl's custom sampler. verl does not tell such a sampler how it filters groups, so run.sh repeats that in `sampler_kwargs`."""

    def __init__(self, **given):
        settings = dict(given["sampler_kwargs"])
        self.num_generations = settings.pop("num_generations")
        self.min_group = settings.pop("min_group")
        super().__init__(**given, **settings)
        self.selected: set[str] = set()

    def _sync_metadata_from_transfer_queue(self):
        super()._sync_metadata_from_transfer_queue()
        # A group without a played episode has nothing to filter by, which the filter would report as an error.
        for partition_id, finished in self.finished_keys.items():
            played = {key.split("_")[0] for key in self.partitions[partition_id]}
            for uid in finished - played:
                finished.remove(uid)
                self.failure_keys[partition_id].add(uid)

    def _clear_groups(self, partition_id, uids):
        super()._clear_groups(partition_id, uids)
        clear_reports(uids)

    def _materialize_batch(self, partition_id, selected_prompt_uids, partition_snapshot):
        self.selected = set(selected_prompt_uids)
        left_out = self._few(partition_snapshot) if partition_id == "train" else []
        if left_out:
            transfer_queue.kv_clear(partition_id=partition_id, keys=left_out)
            partition_snapshot = {key: tag for key, tag in partition_snapshot.items() if key not in left_out}
        batch = super()._materialize_batch(partition_id, selected_prompt_uids, partition_snapshot)
        if not batch.keys and left_out:
            raise RuntimeError("no group of this step has enough episodes with a score: the log says why they failed")
        return batch

    def _few(self, partition_snapshot) -> list[str]:
        """The rows of groups with too few episodes left to compare after failures; verl would use a single one's score as its advantage."""
        rows, sessions = defaultdict(list), defaultdict(set)
        for key in partition_snapshot:
            uid, session, _ = key.rsplit("_", 2)
            if uid in self.selected:
                rows[uid].append(key)
                sessions[uid].add(session)
        enough = {uid: max(2, self.min_group) if len(played) < self.num_generations else 2 for uid, played in sessions.items()}
        return [key for uid, keys in rows.items() if len(sessions[uid]) < enough[uid] for key in keys]

    def sample(self, global_steps, partition_id, batch_size):
        batch, metrics = super().sample(global_steps, partition_id, batch_size)
        if partition_id != "train":
            return batch, metrics
        reports = [tag for key, tag in reported().items() if key.split("_")[0] in self.selected]
        clear_reports(self.selected)
        return batch, {**metrics, **{f"gradus/{name}": value for name, value in rollout_metrics(reports).items()}}


def reported() -> dict[str, dict]:
    return (transfer_queue.kv_list(partition_id=REPORTS) or {}).get(REPORTS, {})


def clear_reports(uids) -> None:
    keys = [key for key in reported() if key.split("_")[0] in uids]
    if keys:
        transfer_queue.kv_clear(keys=keys, partition_id=REPORTS)


def rollout_metrics(reports: list[dict]) -> dict[str, float]:
    """The metrics of docs/agent/metrics.md that need no tokens; `rows/mean` is the mean number of rows of a rollout that verl trains on."""
    if not reports:
        return {}
    acted = [report for report in reports if report["turns"] > 0]
    cut = [report for report in acted if report["stop_reason"] in ("max_tokens", "context_overflow")]
    lengths = [report["sampled_tokens"] for report in acted]
    retries = [report["retries"] for report in reports if "retries" in report]
    judged = [report for report in reports if report["rewards"]]
    metrics = means([report["metrics"] for report in reports])
    if acted:
        metrics |= {
            "completions/mean_length": fmean(lengths),
            "completions/min_length": min(lengths),
            "completions/max_length": max(lengths),
            "completions/clipped_ratio": len(cut) / len(acted),
            "num_turns/mean": fmean(report["turns"] for report in acted),
        }
    for reason in STOP_REASONS:
        metrics[f"stop/{reason}"] = fmean(report["stop_reason"] == reason for report in reports)
    if retries:
        metrics["retries/mean"] = fmean(retries)
    for name, values in by_name([report["rewards"] for report in reports]).items():
        metrics[f"rewards/{name}/mean"] = fmean(values)
        if len(values) > 1:
            metrics[f"rewards/{name}/std"] = stdev(values)
    if judged:
        metrics["frac_reward_errors"] = fmean("reward_errors" in report for report in judged)
    metrics["rows/mean"] = fmean(report["rows"] for report in reports)
    return metrics


def means(records: list[dict]) -> dict[str, float]:
    return {name: fmean(values) for name, values in by_name(records).items()}


def by_name(records: list[dict]) -> dict[str, list[float]]:
    """The values of each name, without missing ones."""
    values = defaultdict(list)
    for record in records:
        for name, value in record.items():
            if value is not None:
                values[name].append(value)
    return dict(values)
