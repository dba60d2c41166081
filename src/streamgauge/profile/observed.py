"""Observed plans: what came to each task and left it, step by step, under each plan of a job.

A profile's other figures are of one period on one plan. These are of all times, and so of several
loads and parallelisms: what throughput curves are fitted to (Caladrius: Kalim et al. 2019, IV.B).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.frozen import FrozenDict, freeze
from streamgauge.topology.topology import StreamKey

# No law of growth is steeper than this.
MOST = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSteps:
    """One task, step by step.

    Attributes:
        inputs: Tuples executed per second, by input stream.
        outputs: Tuples emitted per second, by output stream.
        backpressure: Share of time in which its full queue blocked its senders; none: never.
    """

    inputs: Mapping[StreamKey, tuple[float, ...]] = field(default_factory=FrozenDict)
    outputs: Mapping[str, tuple[float, ...]] = field(default_factory=FrozenDict)
    backpressure: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("inputs", "outputs"):
            rows = {key: tuple(row) for key, row in getattr(self, name).items()}
            object.__setattr__(self, name, FrozenDict(rows))
        freeze(self, "backpressure")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPlan:
    """A plan's steps, the same for all of its tasks.

    Attributes:
        plan_id: The plan's name in the lake.
        executors: Of each operator under that plan.
        minutes: Length of each step.
        tasks: By operator, then by the task's place among the operator's tasks.
        cores: By operator, cores in use by the threads of its executors; null where not measured.
    """

    plan_id: str
    executors: Mapping[str, int]
    minutes: tuple[float, ...]
    tasks: Mapping[str, Mapping[str, TaskSteps]] = field(default_factory=FrozenDict)
    cores: Mapping[str, tuple[float | None, ...]] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        freeze(self, "executors", "minutes")
        tasks = {name: FrozenDict(by_place) for name, by_place in self.tasks.items()}
        object.__setattr__(self, "tasks", FrozenDict(tasks))
        cores = {name: tuple(row) for name, row in self.cores.items()}
        object.__setattr__(self, "cores", FrozenDict(cores))
        with Findings() as findings:
            for index, minutes in enumerate(self.minutes):
                check_number(findings, minutes, "minutes", index, above=0.0)
            for name, count in self.executors.items():
                check_whole(findings, count, "executors", name)
            for name, by_place in self.tasks.items():
                for place, steps in by_place.items():
                    self._check_task(findings, steps, name, place)
            for name, row in self.cores.items():
                self._check_row(findings, row, "cores", name)

    def _check_task(self, findings: Findings, steps: TaskSteps, name: str, place: str) -> None:
        where = ("tasks", name, place)
        if not (place.isascii() and place.isdecimal()):
            findings.add(*where, seen=f"task {place!r}", expected="a task from 0 on")
        for key, row in steps.inputs.items():
            self._check_row(findings, row, *where, "inputs", *key)
        for output, row in steps.outputs.items():
            self._check_row(findings, row, *where, "outputs", output)
        if steps.backpressure:
            self._check_row(findings, steps.backpressure, *where, "backpressure")

    def _check_row(
        self, findings: Findings, row: tuple[float | None, ...], *place: str | int
    ) -> None:
        if len(row) != len(self.minutes):
            seen, expected = f"{len(row)} values", f"{len(self.minutes)}, one for each step"
            findings.add(*place, seen=seen, expected=expected)
        for index, value in enumerate(row):
            if value is not None:
                check_number(findings, value, *place, index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """The power of its executors by which an operator's capacity grows.

    Attributes:
        exponent: One: twice the executors do twice as much; zero: more do not help; below: they
            do harm.
        standard_error: Of the exponent, where it is known.
        executors: Numbers of executors that it was learned from; none where it was written by hand.
    """

    exponent: float
    standard_error: float | None = None
    executors: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, "executors")
        with Findings() as findings:
            check_number(findings, self.exponent, "exponent", least=-MOST, most=MOST)
            if self.standard_error is not None:
                check_number(findings, self.standard_error, "standard_error")
            for index, count in enumerate(self.executors):
                check_whole(findings, count, "executors", index)
