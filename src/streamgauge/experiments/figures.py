"""Figures of a window, or of several together, and the rule by which a window does not count."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from streamgauge.experiments.experiment import Marking
from streamgauge.experiments.windows import (
    NANOSECONDS,
    Placement,
    Since,
    Span,
    Times,
    WindowReadings,
)
from streamgauge.lake.metrics import Metric

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
TAIL = "p99"
# A tail from fewer says more of chance than of the job.
LEAST_FOR_TAIL = 10_000
ALL = "all"
ONE_CLOCK = "all with one clock"
TWO_CLOCKS = " (two clocks)"
FROM = "from "


class FigureKind(StrEnum):
    """What a figure is about; values are the words of result files.

    LATENCY: From emission at a source to a sink.
    SINCE_DUE: From when a tuple was due to a sink.
    PATH: On one path from emission on, traced.
    PATH_SINCE_DUE: The same since tuples were due.
    COMPLETE: Of whole tuple trees.
    THROUGHPUT: Tuples per second.
    CPU: Cores in use.
    NETWORK: Bytes that workers send to each other.
    BACK_PRESSURE: How long senders were held back, and how often.

    Where statistics of the engine are asked for:

    QUEUE: Tuples that wait in queues, and how fast they become more.
    MESSAGES: Tuples between workers, and between nodes.
    MEMORY: What workers hold.

    Of repetitions only, where stages are asked for:

    ROUTING: Parts of a stream that executors send to each other.
    ARRIVAL: Tuples that executors and operators execute, per second.
    OUTPUT: Tuples that executors emit, per second.
    SERVICE: Time of a tuple in an executor.
    LIST_SIZE: Tuples in a list that enters a queue.
    LOAD: How much of what is due, or comes, is emitted and served.
    GROUND_TRUTH: Latency to sinks as Cooper 2020 cleans it.
    """

    LATENCY = "latency"
    SINCE_DUE = "latency-since-due"
    PATH = "path"
    PATH_SINCE_DUE = "path-since-due"
    COMPLETE = "complete"
    THROUGHPUT = "throughput"
    CPU = "cpu"
    NETWORK = "network"
    BACK_PRESSURE = "back-pressure"
    QUEUE = "queue"
    MESSAGES = "messages"
    MEMORY = "memory"
    ROUTING = "routing"
    ARRIVAL = "arrival"
    OUTPUT = "output"
    SERVICE = "service"
    LIST_SIZE = "list-size"
    LOAD = "load"
    GROUND_TRUTH = "ground-truth"

    @property
    def unit(self) -> str:
        """What figures of this kind are measured in."""
        other = {
            FigureKind.THROUGHPUT: "tuples/s",
            FigureKind.CPU: "cores",
            FigureKind.NETWORK: "bytes/s",
            FigureKind.BACK_PRESSURE: "1",
            FigureKind.QUEUE: "tuples",
            FigureKind.MESSAGES: "tuples/s",
            FigureKind.MEMORY: "bytes",
            FigureKind.ROUTING: "1",
            FigureKind.ARRIVAL: "tuples/s",
            FigureKind.OUTPUT: "tuples/s",
            FigureKind.LIST_SIZE: "tuples",
            FigureKind.LOAD: "1",
        }
        return other.get(self, "s")


class Key(NamedTuple):
    """What a figure is of: what is measured, of whom, and which figure of it."""

    kind: FigureKind
    subject: str
    quantity: str

    @property
    def unit(self) -> str:
        """What it is measured in."""
        own = {"event_seconds": "s", "slowdown": "1", "carried_per_second": "tuples/s"}
        own |= {"growth_per_second": "tuples/s"}
        return own.get(self.quantity, self.kind.unit)


_TO_SINKS = {Since.EMISSION: FigureKind.LATENCY, Since.DUE: FigureKind.SINCE_DUE}
_PATHS = {Since.EMISSION: FigureKind.PATH, Since.DUE: FigureKind.PATH_SINCE_DUE}


class Value(NamedTuple):
    """A figure, and how many observations it rests on where they can be counted."""

    value: float
    observed: int | None = None


Figures = dict[Key, Value]


def compute_figures(window: WindowReadings, placement: Placement, span: Span) -> Figures:
    """Everything that is said of one window."""
    seconds = find_covered_seconds(window, placement, span)
    return {
        **dict(compute_latencies(window)),
        **dict(_list_throughput(window, placement, seconds)),
        **dict(_list_cpu(window, seconds)),
        **dict(_list_network(window, seconds)),
        **dict(_list_back_pressure(window, seconds)),
    }


def compute_latencies(window: WindowReadings) -> Iterator[tuple[Key, Value]]:
    """Latencies to sinks, on paths and of trees; those of sinks by traces where need be."""
    for (since, way, one_clock), times in sorted(window.on_paths.items()):
        yield from _list_times(_PATHS[since], " → ".join(way) + _name_clocks(one_clock), times)
    for since, kind in _TO_SINKS.items():
        to_sinks = group_by_sink(window, since)
        for (source, sink, one_clock), times in sorted(to_sinks.items()):
            yield from _list_times(kind, f"{source} → {sink}{_name_clocks(one_clock)}", times)
        for source in sorted({source for source, _, _ in to_sinks}):
            of_source = [times for (one, _, _), times in to_sinks.items() if one == source]
            yield from _list_times(kind, f"{FROM}{source}", merge_times(of_source))
        yield from _list_times(kind, ALL, merge_times(to_sinks.values()))
        alike = [times for (_, _, one_clock), times in to_sinks.items() if one_clock]
        yield from _list_times(kind, ONE_CLOCK, merge_times(alike))
    for source, times in sorted(window.trees.items()):
        yield from _list_times(FigureKind.COMPLETE, source, times)
    yield from _list_times(FigureKind.COMPLETE, ALL, merge_times(window.trees.values()))


def group_by_sink(window: WindowReadings, since: Since) -> dict[tuple[str, str, bool], Times]:
    """Latencies by source and sink: what sinks tell, and traces of sinks that tell nothing."""
    by_ends = {
        (source, sink, one_clock): times
        for (of, source, sink, one_clock), times in window.to_sinks.items()
        if of is since
    }
    told = {sink for _, sink, _ in by_ends}
    for (of, way, one_clock), times in window.on_paths.items():
        if of is since and way[-1] not in told:
            by_ends.setdefault((way[0], way[-1], one_clock), Times()).merge(times)
    return by_ends


def clean_ground_truth(window: WindowReadings) -> Iterator[tuple[Key, Value]]:
    """Mean latency since emission of traced tuples between ends of one clock, without the tail.

    What takes longer than the 90th percentile of complete latency is dropped (Cooper 2020, section
    5.7; the caption of its figure 5.22 has the average). Nothing where trees are not tracked.
    """
    cut = merge_times(window.trees.values()).quantile_seconds(0.9)
    eligible = merge_times(
        times
        for (since, _, one_clock), times in window.on_paths.items()
        if since is Since.EMISSION and one_clock
    )
    kept = eligible.up_to(cut)
    if kept.count:
        key = Key(FigureKind.GROUND_TRUTH, ALL, "mean")
        yield key, Value(kept.mean_seconds, round(kept.count))


def merge_times(parts: Iterable[Times]) -> Times:
    """All of them together.

    Where some were counted in classes and others seen one by one, the quantiles rest on the first.
    """
    together = Times()
    for part in parts:
        together.merge(part)
    return together


def find_covered_seconds(window: WindowReadings, placement: Placement, span: Span) -> float:
    """The time that the window's reports span; its length where no worker reported."""
    reported = [find_reported_seconds(window, worker) for worker in placement.workers]
    longest = max(reported, default=0.0)
    return longest if longest > 0.0 else span.window_seconds


