"""What was seen of tasks, executors, workers, nodes and machines, and of their queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from streamgauge.lake.definition import Queue
from streamgauge.pipeline.estimation.catalogue import FigureName
from streamgauge.pipeline.estimation.measured import (
    Estimate,
    Measured,
    Recorder,
    Row,
    parts_of,
    total,
)
from streamgauge.pipeline.estimation.roster import Roster, Subject
from streamgauge.pipeline.estimation.thread_costs import find_cost_of_more, find_slowdown
from streamgauge.profile.figures import (
    ExecutorFigures,
    Figure,
    HostFigures,
    InputFigures,
    OutputFigures,
    QueueFigures,
    Shares,
    TaskId,
    TaskProfile,
    TimeFigures,
    WorkerFigures,
)
from streamgauge.topology.topology import StreamKey

# Which figure is which field.
_EXECUTOR = {
    "cores": FigureName.EXECUTOR_CORES,
    "idle_cores": FigureName.IDLE_CORES,
    "run_delay": FigureName.RUN_DELAY,
    "idle": FigureName.IDLE,
    "held": FigureName.HELD,
}
_WORKER = {
    "cores": FigureName.WORKER_CORES,
    "threads": FigureName.WORKER_THREADS,
    "transfer_cores": FigureName.TRANSFER_CORES,
    "network_cores": FigureName.NETWORK_CORES,
    "gc_cores": FigureName.GC_CORES,
    "window_cores": FigureName.WINDOW_CORES,
    "timer_cores": FigureName.TIMER_CORES,
    "jit_cores": FigureName.JIT_CORES,
    "agent_cores": FigureName.AGENT_CORES,
    "run_delay": FigureName.RUN_DELAY,
    "executed_per_second": FigureName.EXECUTED_RATE,
    "messages_per_second": FigureName.MESSAGE_RATE,
    "heap_bytes": FigureName.HEAP_BYTES,
    "memory_bytes": FigureName.MEMORY_BYTES,
    "bytes_per_second": FigureName.BYTES_RATE,
}
_HOST = {
    "cores": FigureName.HOST_CORES,
    "threads": FigureName.HOST_THREADS,
    "available": FigureName.AVAILABLE,
    "stolen": FigureName.STOLEN,
}
_QUEUE = {
    "per_second": FigureName.QUEUE_RATE,
    "tuples_per_list": FigureName.TUPLES_PER_LIST,
    "length": FigureName.QUEUE_LENGTH,
    "overflow": FigureName.QUEUE_OVERFLOW,
    "limit": FigureName.QUEUE_LIMIT,
    "drops_per_second": FigureName.DROP_RATE,
}
_TASK = {
    "window_tuples": FigureName.WINDOW_TUPLES,
    "triggers_per_second": FigureName.TRIGGER_RATE,
    "backpressure": FigureName.BACKPRESSURE,
}
_Shares = dict[tuple[TaskId, StreamKey], Estimate]


class SubjectProfiles:
    """Builds what a profile says of all subjects of a topology.

    Args:
        measured: All figures.
        roster: Who there is.
        recorder: Where replicas go.

    Attributes:
        executed: What tasks executed, by task and stream, in tuples per second.
        arrivals: The same, with what was sent where nothing is known of its execution.
        emissions: What tasks emitted.
    """

    def __init__(self, measured: Measured, roster: Roster, recorder: Recorder) -> None:
        self._measured = measured
        self._roster = roster
        self._recorder = recorder
        self.executed = _rates_in(measured, roster)
        # What nobody says to have executed came as often as senders say they sent it.
        self.arrivals = {**_incoming(measured, roster), **self.executed}
        self.emissions = _rates_out(measured, roster)
        self._input_shares = _shares(self.arrivals)
        self._output_shares = _shares(self.emissions)
        self._members: dict[str, list[TaskId]] = {}
        for task, label in roster.executor_of.items():
            self._members.setdefault(label, []).append(task)

    def tasks(self) -> dict[TaskId, TaskProfile]:
        """Every task of the plan of which something was seen, in the topology's order."""
        profiles = {}
        for task, subject in self._roster.tasks.items():
            profile = self._profile(task, subject)
            if profile != TaskProfile():
                profiles[task] = profile
        return profiles

    def _profile(self, task: TaskId, subject: Subject) -> TaskProfile:
        measured, recorder = self._measured, self._recorder
        place = ("tasks", task.operator, task.place)
        end_to_end = {
            row.source: recorder.time(row, *place, "end_to_end", row.source)
            for row in measured.rows(subject, FigureName.END_TO_END)
            if self._roster.is_source(row.source)
        }
        return TaskProfile(
            inputs={
                key: self._input(task, subject, key)
                for key in self._roster.inputs(task.operator)
                if self._has_input(task, subject, key)
            },
            outputs={
                name: self._output(task, subject, name)
                for name in self._roster.outputs(task.operator)
                if self._has_output(task, subject, name)
            },
            window=recorder.time(measured.one(subject, FigureName.WINDOW_WALL), *place, "window"),
            window_cpu=self._window_cpu(task, subject),
            end_to_end={source: one for source, one in end_to_end.items() if one is not None},
            **self._figures(subject, _TASK, *place),
        )

    def _has_input(self, task: TaskId, subject: Subject, key: StreamKey) -> bool:
        return (task, key) in self.arrivals or any(
            self._measured.one(subject, word, stream=key.name, source=key.source) is not None
            for word in (FigureName.SERVICE_WALL, FigureName.SERVICE_CPU)
        )

    def _has_output(self, task: TaskId, subject: Subject, name: str) -> bool:
        return (task, StreamKey(task.operator, name)) in self.emissions or any(
            row.stream == name for row in self._measured.rows(subject, FigureName.TRANSFER)
        )

    def _input(self, task: TaskId, subject: Subject, key: StreamKey) -> InputFigures:
        measured, recorder = self._measured, self._recorder
        place = ("tasks", task.operator, task.place, "inputs", *key)
        named = {"stream": key.name, "source": key.source}
        by_length = {
            row.seconds: recorder.value(row, *place, "dispersions", f"{row.seconds:g}")
            for row in measured.rows(subject, FigureName.DISPERSION)
            if (row.stream, row.source) == (key.name, key.source)
        }
        dispersions = {seconds: one for seconds, one in by_length.items() if one is not None}
        cpu = measured.one(subject, FigureName.SERVICE_CPU, **named)
        return InputFigures(
            per_second=recorder.figure(self.arrivals.get((task, key)), *place, "per_second"),
            share=recorder.figure(self._input_shares.get((task, key)), *place, "share"),
            dispersion=dispersions[min(dispersions)] if dispersions else None,
            dispersions=dispersions,
            wall=recorder.time(
                measured.one(subject, FigureName.SERVICE_WALL, **named), *place, "wall"
            ),
            cpu=(
                recorder.time(cpu, *place, "cpu")
                if cpu is not None
                else self._regressed(task, key, FigureName.CPU_BY_INPUT, *place, "cpu")
            ),
            failed_share=recorder.value(
                measured.one(subject, FigureName.FAILED_SHARE, **named), *place, "failed_share"
            ),
        )

    def _regressed(
        self, task: TaskId, key: StreamKey, word: FigureName, *place: str | int
    ) -> TimeFigures | None:
        """CPU time by the regression of the executor, which rests on this task's tuples."""
        executor = Subject("executor", self._roster.executor_of[task])
        row = self._measured.one(executor, word, stream=key.name, source=key.source)
        if row is None:
            return None
        arrived = self.arrivals.get((task, key), row.mean)
        mean = self._recorder.figure(
            Estimate(
                value=row.mean.value,
                error=row.mean.error,
                samples=arrived.samples,
                buckets=arrived.buckets,
                blocks=row.mean.blocks,
                replicas=row.mean.replicas,
            ),
            *place,
            "mean_ms",
        )
        return None if mean is None else TimeFigures(mean_ms=mean)

    def _window_cpu(self, task: TaskId, subject: Subject) -> TimeFigures | None:
        place = ("tasks", task.operator, task.place, "window_cpu")
        row = self._measured.one(subject, FigureName.WINDOW_CPU)
        if row is not None:
            return self._recorder.time(row, *place)
        executor = Subject("executor", self._roster.executor_of[task])
        if not self._measured.rows(subject, FigureName.TRIGGER_RATE):
            return None
        return self._recorder.time(self._measured.one(executor, FigureName.CPU_BY_TRIGGER), *place)

    def _output(self, task: TaskId, subject: Subject, name: str) -> OutputFigures:
        measured, recorder = self._measured, self._recorder
        place = ("tasks", task.operator, task.place, "outputs", name)
        key = StreamKey(task.operator, name)

        def row(word: FigureName) -> Row | None:
            return measured.one(subject, word, stream=name)

        linear = row(FigureName.LINEAR)
        return OutputFigures(
            per_second=recorder.figure(self.emissions.get((task, key)), *place, "per_second"),
            share=recorder.figure(self._output_shares.get((task, key)), *place, "share"),
            wall=recorder.time(row(FigureName.EMIT_WALL), *place, "wall"),
            cpu=recorder.time(row(FigureName.EMIT_CPU), *place, "cpu"),
            coefficients=self._coefficients(task, subject, name),
            per_trigger=recorder.value(row(FigureName.PER_TRIGGER), *place, "per_trigger"),
            linear=None if linear is None else linear.mean.value > 0.5,
            bytes=recorder.value(row(FigureName.TUPLE_BYTES), *place, "bytes"),
            shares=self._routing(task, subject, name),
            complete=recorder.time(row(FigureName.COMPLETE), *place, "complete"),
            root=recorder.time(row(FigureName.ROOT), *place, "root"),
        )

    def _coefficients(
        self, task: TaskId, subject: Subject, name: str
    ) -> Mapping[StreamKey, Figure]:
        found = {}
        for row in self._measured.rows(subject, FigureName.COEFFICIENT):
            key = StreamKey(row.source, row.input_stream)
            if row.stream != name or not self._roster.receives(task.operator, key):
                continue
            figure = self._recorder.value(
                row, "tasks", task.operator, task.place, "outputs", name, "coefficients", *key
            )
            if figure is not None:
                found[key] = figure
        return found

    def _routing(self, task: TaskId, subject: Subject, name: str) -> Mapping[str, Shares]:
        """To which task of each subscriber the tuples of a stream went (eq. 4.2)."""
        rows = [
            row for row in self._measured.rows(subject, FigureName.TRANSFER) if row.stream == name
        ]
        found = {}
        for target in self._roster.subscribers(task.operator, name):
            sent = [Estimate(value=0.0)] * self._roster.task_count(target)
            for row in rows:
                place = self._roster.place_of(target, row.target_task)
                if row.target == target and place is not None:
                    sent[place] = row.mean
            parts = parts_of(sent)
            if parts is None:
                continue
            for place, part in enumerate(parts):
                self._recorder.remember(
                    part.replicas,
                    *("tasks", task.operator, task.place, "outputs", name, "shares", target),
                    place,
                )
            found[target] = Shares(
                parts=tuple(part.value for part in parts),
                samples=sum(one.samples for one in sent),
                buckets=max(one.buckets for one in sent),
            )
        return found

    def executors(self) -> dict[str, ExecutorFigures]:
        """By label, those of the plan."""
        found = {}
        for label in self._roster.placement:
            subject, place = Subject("executor", label), ("executors", label)
            figures = ExecutorFigures(
                capacity=self._capacity(label, subject),
                slowdown=self._recorder.figure(
                    find_slowdown(self._measured, label), *place, "slowdown"
                ),
                receive=self._queue(label, Queue.RECEIVE, *place),
                send=self._queue(label, Queue.SEND, *place),
                **self._figures(subject, _EXECUTOR, *place),
            )
            if figures != ExecutorFigures():
                found[label] = figures
        return found

    def workers(self) -> dict[str, WorkerFigures]:
        """By slot, those of the plan."""
        found = {}
        for worker in sorted(set(self._roster.placement.values())):
            subject, place = Subject("worker", worker), ("workers", worker)
            executors = [label for label, slot in self._roster.placement.items() if slot == worker]
            figures = WorkerFigures(
                engine_ms_per_tuple=self._recorder.figure(
                    find_cost_of_more(self._measured, worker, executors),
                    *place,
                    "engine_ms_per_tuple",
                ),
                transfer=self._queue(worker, Queue.TRANSFER, *place),
                network=self._queue(worker, Queue.NETWORK, *place),
                **self._figures(subject, _WORKER, *place),
            )
            if figures != WorkerFigures():
                found[worker] = figures
        return found

    def hosts(self, kind: str) -> dict[str, HostFigures]:
        """Nodes or machines, by name."""
        return {
            subject.name: HostFigures(**self._figures(subject, _HOST, f"{kind}s", subject.name))
            for subject in self._measured.subjects(kind)
        }

    def _figures(
        self, subject: Subject, names: Mapping[str, FigureName], *place: str | int
    ) -> dict[str, Any]:
        """Figures of a subject by the fields of its record."""
        return {
            field: self._recorder.value(self._measured.one(subject, name), *place, field)
            for field, name in names.items()
        }

    def _queue(self, owner: str, queue: Queue, *place: str) -> QueueFigures | None:
        subject, place = Subject("queue", owner, queue=queue.label), (*place, queue.label)
        sojourn = self._measured.one(subject, FigureName.SOJOURN)
        figures = QueueFigures(
            sojourn=self._recorder.time(sojourn, *place, "sojourn"),
            **self._figures(subject, _QUEUE, *place),
        )
        return None if figures == QueueFigures() else figures

    def _capacity(self, label: str, subject: Subject) -> Figure | None:
        """Executed × mean execute time over all tasks and inputs, else what the engine says."""
        busy = []
        for task in self._members.get(label, ()):
            if self._roster.is_source(task.operator):
                return None
            for row in self._measured.rows(self._roster.tasks[task], FigureName.SERVICE_WALL):
                rate = self.arrivals.get((task, StreamKey(row.source, row.stream)))
                if rate is not None:
                    busy.append(_busy(rate, row.mean))
        place = ("executors", label, "capacity")
        if busy:
            return self._recorder.figure(total(busy), *place)
        engines = self._measured.one(subject, FigureName.ENGINE_CAPACITY)
        return self._recorder.value(engines, *place)


