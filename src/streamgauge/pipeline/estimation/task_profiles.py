"""What was seen of tasks: their inputs, outputs, windows and latencies."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.pipeline.estimation.catalogue import FigureName
from streamgauge.pipeline.estimation.measured import (
    Estimate,
    Measured,
    Recorder,
    Row,
    Subject,
    parts_of,
    total,
)
from streamgauge.pipeline.estimation.roster import Roster
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    OutputFigures,
    Shares,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.topology.topology import StreamKey

_Shares = dict[tuple[TaskId, StreamKey], Estimate]


class TaskProfiles:
    """Builds the profiles of all tasks of a topology.

    Args:
        measured: All figures.
        roster: Which tasks there are.
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

    def all(self) -> dict[TaskId, TaskProfile]:
        """Every task of the plan of which something was seen, in the topology's order."""
        profiles = {}
        for task, number in self._roster.tasks.items():
            profile = self._profile(task, Subject("task", task.operator, number))
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
            window_tuples=recorder.value(
                measured.one(subject, FigureName.WINDOW_TUPLES), *place, "window_tuples"
            ),
            triggers_per_second=recorder.value(
                measured.one(subject, FigureName.TRIGGER_RATE), *place, "triggers_per_second"
            ),
            end_to_end={source: one for source, one in end_to_end.items() if one is not None},
            backpressure=recorder.value(
                measured.one(subject, FigureName.BACKPRESSURE), *place, "backpressure"
            ),
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


def _rates_in(measured: Measured, roster: Roster) -> dict[tuple[TaskId, StreamKey], Estimate]:
    """What tasks say they executed, by stream."""
    rates = {}
    for task, number in roster.tasks.items():
        for row in measured.rows(Subject("task", task.operator, number), FigureName.ARRIVAL_RATE):
            key = StreamKey(row.source, row.stream)
            if roster.receives(task.operator, key):
                rates[task, key] = row.mean
    return rates


def _incoming(measured: Measured, roster: Roster) -> dict[tuple[TaskId, StreamKey], Estimate]:
    """What senders say they sent to each task, by stream."""
    sent: dict[tuple[TaskId, StreamKey], list[Estimate]] = {}
    for task, number in roster.tasks.items():
        for row in measured.rows(Subject("task", task.operator, number), FigureName.TRANSFER):
            key = StreamKey(task.operator, row.stream)
            place = roster.place_of(row.target, row.target_task)
            if place is not None and roster.receives(row.target, key):
                sent.setdefault((TaskId(row.target, place), key), []).append(row.mean)
    return {where: total(parts) for where, parts in sent.items()}


def _rates_out(measured: Measured, roster: Roster) -> dict[tuple[TaskId, StreamKey], Estimate]:
    rates = {}
    for task, number in roster.tasks.items():
        for row in measured.rows(Subject("task", task.operator, number), FigureName.EMISSION_RATE):
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