def find_reported_seconds(window: WindowReadings, worker: str) -> float:
    """The time that a worker reported of."""
    key = (Metric.WORKER_HEARTBEATS, worker)
    return window.sums[key].seconds if key in window.sums else 0.0


def _name_clocks(one_clock: bool) -> str:
    return "" if one_clock else TWO_CLOCKS


def _list_times(kind: FigureKind, subject: str, times: Times) -> Iterator[tuple[Key, Value]]:
    mean = times.mean_seconds
    if math.isfinite(mean):
        yield Key(kind, subject, "mean"), Value(mean, round(times.count))
    observed = times.observed
    for name, probability in QUANTILES.items():
        if observed and (name != TAIL or observed >= LEAST_FOR_TAIL):
            yield Key(kind, subject, name), Value(times.quantile_seconds(probability), observed)


def _list_throughput(
    window: WindowReadings, placement: Placement, seconds: float
) -> Iterator[tuple[Key, Value]]:
    in_all = 0.0
    for metric, name in (
        (Metric.EMITTED, "emitted_per_second"),
        (Metric.EXECUTED, "executed_per_second"),
    ):
        for operator, total in window.of(metric):
            key = Key(FigureKind.THROUGHPUT, operator, name)
            yield key, Value(total.value / seconds, int(total.value))
            if metric is Metric.EMITTED and operator in placement.sources:
                in_all += total.value
    key = Key(FigureKind.THROUGHPUT, ALL, "emitted_per_second")
    yield key, Value(in_all / seconds, int(in_all))


