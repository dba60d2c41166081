"""What the raw lines of a repetition say, gathered window by window in bounded memory.

Samples count for the window that the middle of their bucket lies in, traces for the one that they
ended in. Files are read block by block, in any order; what is kept grows with windows and subjects.
Of lines only a digest is kept, so that one that was written or copied twice counts once, as it does
in a lake.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamgauge.experiments.distributions import Times
from streamgauge.experiments.placements import Placement
from streamgauge.lake.columns import parse
from streamgauge.lake.line_blocks import LineBlocks
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Outcome, Trace

MICROSECONDS = 1e6
ENDINGS = (".jsonl", ".jsonl.gz")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Any two of a hundred million lines share such a digest with a chance of four in a billion.
_DIGEST_BYTES = 10
# Streams and operators of the engine itself.
_SYSTEM = "__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The windows of a repetition, one after the other.

    Attributes:
        start_us: When the first begins, in microseconds since 1970.
        windows: How many.
        window_us: How long each is.
        bucket_us: Time that one sample spans.
    """

    start_us: int
    windows: int
    window_us: int
    bucket_us: int

    @classmethod
    def of(
        cls, start: datetime, *, windows: int, window_seconds: float, bucket_seconds: float
    ) -> Span:
        """The windows from a time on."""
        return cls(
            start_us=(start - _EPOCH) // timedelta(microseconds=1),
            windows=windows,
            window_us=round(window_seconds * MICROSECONDS),
            bucket_us=round(bucket_seconds * MICROSECONDS),
        )

    @property
    def window_seconds(self) -> float:
        """Length of a window."""
        return self.window_us / MICROSECONDS

    @property
    def bucket_seconds(self) -> float:
        """Length of a bucket."""
        return self.bucket_us / MICROSECONDS

    @property
    def buckets(self) -> int:
        """Buckets of all windows."""
        return max(round(self.windows * self.window_us / self.bucket_us), 1)

    def window_of(self, time_us: int) -> int | None:
        """The window that a time lies in."""
        place = (time_us - self.start_us) // self.window_us
        return place if 0 <= place < self.windows else None


@dataclass(slots=True)
class Total:
    """A quantity that adds up: how much, and in how much reported time."""

    value: float = 0.0
    seconds: float = 0.0
    most: float = 0.0

    def add(self, value: float, seconds: float, most: float) -> None:
        """More of it."""
        self.value += value
        self.seconds += seconds
        self.most = max(self.most, most)


@dataclass(slots=True)
class WindowReadings:
    """All that is known of one window.

    Attributes:
        to_sinks: Time from a root to a sink by (source, sink, whether their clock is one).
        on_paths: The same of traces, by operators on the way and whether the clock is one.
        trees: Complete latency by source.
        sums: Other metrics by metric and subject.
    """

    to_sinks: dict[tuple[str, str, bool], Times] = field(default_factory=lambda: defaultdict(Times))
    on_paths: dict[tuple[tuple[str, ...], bool], Times] = field(
        default_factory=lambda: defaultdict(Times)
    )
    trees: dict[str, Times] = field(default_factory=lambda: defaultdict(Times))
    sums: dict[tuple[Metric, str], Total] = field(default_factory=lambda: defaultdict(Total))

    def of(self, metric: Metric) -> list[tuple[str, Total]]:
        """The subjects of a metric by name, with what they spent."""
        mine = [(subject, spent) for (one, subject), spent in self.sums.items() if one is metric]
        return sorted(mine, key=lambda one: one[0])


@dataclass(slots=True)
class Series:
    """How a repetition went, bucket by bucket.

    Attributes:
        latency_ns: Sum of the latencies at sinks.
        arrived: How many these are.
        emitted: Tuples that sources emitted.
        held_ns: Time in which executors were held back, all together.
    """

    latency_ns: NDArray[np.float64]
    arrived: NDArray[np.float64]
    emitted: NDArray[np.float64]
    held_ns: NDArray[np.float64]

    @classmethod
    def of_length(cls, buckets: int) -> Series:
        """Nothing has happened."""
        return cls(*(np.zeros(buckets) for _ in range(4)))


