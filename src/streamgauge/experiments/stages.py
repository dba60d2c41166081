"""What a repetition did stage by stage: routing, rates, outputs, service times, lists.

A prediction computes these one after the other before it comes to a latency; measured, they tell
which stage is wrong. They are counts and sums over all windows of a repetition that count, executor
by executor, from the raw lines alone. Messages of the engine itself are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from streamgauge.experiments.figures import ALL, FigureKind, Figures, Key, Value
from streamgauge.experiments.windows import NANOSECONDS, Placement
from streamgauge.lake.metrics import Metric
from streamgauge.topology.topology import Topology

# Metrics, and what they are summed by beside the window; names of a sum are in this order.
KEYS: Mapping[Metric, tuple[str, ...]] = {
    Metric.TRANSFERRED: ("source_component", "stream", "component", "source_task", "task"),
    Metric.EXECUTED: ("component", "task", "source_component", "stream"),
    Metric.EMITTED: ("component", "task", "stream"),
    Metric.EXECUTE_LATENCY_SUM: ("component", "task"),
    Metric.EXECUTE_CPU_SUM: ("component", "task"),
    Metric.EMIT_LATENCY_SUM: ("component", "task"),
    Metric.EMIT_CPU_SUM: ("component", "task"),
    Metric.WINDOW_TRIGGERS: ("component", "task"),
    Metric.QUEUE_ARRIVALS: ("executor", "queue"),
    Metric.QUEUE_LISTS: ("executor", "queue"),
}
RECEIVE = "receive"
# Who serves, or emits, a smaller part than this of what comes, or is due, is overloaded.
SERVED = 0.98
# Components and streams of the engine itself begin with this.
SYSTEM = "__"

Names = tuple[str | int, ...]
Sums = dict[tuple[Metric, Names], tuple[float, float]]


class StageSums:
    """Sums of values and counts, window by window.

    Args:
        windows: How many there are.
        keys: What each metric is summed by.
        with_system: Whether the engine's own messages count.
    """

    def __init__(
        self,
        windows: int,
        keys: Mapping[Metric, tuple[str, ...]] = KEYS,
        *,
        with_system: bool = False,
    ) -> None:
        self._keys, self._with_system = keys, with_system
        self._windows: list[Sums] = [{} for _ in range(windows)]

    def take(self, metric: Metric, rows: pa.Table) -> None:
        """Add rows of one metric, whose windows are in a column of that name."""
        by = self._keys[metric]
        summed = rows.group_by(["window", *by]).aggregate([("value", "sum"), ("count", "sum")])
        for row in summed.to_pylist():
            names = tuple(row[name] for name in by)
            if not self._with_system and any(str(name).startswith(SYSTEM) for name in names):
                continue
            sums = self._windows[row["window"]]
            value, count = sums.get((metric, names), (0.0, 0.0))
            sums[metric, names] = (value + row["value_sum"], count + row["count_sum"])

    def pool(self, windows: Sequence[int]) -> Sums:
        """The sums of several windows together."""
        pooled: Sums = {}
        for place in windows:
            for key, (value, count) in self._windows[place].items():
                before = pooled.get(key, (0.0, 0.0))
                pooled[key] = (before[0] + value, before[1] + count)
        return pooled


def name_route(source: str, stream: str, target: str, sender: str, receiver: str) -> str:
    """What the share of a connection is called."""
    return f"{source}/{stream} → {target}: {sender} → {receiver}"


def name_input(executor: str, source: str, stream: str) -> str:
    """What an executor's input from one stream is called."""
    return f"{executor} ← {source}/{stream}"


def name_output(executor: str, stream: str) -> str:
    """What an executor's output on one stream is called."""
    return f"{executor} → {stream}"


def compute_stages(
    sums: Sums,
    topology: Topology,
    placement: Placement,
    *,
    seconds: float,
    due_per_second: float,
) -> Figures:
    """Figures of all stages in windows that last so long together.

    Args:
        sums: Of these windows.
        topology: Whose sums they are.
        placement: Where its executors ran.
        seconds: How long the windows were reported of.
        due_per_second: What all sources together should have emitted; NaN where nothing says so.
    """
    if seconds <= 0.0:
        return {}
    stages = _Stages(sums, placement, seconds)
    return {
        **dict(stages.routes()),
        **dict(stages.arrivals()),
        **dict(stages.outputs()),
        **dict(stages.services()),
        **dict(stages.lists()),
        **dict(stages.loads(topology, due_per_second)),
    }


