"""Reads the raw lines of a repetition, window by window.

Files are read block by block, in any order; what is kept grows with windows and subjects. Of lines
only a digest is kept, so that one that was written or copied twice counts once, as it does in a
lake.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamgauge.experiments.engine_statistics import READ, EngineStatistics
from streamgauge.experiments.phases import KEYS as KEYS_OF_PHASES
from streamgauge.experiments.stages import KEYS, StageSums
from streamgauge.experiments.windows import (
    MICROSECONDS,
    Placement,
    Series,
    Since,
    Span,
    Times,
    WindowReadings,
)
from streamgauge.lake.bulk_decoding import parse
from streamgauge.lake.definition import Kind
from streamgauge.lake.line_blocks import LineBlocks
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Outcome, Trace

ENDINGS = (".jsonl", ".jsonl.gz")
# Any two of a hundred million lines share such a digest with a chance of four in a billion.
_DIGEST_BYTES = 10
# Streams and operators of the engine itself.
_SYSTEM = "__"
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
    Metric.NETWORK_BYTES_SENT: "worker",
    Metric.NODE_CPU: "node",
    Metric.MACHINE_CPU: "machine",
    Metric.MACHINE_STOLEN: "machine",
    Metric.MACHINE_CORES: "machine",
}
# Latencies to sinks, and since what.
_TO_SINKS = {
    Metric.END_TO_END_LATENCY_SUM: Since.EMISSION,
    Metric.END_TO_END_LATENCY_BIN: Since.EMISSION,
    Metric.SINCE_DUE_LATENCY_SUM: Since.DUE,
    Metric.SINCE_DUE_LATENCY_BIN: Since.DUE,
}
_OF_TREES = (Metric.COMPLETE_LATENCY_SUM, Metric.COMPLETE_LATENCY_BIN)
_READ = (*_SUMMED, *_TO_SINKS, *_OF_TREES)
_OF_PHASES = pa.array(sorted(metric.label for metric in KEYS_OF_PHASES))


class Readings:
    """Gathers the lines of one repetition.

    Attributes:
        stages: Sums by executor, where stages are asked for.
        phases: Sums by executor and worker, of the engine's messages too, where phases are.
        engine: Queues, messages and memory, where these are asked for.
        repeated: Lines that had been read before.
        rejected: Lines that are no records.
        faults: Files that could be read only in part, and why.
    """

    def __init__(
        self,
        placement: Placement,
        span: Span,
        *,
        stages: bool = False,
        phases: bool = False,
        engine_statistics: bool = False,
    ) -> None:
        self.placement = placement
        self.span = span
        self.stages = StageSums(span.windows) if stages else None
        self.phases = StageSums(span.windows, KEYS_OF_PHASES, with_system=True) if phases else None
        self.engine = EngineStatistics(placement, span.windows) if engine_statistics else None
        read = {*_READ, *(KEYS if stages else ()), *(READ if engine_statistics else ())}
        self._read = pa.array(sorted(metric.label for metric in read))
        self.windows = [WindowReadings() for _ in range(span.windows)]
        self.series = Series.of_length(span.buckets)
        # Traces tell of latency where sinks do not.
        self.traced_series = Series.of_length(span.buckets)
        self.lines = 0
        self.repeated = 0
        self.rejected = 0
        self.faults: list[str] = []
        self._seen: set[bytes] = set()

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
        kept = self._find_windows(table.filter(_is_of_job(table, self._read)))
        for metric, rows in _split(kept):
            if metric in _SUMMED:
                self._take_sums(metric, rows)
            elif metric in _OF_TREES:
                self._take_trees(metric, rows)
            elif metric in _TO_SINKS:
                self._take_latencies(metric, rows)
            if self.stages is not None and metric in KEYS:
                self.stages.take(metric, rows)
            if self.engine is not None:
                self.engine.take(metric, rows)
        if self.phases is not None:
            of_phases = pc.is_in(table["metric"], value_set=_OF_PHASES)
            for metric, rows in _split(self._find_windows(table.filter(of_phases))):
                self.phases.take(metric, rows)

    def _find_windows(self, wanted: pa.Table) -> pa.Table:
        """Rows of the windows, with the places of window and bucket."""
        span = self.span
        half = pc.multiply(wanted["bucket_seconds"], MICROSECONDS / 2.0).to_numpy()
        middle = wanted["bucket_start"].cast(pa.int64()).to_numpy() + half - span.start_us
        window = np.floor(middle / span.window_us).astype(np.int64)
        bucket = np.floor(middle / span.bucket_us).astype(np.int64)
        inside = (window >= 0) & (window < span.windows)
        return (
            wanted.append_column("window", pa.array(window))
            .append_column("bucket", pa.array(np.minimum(bucket, span.buckets - 1)))
            .filter(pa.array(inside))
        )

    def _take_trees(self, metric: Metric, rows: pa.Table) -> None:
        for row in _group(rows, "component", *_bin_of(metric)):
            _add_times(self.windows[row["window"]].trees[row["component"]], row)

    def _take_latencies(self, metric: Metric, rows: pa.Table) -> None:
        since = _TO_SINKS[metric]
        for row in _group(rows, "component", "task", "source_component", *_bin_of(metric)):
            source = row["source_component"]
            one_clock = self.placement.operator_shares_clock(source, row["task"])
            to_sinks = self.windows[row["window"]].to_sinks
            _add_times(to_sinks[since, source, row["component"], one_clock], row)
        if not _bin_of(metric):
            self.series.add_latencies(
                since, *(rows[column].to_numpy() for column in ("bucket", "value", "count"))
            )

    def _take_sums(self, metric: Metric, rows: pa.Table) -> None:
        by = _SUMMED[metric]
        for row in _group(rows, by):
            sums = self.windows[row["window"]].sums[metric, row[by]]
            sums.add(row["value"], row["seconds"], row["most"])
        if metric is Metric.EMITTED:
            sources = pa.array(self.placement.sources, pa.string())
            from_sources = pc.is_in(rows["component"], value_set=sources)
            self._along(rows.filter(from_sources), self.series.emitted, "value")
        elif metric is Metric.BACKPRESSURE_HELD:
            self._along(rows, self.series.held_ns, "value")

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
        place = min((ended_us - self.span.start_us) // self.span.bucket_us, self.span.buckets - 1)
        taken = {Since.EMISSION: trace.latency_ns}
        if way[0] in self.placement.paced:
            # To its source a tuple comes when it is due, and times count from its emission.
            taken[Since.DUE] = trace.latency_ns - trace.hops[0].arrived_ns
        for since, latency_ns in taken.items():
            self.windows[window].on_paths[since, way, one_clock].add_single(latency_ns)
            self.traced_series.add_latencies(since, place, latency_ns, 1.0)


def list_raw_files(folder: Path) -> list[Path]:
    """The files of raw lines in a folder, finished ones only."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.name.endswith(ENDINGS) and path.name[0] not in "._"
    )