def _list_cpu(window: WindowReadings, seconds: float) -> Iterator[tuple[Key, Value]]:
    for metric, what in ((Metric.EXECUTOR_CPU, "executor"), (Metric.WORKER_CPU, "worker")):
        for subject, total in window.of(metric):
            cores = total.value / (seconds * NANOSECONDS)
            yield Key(FigureKind.CPU, f"{what} {subject}", "cores"), Value(cores)
    # Several processes may report on one machine: the mean of what they say, not the sum.
    for metric, what in ((Metric.NODE_CPU, "node"), (Metric.MACHINE_CPU, "machine")):
        for subject, total in window.of(metric):
            if total.seconds > 0.0:
                cores = total.value / (total.seconds * NANOSECONDS)
                yield Key(FigureKind.CPU, f"{what} {subject}", "cores"), Value(cores)
    workers = [total.value for _, total in window.of(Metric.WORKER_CPU)]
    if workers:
        cores = sum(workers) / (seconds * NANOSECONDS)
        yield Key(FigureKind.CPU, ALL, "cores"), Value(cores)


def _list_network(window: WindowReadings, seconds: float) -> Iterator[tuple[Key, Value]]:
    for worker, total in window.of(Metric.NETWORK_BYTES_SENT):
        key = Key(FigureKind.NETWORK, f"worker {worker}", "sent_per_second")
        yield key, Value(total.value / seconds)


def _list_back_pressure(window: WindowReadings, seconds: float) -> Iterator[tuple[Key, Value]]:
    for metric, name in (
        (Metric.BACKPRESSURE_CAUSED, "caused"),
        (Metric.BACKPRESSURE_HELD, "held"),
    ):
        totals = window.of(metric)
        by_operator = {operator: total.value for operator, total in totals}
        for subject, value in {**by_operator, ALL: sum(by_operator.values())}.items():
            share = value / (seconds * NANOSECONDS)
            yield Key(FigureKind.BACK_PRESSURE, subject, name), Value(share)


def list_marks(
    window: WindowReadings, placement: Placement, span: Span, rule: Marking
) -> tuple[str, ...]:
    """Why a window is left out, by a rule fixed before measuring; nothing where it counts."""
    marks = []
    for worker in placement.workers:
        reported = find_reported_seconds(window, worker)
        if reported < rule.coverage * span.window_seconds * (1.0 - 1e-9):
            marks.append(
                f"worker {worker} reported only {reported:g} s of {span.window_seconds:g} s"
            )
    cores = {machine: total.most for machine, total in window.of(Metric.MACHINE_CORES)}
    for machine, total in window.of(Metric.MACHINE_STOLEN):
        share = total.value / (total.seconds * NANOSECONDS * cores.get(machine, 1.0))
        if share > rule.stolen_share:
            marks.append(f"the host took {100 * share:.1f} % of machine {machine}")
    for worker, total in window.of(Metric.GC_TIME):
        if total.most > rule.collection_seconds * NANOSECONDS:
            marks.append(
                f"worker {worker} collected garbage for {total.most / NANOSECONDS:.2g} s in one "
                "bucket"
            )
    return tuple(marks)