class Readings:
    """Gathers the lines of one repetition.

    Args:
        placement: Who ran where.
        span: Its windows.

    Attributes:
        windows: What was read of each.
        series: How it went.
        lines: Lines read.
        repeated: Lines that had been read before.
        rejected: Lines that are no records.
        faults: Files that could be read only in part, and why.
    """

    def __init__(self, placement: Placement, span: Span) -> None:
        self.placement = placement
        self.span = span
        self.windows = [WindowReadings() for _ in range(span.windows)]
        self.series = Series.of_length(span.buckets)
        # Traces tell of latency where sinks do not.
        self.traced_series = Series.of_length(span.buckets)
        self.lines = 0
        self.repeated = 0
        self.rejected = 0
        self.faults: list[str] = []
        self._seen: set[bytes] = set()
        self._takers: dict[Metric, Callable[[pa.Table], None]] = {
            Metric.END_TO_END_LATENCY_SUM: self._sink_sums,
            Metric.END_TO_END_LATENCY_BIN: self._sink_bins,
            Metric.COMPLETE_LATENCY_SUM: self._tree_sums,
            Metric.COMPLETE_LATENCY_BIN: self._tree_bins,
            **{metric: self._summed(metric, by) for metric, by in _SUMMED.items()},
        }
        self._wanted = pa.array([metric.label for metric in self._takers])

    def read(self, folder: Path) -> None:
        """Take all files of raw lines in a folder."""
        for path in list_raw_files(folder):
            lines = LineBlocks(str(path))
            for block in lines.blocks():
                self._take(block)
            if lines.fault is not None:
                self.faults.append(f"{path.name}: {lines.fault}")

    def _take(self, block: Sequence[bytes]) -> None:
        new = [line for line in block if self._is_new(line)]
        parsed = parse(new)
        self.lines += len(block)
        self.repeated += len(block) - len(new)
        self.rejected += len(parsed.rejected)
        for table, _ in parsed.samples:
            self._take_samples(table)
        for record, _ in parsed.records:
            if isinstance(record, Trace):
                self._take_trace(record)

    def _is_new(self, line: bytes) -> bool:
        digest = blake2b(line, digest_size=_DIGEST_BYTES).digest()
        before = len(self._seen)
        self._seen.add(digest)
        return len(self._seen) > before

    def _take_samples(self, table: pa.Table) -> None:
        wanted = table.filter(_is_of_job(table, self._wanted))
        span = self.span
        half = pc.multiply(wanted["bucket_seconds"], MICROSECONDS / 2.0).to_numpy()
        middle = wanted["bucket_start"].cast(pa.int64()).to_numpy() + half - span.start_us
        window = np.floor(middle / span.window_us).astype(np.int64)
        bucket = np.floor(middle / span.bucket_us).astype(np.int64)
        inside = (window >= 0) & (window < span.windows)
        kept = (
            wanted.append_column("window", pa.array(window))
            .append_column("bucket", pa.array(np.minimum(bucket, span.buckets - 1)))
            .filter(pa.array(inside))
        )
        metrics = kept["metric"]
        for label in pc.unique(metrics).to_pylist():
            taken = self._takers[Metric[label.upper()]]
            taken(kept.filter(pc.equal(metrics, label)))

    def _sink_sums(self, rows: pa.Table) -> None:
        for row in _group(rows, "component", "task", "source_component"):
            key = self._ends(row)
            self.windows[row["window"]].to_sinks[key].add_sum(row["value"], row["count"])
        self._along(rows, self.series.latency_ns, "value")
        self._along(rows, self.series.arrived, "count")

    def _sink_bins(self, rows: pa.Table) -> None:
        for row in _group(rows, "component", "task", "source_component", "bin"):
            key = self._ends(row)
            self.windows[row["window"]].to_sinks[key].add_bin(row["bin"], int(row["value"]))

    def _ends(self, row: dict[str, Any]) -> tuple[str, str, bool]:
        source, sink = row["source_component"], row["component"]
        return source, sink, self.placement.operator_shares_clock(source, row["task"])

    def _tree_sums(self, rows: pa.Table) -> None:
        for row in _group(rows, "component"):
            times = self.windows[row["window"]].trees[row["component"]]
            times.add_sum(row["value"], row["count"])

    def _tree_bins(self, rows: pa.Table) -> None:
        for row in _group(rows, "component", "bin"):
            times = self.windows[row["window"]].trees[row["component"]]
            times.add_bin(row["bin"], int(row["value"]))

    def _summed(self, metric: Metric, by: str) -> Callable[[pa.Table], None]:
        def take(rows: pa.Table) -> None:
            for row in _group(rows, by):
                sums = self.windows[row["window"]].sums[metric, row[by]]
                sums.add(row["value"], row["seconds"], row["most"])
            if metric is Metric.EMITTED:
                from_sources = pc.is_in(
                    rows["component"], value_set=pa.array(self.placement.sources, pa.string())
                )
                self._along(rows.filter(from_sources), self.series.emitted, "value")
            elif metric is Metric.BACKPRESSURE_HELD:
                self._along(rows, self.series.held_ns, "value")

        return take

    def _along(self, rows: pa.Table, series: NDArray[np.float64], column: str) -> None:
        np.add.at(series, rows["bucket"].to_numpy(), rows[column].to_numpy())

    def _take_trace(self, trace: Trace) -> None:
        if trace.outcome == Outcome.FAILED or trace.latency_ns < 0 or len(trace.hops) < 2:
            return
        ended_us = trace.started_at_us + trace.latency_ns // 1000
        window = self.span.window_of(ended_us)
        if window is None:
            return
        way = tuple(hop.component for hop in trace.hops)
        one_clock = self.placement.tasks_share_clock(trace.hops[0].task, trace.hops[-1].task)
        self.windows[window].on_paths[way, one_clock].add_single(trace.latency_ns)
        place = min((ended_us - self.span.start_us) // self.span.bucket_us, self.span.buckets - 1)
        self.traced_series.latency_ns[place] += trace.latency_ns
        self.traced_series.arrived[place] += 1.0


# Metrics that only add up, and whom they are of.
_SUMMED = {
    Metric.EMITTED: "component",
    Metric.EXECUTED: "component",
    Metric.BACKPRESSURE_CAUSED: "component",
    Metric.BACKPRESSURE_HELD: "component",
    Metric.EXECUTOR_CPU: "executor",
    Metric.WORKER_CPU: "worker",
    Metric.WORKER_HEARTBEATS: "worker",
    Metric.GC_TIME: "worker",
    Metric.NODE_CPU: "node",
    Metric.MACHINE_CPU: "machine",
    Metric.MACHINE_STOLEN: "machine",
    Metric.MACHINE_CORES: "machine",
}


def list_raw_files(folder: Path) -> list[Path]:
    """The files of raw lines in a folder, finished ones only."""
    found = [path for path in folder.rglob("*") if path.name.endswith(ENDINGS)]
    return sorted(path for path in found if path.name[0] not in "._")


def _is_of_job(table: pa.Table, metrics: pa.Array) -> pa.ChunkedArray:
    """Which rows are of these metrics, and not of what the engine tells the job's operators."""
    system = pc.fill_null(pc.starts_with(table["stream"], _SYSTEM), False)
    own = pc.fill_null(pc.starts_with(table["component"], _SYSTEM), False)
    return pc.and_(pc.is_in(table["metric"], value_set=metrics), pc.or_(pc.invert(system), own))


def _group(rows: pa.Table, *by: str) -> Iterator[dict[str, Any]]:
    """Sums of value, count and seconds, and the largest value, by window and these columns."""
    grouped = rows.group_by(["window", *by]).aggregate(
        [("value", "sum"), ("count", "sum"), ("bucket_seconds", "sum"), ("value", "max")]
    )
    named: Iterable[dict[str, Any]] = grouped.to_pylist()
    for row in named:
        yield {
            **row,
            "value": row["value_sum"],
            "count": row["count_sum"],
            "seconds": row["bucket_seconds_sum"],
            "most": row["value_max"],
        }
