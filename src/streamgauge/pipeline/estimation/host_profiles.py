"""What was seen of executors, workers, nodes and machines, and of their queues."""

from __future__ import annotations

import math
from collections.abc import Mapping

from streamgauge.lake.definition import Queue
from streamgauge.pipeline.estimation.arrays import Floats
from streamgauge.pipeline.estimation.catalogue import FigureName
from streamgauge.pipeline.estimation.measured import Estimate, Measured, Recorder, Subject, combined
from streamgauge.pipeline.estimation.roster import Roster
from streamgauge.pipeline.estimation.thread_costs import find_cost_of_more, find_slowdown
from streamgauge.profile.figures import (
    ExecutorFigures,
    Figure,
    HostFigures,
    QueueFigures,
    TaskId,
    WorkerFigures,
)
from streamgauge.topology.topology import OperatorKind, StreamKey


def capacity(executed: float, mean_ms: float, seconds: float) -> float:
    """Tuples executed × mean execute time / time; not clipped, as pauses count as executing."""
    return executed * mean_ms / (1e3 * seconds)


class HostProfiles:
    """Builds what a profile says of everything that is no task.

    Args:
        measured: All figures.
        roster: Who there is.
        recorder: Where replicas go.
        arrivals: Rates by task and stream.
    """

    def __init__(
        self,
        measured: Measured,
        roster: Roster,
        recorder: Recorder,
        arrivals: Mapping[tuple[TaskId, StreamKey], Estimate],
    ) -> None:
        self._measured = measured
        self._roster = roster
        self._recorder = recorder
        self._members: dict[str, list[TaskId]] = {}
        for task, label in roster.executor_of.items():
            self._members.setdefault(label, []).append(task)
        self._arrivals: dict[TaskId, dict[StreamKey, Estimate]] = {}
        for (task, key), estimate in arrivals.items():
            self._arrivals.setdefault(task, {})[key] = estimate

    def executors(self) -> dict[str, ExecutorFigures]:
        """By label, those of the plan."""
        found = {}
        for label in self._roster.placement:
            subject, place = Subject("executor", label), ("executors", label)
            figures = ExecutorFigures(
                capacity=self._capacity(label, subject),
                cores=self._figure(subject, FigureName.EXECUTOR_CORES, *place, "cores"),
                idle_cores=self._figure(subject, FigureName.IDLE_CORES, *place, "idle_cores"),
                run_delay=self._figure(subject, FigureName.RUN_DELAY, *place, "run_delay"),
                slowdown=self._recorder.figure(
                    find_slowdown(self._measured, label), *place, "slowdown"
                ),
                idle=self._figure(subject, FigureName.IDLE, *place, "idle"),
                held=self._figure(subject, FigureName.HELD, *place, "held"),
                receive=self._queue(label, Queue.RECEIVE, *place),
                send=self._queue(label, Queue.SEND, *place),
            )
            if figures != ExecutorFigures():
                found[label] = figures
        return found

    def workers(self) -> dict[str, WorkerFigures]:
        """By slot, those of the plan."""
        found = {}
        for worker in sorted(set(self._roster.placement.values())):
            subject, place = Subject("worker", worker), ("workers", worker)
            figures = WorkerFigures(
                cores=self._figure(subject, FigureName.WORKER_CORES, *place, "cores"),
                threads=self._figure(subject, FigureName.WORKER_THREADS, *place, "threads"),
                transfer_cores=self._figure(
                    subject, FigureName.TRANSFER_CORES, *place, "transfer_cores"
                ),
                network_cores=self._figure(
                    subject, FigureName.NETWORK_CORES, *place, "network_cores"
                ),
                gc_cores=self._figure(subject, FigureName.GC_CORES, *place, "gc_cores"),
                window_cores=self._figure(subject, FigureName.WINDOW_CORES, *place, "window_cores"),
                timer_cores=self._figure(subject, FigureName.TIMER_CORES, *place, "timer_cores"),
                jit_cores=self._figure(subject, FigureName.JIT_CORES, *place, "jit_cores"),
                agent_cores=self._figure(subject, FigureName.AGENT_CORES, *place, "agent_cores"),
                run_delay=self._figure(subject, FigureName.RUN_DELAY, *place, "run_delay"),
                executed_per_second=self._figure(
                    subject, FigureName.EXECUTED_RATE, *place, "executed_per_second"
                ),
                messages_per_second=self._figure(
                    subject, FigureName.MESSAGE_RATE, *place, "messages_per_second"
                ),
                engine_ms_per_tuple=self._recorder.figure(
                    find_cost_of_more(self._measured, worker, self._executors_of(worker)),
                    *place,
                    "engine_ms_per_tuple",
                ),
                heap_bytes=self._figure(subject, FigureName.HEAP_BYTES, *place, "heap_bytes"),
                memory_bytes=self._figure(subject, FigureName.MEMORY_BYTES, *place, "memory_bytes"),
                bytes_per_second=self._figure(
                    subject, FigureName.BYTES_RATE, *place, "bytes_per_second"
                ),
                transfer=self._queue(worker, Queue.TRANSFER, *place),
                network=self._queue(worker, Queue.NETWORK, *place),
            )
            if figures != WorkerFigures():
                found[worker] = figures
        return found

    def _executors_of(self, worker: str) -> list[str]:
        return [label for label, slot in self._roster.placement.items() if slot == worker]

    def hosts(self, kind: str) -> dict[str, HostFigures]:
        """Nodes or machines, by name."""
        return {
            subject.name: HostFigures(
                cores=self._figure(
                    subject, FigureName.HOST_CORES, f"{kind}s", subject.name, "cores"
                ),
                threads=self._figure(
                    subject, FigureName.HOST_THREADS, f"{kind}s", subject.name, "threads"
                ),
                available=self._figure(
                    subject, FigureName.AVAILABLE, f"{kind}s", subject.name, "available"
                ),
                stolen=self._figure(subject, FigureName.STOLEN, f"{kind}s", subject.name, "stolen"),
            )
            for subject in self._measured.subjects(kind)
        }

    def _figure(self, subject: Subject, name: FigureName, *place: str) -> Figure | None:
        return self._recorder.value(self._measured.one(subject, name), *place)

    def _queue(self, owner: str, queue: Queue, *place: str) -> QueueFigures | None:
        subject, place = Subject("queue", owner, queue=queue.label), (*place, queue.label)
        figures = QueueFigures(
            per_second=self._figure(subject, FigureName.QUEUE_RATE, *place, "per_second"),
            tuples_per_list=self._figure(
                subject, FigureName.TUPLES_PER_LIST, *place, "tuples_per_list"
            ),
            length=self._figure(subject, FigureName.QUEUE_LENGTH, *place, "length"),
            overflow=self._figure(subject, FigureName.QUEUE_OVERFLOW, *place, "overflow"),
            limit=self._figure(subject, FigureName.QUEUE_LIMIT, *place, "limit"),
            sojourn=self._recorder.time(
                self._measured.one(subject, FigureName.SOJOURN), *place, "sojourn"
            ),
            drops_per_second=self._figure(
                subject, FigureName.DROP_RATE, *place, "drops_per_second"
            ),
        )
        return None if figures == QueueFigures() else figures

    def _capacity(self, label: str, subject: Subject) -> Figure | None:
        """Executed × mean execute time over all tasks and inputs, else what the engine says."""
        values, replicas, parts = [], [], []
        for task in self._members.get(label, []):
            if self._roster.topology.operator(task.operator).kind is OperatorKind.SOURCE:
                return None
            number = self._roster.tasks[task]
            for key, rate in self._arrivals.get(task, {}).items():
                row = self._measured.one(
                    Subject("task", task.operator, number),
                    FigureName.SERVICE_WALL,
                    stream=key.name,
                    source=key.source,
                )
                if row is not None:
                    values.append(capacity(rate.value, row.mean.value, 1.0))
                    replicas.append(_product(rate, row.mean))
                    parts.append(row.mean)
        if not parts:
            return self._figure(subject, FigureName.ENGINE_CAPACITY, "executors", label, "capacity")
        known = [one for one in replicas if one is not None]
        summed: Floats | None = None
        if len(known) == len(replicas):
            summed = known[0]
            for one in known[1:]:
                summed = summed + one
        estimate = combined(math.fsum(values), summed, parts)
        return self._recorder.figure(estimate, "executors", label, "capacity")


def _product(rate: Estimate, mean_ms: Estimate) -> Floats | None:
    if rate.replicas is None or mean_ms.replicas is None:
        return None
    return rate.replicas * mean_ms.replicas / 1e3