def _split(rows: pa.Table) -> Iterator[tuple[Metric, pa.Table]]:
    metrics = rows["metric"]
    for label in pc.unique(metrics).to_pylist():
        yield Metric[label.upper()], rows.filter(pc.equal(metrics, label))


def _is_of_job(table: pa.Table, read: pa.Array) -> pa.ChunkedArray:
    """Which rows are of metrics that are read, and not of what the engine tells operators."""
    system = pc.fill_null(pc.starts_with(table["stream"], _SYSTEM), False)
    own = pc.fill_null(pc.starts_with(table["component"], _SYSTEM), False)
    return pc.and_(pc.is_in(table["metric"], value_set=read), pc.or_(pc.invert(system), own))


def _bin_of(metric: Metric) -> Sequence[str]:
    """The column of a histogram's bin; none for a sum."""
    return ("bin",) if metric.kind is Kind.HISTOGRAM_BIN else ()


def _add_times(times: Times, row: dict[str, Any]) -> None:
    if "bin" in row:
        times.add_bin(row["bin"], int(row["value"]))
    else:
        times.add_sum(row["value"], row["count"])


def _group(rows: pa.Table, *by: str) -> Iterator[dict[str, Any]]:
    """Sums of value, count and seconds, and the largest value, by window and these columns."""
    grouped = rows.group_by(["window", *by]).aggregate(
        [("value", "sum"), ("count", "sum"), ("bucket_seconds", "sum"), ("value", "max")]
    )
    for row in grouped.to_pylist():
        yield {
            **row,
            "value": row["value_sum"],
            "count": row["count_sum"],
            "seconds": row["bucket_seconds_sum"],
            "most": row["value_max"],
        }
