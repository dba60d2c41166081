"""From snapshots to figures: what a simulation's counters say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.binning import BINS
from streamgauge.simulation.latencies import Latencies, find_quantiles
from streamgauge.simulation.program import Compiled
from streamgauge.simulation.records import NONE
from streamgauge.simulation.results import (
    ExecutorFigures,
    MachineFigures,
    OperatorFigures,
    QueueFigures,
    SimulationResult,
    Timeline,
    WayFigures,
    WorkerFigures,
)
from streamgauge.simulation.snapshots import Snapshot
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.transport.mechanics import NO_LIMIT

# Batches of a run that an interval rests on: enough to judge their spread, long enough to forget.
BATCHES = 20
# An operator that works all the time, and to which more comes than it serves, is saturated.
WORKS_ALL_THE_TIME, MORE_COMES = 0.95, 0.01
# Standard deviations of a Poisson count beyond which it is no chance.
CHANCE = 5.0


def figures(
    plan: PhysicalPlan,
    compiled: Compiled,
    snapshots: Sequence[Snapshot],
    *,
    first: int,
    settled: bool,
    overloaded: bool,
) -> SimulationResult:
    """All figures from snapshot `first` to the last."""
    measured = _Measured(plan, compiled, snapshots, first)
    topology = plan.logical.topology
    at = compiled.program.at
    rows = measured.latencies()
    sources = [operator.name for operator in topology.sources]
    ways = tuple(
        WayFigures(
            operators=way,
            latency=rows[index],
            since_due=Latencies.none()
            if way[0] in compiled.eager_sources
            else rows[at.due_rows + index],
        )
        for index, way in enumerate(compiled.ways.rows)
    )
    complete, seen = (
        Latencies.merged(rows[at.path_rows + n * at.sources : at.path_rows + (n + 1) * at.sources])
        for n in range(2)
    )
    # Of a part of the tuples it would look like that of all.
    due = () if compiled.eager_sources else (way.since_due for way in ways)
    last = snapshots[-1]
    emitted = [
        int(last.thread["emitted"][n])
        for n, executor in enumerate(plan.logical.executors)
        if executor.operator in sources
    ]
    acked, failed = last.roots
    return SimulationResult(
        seconds=measured.seconds,
        warmup=snapshots[first].time,
        settled=settled,
        overloaded=overloaded,
        hops=int(measured.queue["arrived"][: at.executors].sum()),
        operators={
            name: measured.operator(
                name, [way.latency for way in ways if way.operators[-1] == name]
            )
            for name in topology.operator_names
        },
        executors=tuple(measured.executor(n) for n in range(at.executors)),
        workers=tuple(measured.worker(n) for n in range(at.workers)),
        machines=measured.machines(),
        latency=Latencies.merged(way.latency for way in ways),
        since_due=Latencies.merged(due),
        by_source={
            name: Latencies.merged(way.latency for way in ways if way.operators[0] == name)
            for name in sources
        },
        ways=ways,
        complete=complete,
        seen_by_source=seen,
        open_roots=sum(emitted) - acked - failed if at.ackers else 0,
        roots_emitted=sum(emitted) if at.ackers else 0,
        roots_acked=acked,
        roots_failed=failed,
        timeline=measured.timeline(),
    )


class _Measured:
    """What lies between two snapshots."""

    def __init__(
        self, plan: PhysicalPlan, compiled: Compiled, snapshots: Sequence[Snapshot], first: int
    ) -> None:
        self.plan = plan
        self.compiled = compiled
        self.snapshots = snapshots
        self.first = first
        begin, end = snapshots[first], snapshots[-1]
        self.seconds = end.time - begin.time
        self.thread = _grown(begin.thread, end.thread)
        self.queue = _grown(begin.queue, end.queue)
        self.window = _grown(begin.window, end.window)
        self.machine = _grown(begin.machine, end.machine)
        self.peak = np.max([one.peak for one in snapshots[first + 1 :]], axis=0)
        self.at = compiled.program.at

    def latencies(self) -> list[Latencies]:
        """Every row, with batches."""
        rows = len(self.snapshots[0].latency_sum)
        stretches = len(self.snapshots) - 1 - self.first
        batches = min(BATCHES, stretches)
        counts = np.zeros((batches, rows * BINS), dtype=np.int64)
        sums = np.zeros((batches, rows))
        for n in range(stretches):
            before, after = self.snapshots[self.first + n : self.first + n + 2]
            batch = n * batches // stretches
            counts[batch, after.latency_at] += after.latency_by
            sums[batch] += after.latency_sum - before.latency_sum
        by_row = counts.reshape(batches, rows, BINS)
        return [
            Latencies(
                counts=by_row[:, row].sum(axis=0),
                total_seconds=float(sums[:, row].sum()),
                batches=by_row[:, row].astype(np.int64),
                batch_seconds=sums[:, row].copy(),
            )
            for row in range(rows)
        ]

    def operator(self, name: str, latencies: list[Latencies]) -> OperatorFigures:
        span = self.plan.logical.spans[name]
        mine = slice(span.start, span.stop)
        t, seconds = self.thread, self.seconds
        arrived = float(self.queue["arrived"][mine].sum())
        executed = float(t["executed"][mine].sum())
        utilisation = t["busy"][mine] / seconds
        number = self.plan.logical.topology.operator_names.index(name)
        windows = self._windows_of(number)
        triggers = float(self.window["triggers"][windows].sum())
        # What came and was not taken stands in the queues.
        lag = float(self.queue["length"][mine].sum())
        saturated = bool(
            utilisation.max() > WORKS_ALL_THE_TIME
            and lag > MORE_COMES * arrived
            and lag > CHANCE * math.sqrt(max(arrived, 1.0))
        )
        return OperatorFigures(
            executors=len(span),
            arrived_per_second=arrived / seconds,
            executed_per_second=executed / seconds,
            emitted_per_second=float(t["emitted"][mine].sum() + self._by_triggers(windows))
            / seconds,
            utilisation=float(utilisation.mean()),
            busiest=float(utilisation.max()),
            cores=float(t["cpu"][mine].sum() + self._cpu_of_triggers(windows)) / seconds,
            queue_length=float(self.queue["area"][mine].sum()) / seconds,
            wait_seconds=_ratio(float(self.queue["sojourn"][mine].sum()), executed),
            blocked=float(t["blocked"][mine].mean()) / seconds,
            blocking=float(self.queue["caused"][mine].sum()) / seconds,
            throttled=float(t["throttled"][mine].mean()) / seconds,
            triggers_per_second=triggers / seconds,
            window_tuples=_ratio(float(self.window["tuples"][windows].sum()), triggers),
            failed_per_second=float(t["failed"][mine].sum()) / seconds,
            timed_out_per_second=float(t["timed_out"][mine].sum()) / seconds,
            replayed_per_second=float(t["replayed"][mine].sum()) / seconds,
            dropped_per_second=float(self.queue["dropped"][mine].sum()) / seconds,
            saturated=saturated,
            latency=Latencies.merged(latencies),
        )

    def _windows_of(self, operator: int) -> list[int]:
        owner = self.compiled.program.task["operator"]
        return [n for n, (task, _) in enumerate(self.compiled.windows) if owner[task] == operator]

    def _by_triggers(self, windows: list[int]) -> float:
        """Tuples emitted by the threads of time triggers."""
        return float(self.thread["emitted"][[self.at.triggers + n for n in windows]].sum())

    def _cpu_of_triggers(self, windows: list[int]) -> float:
        return float(self.thread["cpu"][[self.at.triggers + n for n in windows]].sum())

    def executor(self, index: int) -> ExecutorFigures:
        executor = self.plan.logical.executors[index]
        t, seconds = self.thread, self.seconds
        send = self.at.send + index if self.at.transfers > self.at.sends else NONE
        return ExecutorFigures(
            name=executor.label,
            operator=executor.operator,
            worker=str(self.plan.workers[self.plan.placement[index]]),
            executed_per_second=float(t["executed"][index]) / seconds,
            emitted_per_second=float(t["emitted"][index]) / seconds,
            utilisation=float(t["busy"][index]) / seconds,
            cores=float(t["cpu"][index]) / seconds,
            blocked=float(t["blocked"][index]) / seconds,
            throttled=float(t["throttled"][index]) / seconds,
            receive=self._queue(index),
            send=None if send == NONE else self._queue(send),
        )

    def worker(self, index: int) -> WorkerFigures:
        threads = self._threads_of(index)
        transfer = self.at.transfers + index
        slot = self.plan.workers[index]
        return WorkerFigures(
            name=str(slot),
            node=slot.node,
            cores=float(self.thread["cpu"][threads].sum()) / self.seconds,
            transfer_utilisation=float(self.thread["busy"][transfer]) / self.seconds,
            transfer=self._queue(self.at.transfer + index),
        )

    def _threads_of(self, worker: int) -> list[int]:
        p, at = self.compiled.program, self.at
        executors = [n for n in range(at.executors) if p.worker[n] == worker]
        threads = [*executors, at.transfers + worker]
        if at.transfers > at.sends:
            threads += [at.sends + n for n in executors]
        if at.triggers > at.receives:
            threads.append(at.receives + worker)
        mine = set(executors)
        threads += [
            at.triggers + n
            for n, (task, _) in enumerate(self.compiled.windows)
            if int(p.task["executor"][task]) in mine
        ]
        return threads

    def machines(self) -> tuple[MachineFigures, ...]:
        return tuple(
            MachineFigures(
                name=machine.name,
                cores=machine.cores,
                background=machine.background_cores,
                busy=float(self.machine["busy"][n]) / self.seconds,
                polling=float(self.machine["polled"][n]) / self.seconds,
            )
            for n, machine in enumerate(self.plan.cluster.machines)
        )

    def _queue(self, at: int) -> QueueFigures:
        q, seconds = self.queue, self.seconds
        left = float(q["arrived"][at]) - float(q["length"][at])
        limit = self._limit(at)
        return QueueFigures(
            arrived_per_second=float(q["arrived"][at]) / seconds,
            length=float(q["area"][at]) / seconds,
            peak=int(self.peak[at]),
            limit=None if limit >= NO_LIMIT else limit,
            wait_seconds=_ratio(float(q["sojourn"][at]), left),
            tuples_per_object=_ratio(float(q["arrived"][at]), float(q["objects"][at])),
            dropped_per_second=float(q["dropped"][at]) / seconds,
            blocking=float(q["caused"][at]) / seconds,
        )

    def _limit(self, at: int) -> int:
        m = self.compiled.mechanics
        if at < self.at.executors:
            return m.receive_limit
        return m.send_limit if at < self.at.transfer else m.transfer_limit

    def timeline(self) -> Timeline:
        """Every stretch, the warm-up included."""
        pairs = list(zip(self.snapshots, self.snapshots[1:], strict=False))
        lasted = np.asarray([after.time - before.time for before, after in pairs])
        logical = self.plan.logical
        sources = [operator.name for operator in logical.topology.sources]
        mine = [n for n, one in enumerate(logical.executors) if one.operator in sources]
        emitted = [_difference(pair, "emitted")[mine].sum() for pair in pairs]
        to_sinks = self._to_sinks()
        arrived = to_sinks.sum(axis=1).astype(np.float64)
        rows = slice(0, self.at.path_rows)
        sums = np.asarray([(b.latency_sum[rows] - a.latency_sum[rows]).sum() for a, b in pairs])
        return Timeline(
            ends=np.asarray([after.time for _, after in pairs]),
            emitted_per_second=np.asarray(emitted) / lasted,
            arrived_per_second=arrived / lasted,
            mean_seconds=np.where(arrived > 0.0, sums / np.maximum(arrived, 1.0), np.nan),
            median_seconds=find_quantiles(to_sinks, 0.5),
            p99_seconds=find_quantiles(to_sinks, 0.99),
            queued={
                name: np.asarray(
                    [float(b.queue["length"][span.start : span.stop].sum()) for _, b in pairs]
                )
                for name, span in logical.spans.items()
            },
            cores={
                machine.name: np.asarray(
                    [b.machine["busy"][n] - a.machine["busy"][n] for a, b in pairs]
                )
                / lasted
                for n, machine in enumerate(self.plan.cluster.machines)
            },
        )

    def _to_sinks(self) -> NDArray[np.int64]:
        """Latencies to all sinks in each stretch, by bin."""
        counts = np.zeros((len(self.snapshots) - 1, BINS), dtype=np.int64)
        for row, snapshot in zip(counts, self.snapshots[1:], strict=True):
            # Bins of all rows stand one after the other, those of ways first.
            ways = int(np.searchsorted(snapshot.latency_at, self.at.path_rows * BINS))
            np.add.at(row, snapshot.latency_at[:ways] % BINS, snapshot.latency_by[:ways])
        return counts


def _grown(before: dict[str, Any], after: dict[str, Any]) -> dict[str, NDArray[Any]]:
    return {name: after[name] - before[name] for name in after}


def _difference(pair: tuple[Snapshot, Snapshot], name: str) -> NDArray[Any]:
    before, after = pair
    return np.asarray(after.thread[name] - before.thread[name])


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else math.nan
