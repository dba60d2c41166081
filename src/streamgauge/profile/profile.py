"""Profile: how a job's operators were seen to behave, figure by figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from streamgauge.errors import Findings, did_you_mean
from streamgauge.profile.keys import KeyDistribution
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.topology import StreamKey, Topology
from streamgauge.topology.validation import check_number, check_whole

SHARE_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A measured number and what it rests on.

    Attributes:
        value: The estimate.
        samples: Observations really taken; zero for a figure written by hand.
        buckets: Metric buckets they came from.
        standard_error: Of the estimate, where it is known.
    """

    value: float
    samples: int = 0
    buckets: int = 0
    standard_error: float | None = None

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.value, "value")
        check_whole(findings, self.samples, "samples", least=0)
        check_whole(findings, self.buckets, "buckets", least=0)
        if self.standard_error is not None:
            check_number(findings, self.standard_error, "standard_error")
        findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFigures:
    """A measured time in milliseconds.

    Attributes:
        mean_ms: Its mean.
        scv: Its squared coefficient of variation, where squares or histograms were recorded.
        quantiles_ms: Probability → value, where histograms or traces were recorded.
    """

    mean_ms: Figure
    scv: Figure | None = None
    quantiles_ms: Mapping[float, float] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        quantiles = FrozenDict(sorted(self.quantiles_ms.items()))
        object.__setattr__(self, "quantiles_ms", quantiles)
        findings = Findings()
        previous = 0.0
        for probability, value in quantiles.items():
            check_number(findings, probability, "quantiles_ms", str(probability), most=1.0)
            if check_number(findings, value, "quantiles_ms", str(probability)):
                if value < previous:
                    findings.add(
                        "quantiles_ms",
                        str(probability),
                        seen=f"{value:g} after {previous:g}",
                        expected="quantiles that do not fall",
                    )
                previous = value
        findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFigures:
    """What a task was seen to do with one input stream.

    Attributes:
        per_second: Arrival rate.
        dispersion: Index of dispersion of the arrivals; one for a Poisson stream.
        wall: Service time by the clock.
        cpu: Service time on a core.
    """

    per_second: Figure | None = None
    dispersion: Figure | None = None
    wall: TimeFigures | None = None
    cpu: TimeFigures | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFigures:
    """What a task was seen to emit on one stream.

    Attributes:
        per_second: Emission rate.
        wall: Time by the clock for each tuple that a source emits.
        cpu: Time on a core for each tuple that a source emits.
        coefficients: Tuples out per tuple in, by input stream (Cooper 2020, eq. 4.9).
        bytes: Mean size of a tuple.
        shares: For each subscriber the part of the tuples that went to each of its tasks, in
            the order of the tasks (eq. 4.2).
    """

    per_second: Figure | None = None
    wall: TimeFigures | None = None
    cpu: TimeFigures | None = None
    coefficients: Mapping[StreamKey, Figure] = field(default_factory=FrozenDict)
    bytes: Figure | None = None
    shares: Mapping[str, tuple[float, ...]] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", FrozenDict(self.coefficients))
        shares = {name: tuple(row) for name, row in self.shares.items()}
        object.__setattr__(self, "shares", FrozenDict(shares))
        findings = Findings()
        for name, row in shares.items():
            bounded = [
                check_number(findings, share, "shares", name, index, most=1.0)
                for index, share in enumerate(row)
            ]
            if all(bounded) and abs(sum(row) - 1.0) > SHARE_TOLERANCE:
                findings.add(
                    "shares", name, seen=f"shares that sum to {sum(row):.6g}", expected="a sum of 1"
                )
        findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProfile:
    """What was seen of one task.

    Attributes:
        inputs: By input stream.
        outputs: By output stream.
        window: Service time of a window's trigger.
    """

    inputs: Mapping[StreamKey, InputFigures] = field(default_factory=FrozenDict)
    outputs: Mapping[str, OutputFigures] = field(default_factory=FrozenDict)
    window: TimeFigures | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", FrozenDict(self.inputs))
        object.__setattr__(self, "outputs", FrozenDict(self.outputs))