def _busy(rate: Estimate, mean_ms: Estimate) -> Estimate:
    """The part of its time that a task executes tuples that come so often and take so long."""
    replicas = None
    if rate.replicas is not None and mean_ms.replicas is not None:
        replicas = rate.replicas * mean_ms.replicas / 1e3
    return replace(mean_ms, value=capacity(rate.value, mean_ms.value, 1.0), replicas=replicas)


def capacity(executed: float, mean_ms: float, seconds: float) -> float:
    """Tuples executed × mean execute time / time; not clipped, as pauses count as executing."""
    return executed * mean_ms / (1e3 * seconds)


def _rates_in(measured: Measured, roster: Roster) -> dict[tuple[TaskId, StreamKey], Estimate]:
    """What tasks say they executed, by stream."""
    rates = {}
    for task, subject in roster.tasks.items():
        for row in measured.rows(subject, FigureName.ARRIVAL_RATE):
            key = StreamKey(row.source, row.stream)
            if roster.receives(task.operator, key):
                rates[task, key] = row.mean
    return rates


def _incoming(measured: Measured, roster: Roster) -> dict[tuple[TaskId, StreamKey], Estimate]:
    """What senders say they sent to each task, by stream."""
    sent: dict[tuple[TaskId, StreamKey], list[Estimate]] = {}
    for task, subject in roster.tasks.items():
        for row in measured.rows(subject, FigureName.TRANSFER):
            key = StreamKey(task.operator, row.stream)
            place = roster.place_of(row.target, row.target_task)
            if place is not None and roster.receives(row.target, key):
                sent.setdefault((TaskId(row.target, place), key), []).append(row.mean)
    return {where: total(parts) for where, parts in sent.items()}


def _rates_out(measured: Measured, roster: Roster) -> dict[tuple[TaskId, StreamKey], Estimate]:
    rates = {}
    for task, subject in roster.tasks.items():
        for row in measured.rows(subject, FigureName.EMISSION_RATE):
            if row.stream in roster.outputs(task.operator):
                rates[task, StreamKey(task.operator, row.stream)] = row.mean
    return rates


def _shares(rates: Mapping[tuple[TaskId, StreamKey], Estimate]) -> _Shares:
    """The part of each task among the tasks of its operator, by stream."""
    tasks: dict[tuple[str, StreamKey], list[TaskId]] = {}
    for task, key in rates:
        tasks.setdefault((task.operator, key), []).append(task)
    found: _Shares = {}
    for (_, key), members in tasks.items():
        parts = parts_of([rates[task, key] for task in members])
        if parts is not None:
            found |= {(task, key): part for task, part in zip(members, parts, strict=True)}
    return found
