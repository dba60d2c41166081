"""What a benchmark of an engine lists beside latency and throughput (Bedini et al. 2013, 6.1).

Queues with their growth, messages between workers and nodes, and memory, from the same raw lines.
CPU by thread is among the other figures. What management takes no runner measures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from streamgauge.experiments.figures import ALL, FigureKind, Figures, Key, Value
from streamgauge.experiments.windows import Placement
from streamgauge.lake.metrics import Metric

SYSTEM = "__"
READ = (Metric.QUEUE_POPULATION, Metric.TRANSFERRED, Metric.RESIDENT_MEMORY)
_Course = dict[str, dict[int, float]]


class EngineStatistics:
    """Gathers them window by window.

    Args:
        placement: Who runs where.
        windows: How many windows there are.
    """

    def __init__(self, placement: Placement, windows: int) -> None:
        self._worker = {
            task: (one.worker, one.node)
            for one in placement.executors
            for task in range(one.first_task, one.last_task + 1)
        }
        self._queues: list[_Course] = [defaultdict(dict) for _ in range(windows)]
        self._memory: list[dict[str, list[float]]] = [defaultdict(list) for _ in range(windows)]
        self._messages = np.zeros((windows, 2))

    def take(self, metric: Metric, rows: pa.Table) -> None:
        """Add rows of one metric, whose windows and buckets are in columns of these names."""
        if metric is Metric.QUEUE_POPULATION:
            self._take_queues(rows)
        elif metric is Metric.TRANSFERRED:
            self._take_messages(rows)
        elif metric is Metric.RESIDENT_MEMORY:
            for row in rows.select(["window", "worker", "value"]).to_pylist():
                self._memory[row["window"]][row["worker"]].append(row["value"])

    def _take_queues(self, rows: pa.Table) -> None:
        """Of an operator all receive queues together; of a worker each of its own queues."""
        by = ["window", "bucket", "component", "worker", "queue"]
        summed = rows.group_by(by).aggregate([("value", "sum")])
        for row in summed.to_pylist():
            owner = row["component"] or f"worker {row['worker']}"
            if not owner.startswith(SYSTEM):
                course = self._queues[row["window"]][f"{owner}, {row['queue']}"]
                course[row["bucket"]] = course.get(row["bucket"], 0.0) + row["value_sum"]

    def _take_messages(self, rows: pa.Table) -> None:
        by = ["window", "source_component", "component", "source_task", "task"]
        for row in rows.group_by(by).aggregate([("value", "sum")]).to_pylist():
            is_system = any(row[name].startswith(SYSTEM) for name in by[1:3])
            ends = [self._worker.get(row[name]) for name in ("source_task", "task")]
            if is_system or None in ends:
                continue
            (worker, node), (other, other_node) = (end for end in ends if end is not None)
            self._messages[row["window"]] += row["value_sum"] * np.asarray(
                [worker != other, node != other_node]
            )

    def list_figures(self, window: int, seconds: float, bucket_seconds: float) -> Figures:
        """Those of one window, of which so many seconds were reported."""
        return {
            **dict(self._list_queues(window, bucket_seconds)),
            **dict(self._list_messages(window, seconds)),
            **{
                Key(FigureKind.MEMORY, f"worker {worker}", "resident_bytes"): Value(
                    float(np.mean(seen))
                )
                for worker, seen in self._memory[window].items()
            },
        }

    def _list_queues(self, window: int, bucket_seconds: float) -> Iterator[tuple[Key, Value]]:
        for name, course in self._queues[window].items():
            sizes = np.asarray([course[bucket] for bucket in sorted(course)])
            yield Key(FigureKind.QUEUE, name, "mean_tuples"), Value(float(sizes.mean()))
            if len(sizes) > 1:
                times = np.asarray(sorted(course)) * bucket_seconds
                growth = float(np.polyfit(times - times.mean(), sizes, 1)[0])
                yield Key(FigureKind.QUEUE, name, "growth_per_second"), Value(growth)

    def _list_messages(self, window: int, seconds: float) -> Iterator[tuple[Key, Value]]:
        names = ("between_workers_per_second", "between_nodes_per_second")
        for name, amount in zip(names, self._messages[window].tolist(), strict=True):
            yield Key(FigureKind.MESSAGES, ALL, name), Value(amount / seconds, int(amount))