class _Stages:
    def __init__(self, sums: Sums, placement: Placement, seconds: float) -> None:
        self._sums, self._placement, self._seconds = sums, placement, seconds
        self._label = placement.labels
        self._labels: dict[str, list[str]] = {}
        for executor, label in zip(placement.executors, placement.executor_labels, strict=True):
            self._labels.setdefault(executor.component, []).append(label)

    def _of(self, metric: Metric) -> Iterator[tuple[Names, float, float]]:
        for (of, names), (value, count) in self._sums.items():
            if of is metric:
                yield names, value, count

    def routes(self) -> Iterator[tuple[Key, Value]]:
        """The part of what an executor sends on a stream that goes to each receiving one."""
        sent: dict[tuple[str, str, str], dict[tuple[str, str], float]] = defaultdict(dict)
        for (source, stream, target, sender, receiver), value, _ in self._of(Metric.TRANSFERRED):
            if sender in self._label and receiver in self._label:
                pair = (self._label[int(sender)], self._label[int(receiver)])
                of_stream = sent[str(source), str(stream), str(target)]
                of_stream[pair] = of_stream.get(pair, 0.0) + value
        for (source, stream, target), pairs in sent.items():
            for sender in self._labels.get(source, []):
                row = [(to, pairs.get((sender, to), 0.0)) for to in self._labels.get(target, [])]
                total = sum(value for _, value in row)
                for receiver, value in row if total > 0.0 else []:
                    subject = name_route(source, stream, target, sender, receiver)
                    key = Key(FigureKind.ROUTING, subject, "share")
                    yield key, Value(value / total, int(total))

    def arrivals(self) -> Iterator[tuple[Key, Value]]:
        """Tuples executed a second: by input, by executor, by operator."""
        totals: dict[str, float] = defaultdict(float)
        for (component, task, source, stream), value, _ in self._of(Metric.EXECUTED):
            if task not in self._label:
                continue
            label = self._label[int(task)]
            subjects = (name_input(label, str(source), str(stream)), label, str(component))
            for subject in subjects:
                totals[subject] += value
        for subject, value in totals.items():
            key = Key(FigureKind.ARRIVAL, subject, "per_second")
            yield key, Value(value / self._seconds, int(value))

    def outputs(self) -> Iterator[tuple[Key, Value]]:
        """Tuples emitted a second by executors of processors, and windows that fired."""
        sources = set(self._placement.sources)
        totals: dict[Key, float] = defaultdict(float)
        for (component, task, stream), value, _ in self._of(Metric.EMITTED):
            if task in self._label and component not in sources:
                subject = name_output(self._label[int(task)], str(stream))
                totals[Key(FigureKind.OUTPUT, subject, "per_second")] += value
        for (_, task), value, _ in self._of(Metric.WINDOW_TRIGGERS):
            if task in self._label:
                subject = self._label[int(task)]
                totals[Key(FigureKind.OUTPUT, subject, "triggers_per_second")] += value
        for key, value in totals.items():
            yield key, Value(value / self._seconds, int(value))

    def services(self) -> Iterator[tuple[Key, Value]]:
        """Mean time of a tuple by wall clock and on a core, and the ratio of the two."""
        wall = self._mean_times(Metric.EXECUTE_LATENCY_SUM, Metric.EMIT_LATENCY_SUM)
        cpu = self._mean_times(Metric.EXECUTE_CPU_SUM, Metric.EMIT_CPU_SUM)
        for quantity, means in (("wall", wall), ("cpu", cpu)):
            for label, (mean, count) in means.items():
                yield Key(FigureKind.SERVICE, label, quantity), Value(mean, count)
        for label, (mean, count) in wall.items():
            if label in cpu and cpu[label][0] > 0.0:
                key = Key(FigureKind.SERVICE, label, "slowdown")
                yield key, Value(mean / cpu[label][0], count)

    def _mean_times(self, *metrics: Metric) -> dict[str, tuple[float, int]]:
        totals: dict[str, tuple[float, float]] = {}
        for metric in metrics:
            for (_, task), value, count in self._of(metric):
                if task in self._label:
                    label = self._label[int(task)]
                    before = totals.get(label, (0.0, 0.0))
                    totals[label] = (before[0] + value, before[1] + count)
        return {
            label: (value / count / NANOSECONDS, int(count))
            for label, (value, count) in totals.items()
            if count
        }

    def lists(self) -> Iterator[tuple[Key, Value]]:
        """Tuples in a list that enters an executor's receive queue, where there are lists."""
        tuples, lists = (
            {
                str(executor): value
                for (executor, queue), value, _ in self._of(metric)
                if queue == RECEIVE
            }
            for metric in (Metric.QUEUE_ARRIVALS, Metric.QUEUE_LISTS)
        )
        for label, value in lists.items():
            if value > 0.0:
                key = Key(FigureKind.LIST_SIZE, label, "tuples_per_list")
                yield key, Value(tuples.get(label, 0.0) / value, int(value))

    def loads(self, topology: Topology, due_per_second: float) -> Iterator[tuple[Key, Value]]:
        """The part of what is due that is emitted, of what comes that is served; the rate carried.

        An executor that serves less than comes is full: the sources' rate that it could carry is
        what it serves over its visits for each tuple of a source. Sources that emit less than is
        due carry what they emit. The least of these is carried, or else all that is emitted.
        """
        emitted = sum(
            value
            for (component, _, _), value, _ in self._of(Metric.EMITTED)
            if component in self._placement.sources
        )
        carried = emitted / self._seconds
        if due_per_second > 0.0:
            due = due_per_second * self._seconds
            key = Key(FigureKind.LOAD, ALL, "emitted_share")
            yield key, Value(emitted / due, int(due))
        visits = self._count_visits(topology, emitted)
        sent, served = self._sum_by_executor()
        for label, value in sorted(sent.items()):
            share = served.get(label, 0.0) / value
            yield Key(FigureKind.LOAD, label, "served_share"), Value(share, int(value))
            if share < SERVED and visits.get(label, 0.0) > 0.0:
                carried = min(carried, served.get(label, 0.0) / self._seconds / visits[label])
        yield Key(FigureKind.LOAD, ALL, "carried_per_second"), Value(carried, int(emitted))

    def _sum_by_executor(self) -> tuple[dict[str, float], dict[str, float]]:
        """Tuples sent to every executor, and executed by it."""
        sent: dict[str, float] = defaultdict(float)
        served: dict[str, float] = defaultdict(float)
        for (_, _, _, _, task), value, _ in self._of(Metric.TRANSFERRED):
            if task in self._label:
                sent[self._label[int(task)]] += value
        for (_, task, _, _), value, _ in self._of(Metric.EXECUTED):
            if task in self._label:
                served[self._label[int(task)]] += value
        return sent, served

    def _count_visits(self, topology: Topology, emitted: float) -> dict[str, float]:
        """Tuples that would come to an executor for each of a source, if all were served.

        None where streams form a cycle.
        """
        if topology.cycle() is not None or emitted <= 0.0:
            return {}
        passed: dict[tuple[str, str], float] = defaultdict(float)
        into: dict[tuple[str, str], float] = defaultdict(float)
        for (source, _, target, _, task), value, _ in self._of(Metric.TRANSFERRED):
            if task in self._label:
                passed[str(source), str(target)] += value
                into[str(target), self._label[int(task)]] += value
        done: dict[str, float] = defaultdict(float)
        for (component, _, _, _), value, _ in self._of(Metric.EXECUTED):
            done[str(component)] += value
        for (component, _, _), value, _ in self._of(Metric.EMITTED):
            if component in self._placement.sources:
                done[str(component)] += value
        visits = {name: done[name] / emitted for name in self._placement.sources}
        for operator in topology.topological_order():
            if operator.name not in visits:
                visits[operator.name] = sum(
                    visits[source] * value / done[source]
                    for (source, target), value in passed.items()
                    if target == operator.name and done[source] > 0.0 and source in visits
                )
        by_operator: dict[str, float] = defaultdict(float)
        for (target, _), value in into.items():
            by_operator[target] += value
        return {
            label: visits.get(target, 0.0) * value / by_operator[target]
            for (target, label), value in into.items()
        }