class TaskId(NamedTuple):
    """A task by its operator and its place among the operator's tasks, from zero.

    Engines number tasks differently; the place is what a rebalance never changes.
    """

    operator: str
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFigures:
    """Measured one-way latency between two nodes."""

    source: str
    target: str
    latency: TimeFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """When the figures were taken, as RFC 3339 times."""

    start: str
    end: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Everything measured of a job on the plan it ran on; small, and a file.

    Attributes:
        topology: The job.
        configuration: What it ran with.
        cluster: What it ran on, where known.
        tasks: What was seen of each task; a task may be missing.
        links: Latency between nodes.
        worker_cores: Mean cores in use by each worker.
        keys: Key frequencies by stream, where they were traced.
        placement: The plan it ran on: executor label → worker.
        period: When.
        notes: What a reader should know: what is thin, mixed, inferred or missing.
    """

    topology: Topology
    configuration: Configuration
    cluster: Cluster | None = None
    tasks: Mapping[TaskId, TaskProfile] = field(default_factory=FrozenDict)
    links: tuple[LinkFigures, ...] = ()
    worker_cores: Mapping[str, Figure] = field(default_factory=FrozenDict)
    keys: Mapping[StreamKey, KeyDistribution] = field(default_factory=FrozenDict)
    placement: Mapping[str, str] = field(default_factory=FrozenDict)
    period: Period | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("tasks", "worker_cores", "keys", "placement"):
            object.__setattr__(self, name, FrozenDict(getattr(self, name)))
        object.__setattr__(self, "links", tuple(self.links))
        object.__setattr__(self, "notes", tuple(self.notes))
        findings = Findings()
        self.configuration.check_against(self.topology)
        # Ackers are measured like any other operator, though nobody declares them.
        deployed = self.topology.with_ackers(self.configuration.acker_count)
        tasks = {operator.name: operator.tasks for operator in deployed.operators}
        for (operator, index), task in self.tasks.items():
            if operator not in tasks:
                findings.add(
                    "operators",
                    operator,
                    seen=f"unknown operator {operator!r}",
                    expected=f"an operator of topology {self.topology.name!r}",
                    remedy=did_you_mean(operator, list(tasks)),
                )
            elif not 0 <= index < tasks[operator]:
                findings.add(
                    "operators",
                    operator,
                    str(index),
                    seen=f"task {index}",
                    expected=f"0 to {tasks[operator] - 1}",
                )
            else:
                _check_task(findings, deployed, operator, index, task)
        for key in self.keys:
            if not any(stream.key == key for stream in self.topology.streams):
                findings.add(
                    "keys",
                    *key,
                    seen=f"stream {key}",
                    expected=f"a stream of topology {self.topology.name!r}",
                )
        findings.raise_if_any()

    def tasks_of(self, operator: str) -> dict[int, TaskProfile]:
        """The profiled tasks of one operator by their place."""
        return {index: task for (name, index), task in self.tasks.items() if name == operator}


def _check_task(
    findings: Findings, topology: Topology, operator: str, index: int, task: TaskProfile
) -> None:
    place = ("operators", operator, str(index))
    received = {stream.key for stream in topology.streams_into(operator)}
    emitted = topology.streams_from(operator)
    for key in task.inputs:
        if key not in received:
            findings.add(
                *place,
                "inputs",
                *key,
                seen=f"input stream {key}",
                expected=f"a stream into {operator!r}",
                remedy=did_you_mean(str(key), [str(one) for one in sorted(received)]),
            )
    for name, output in task.outputs.items():
        targets = {stream.target for stream in emitted if stream.name == name}
        if not targets:
            findings.add(
                *place,
                "outputs",
                name,
                seen=f"stream {name!r}",
                expected=f"a stream of {operator!r}",
                remedy=did_you_mean(name, sorted({stream.name for stream in emitted})),
            )
        for key in set(output.coefficients) - received:
            findings.add(
                *place,
                "outputs",
                name,
                "coefficients",
                *key,
                seen=f"input stream {key}",
                expected=f"a stream into {operator!r}",
            )
        for target, row in output.shares.items():
            if target not in targets:
                findings.add(
                    *place,
                    "outputs",
                    name,
                    "shares",
                    target,
                    seen=f"{target!r}, which does not subscribe",
                    expected=f"a subscriber of {operator}/{name}",
                    remedy=did_you_mean(target, sorted(targets)),
                )
            elif len(row) != topology.operator(target).tasks:
                findings.add(
                    *place,
                    "outputs",
                    name,
                    "shares",
                    target,
                    seen=f"{len(row)} shares",
                    expected=f"{topology.operator(target).tasks}, one a task",
                )
