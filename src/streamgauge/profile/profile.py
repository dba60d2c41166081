"""Profile: the measured behaviour of a job's operators, figure by figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamgauge.errors import Findings, InvalidInput
from streamgauge.profile.figures import (
    ExecutorFigures,
    HostFigures,
    Juice,
    LinkFigures,
    OutputFigures,
    Period,
    RateSeries,
    Replicas,
    Saturation,
    TaskId,
    TaskProfile,
    WorkerFigures,
)
from streamgauge.profile.keys import KeyDistribution
from streamgauge.profile.observed import ObservedPlan, Scaling
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.field_checks import check_known, check_number, check_whole
from streamgauge.topology.frozen import FrozenDict, freeze
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import OperatorKind, StreamKey, Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Everything measured of a job on the plan it ran on; small enough for one file.

    Attributes:
        topology: The job.
        configuration: What it ran with.
        cluster: What it ran on, where known.
        tasks: What was measured of each task; a task may be missing.
        executors: What was measured of each executor, by its label.
        workers: What was measured of each worker.
        nodes: What was measured of each node.
        machines: What was measured of each machine.
        links: Latency between nodes.
        keys: Key frequencies by stream, where they were traced.
        sources: Emission rates over time, by source stream.
        juice: Which part of the sources' input was processed.
        saturation: By operator, input, output and back-pressure measured at any time.
        observed: The same by task, with CPU by operator; of plans that ran for long, at some loads.
        scaling: By operator, how its capacity grows with its executors.
        backpressure_minutes: Minutes of the period in which any task blocked its senders.
        placement: The plan it ran on: executor label → worker.
        plan_id: That plan's name in the lake.
        period: When.
        replicas: Where the resampled figures are.
        notes: What a reader should know: what is thin, mixed, inferred or missing.
    """

    topology: Topology
    configuration: Configuration
    cluster: Cluster | None = None
    tasks: Mapping[TaskId, TaskProfile] = field(default_factory=FrozenDict)
    executors: Mapping[str, ExecutorFigures] = field(default_factory=FrozenDict)
    workers: Mapping[str, WorkerFigures] = field(default_factory=FrozenDict)
    nodes: Mapping[str, HostFigures] = field(default_factory=FrozenDict)
    machines: Mapping[str, HostFigures] = field(default_factory=FrozenDict)
    links: tuple[LinkFigures, ...] = ()
    keys: Mapping[StreamKey, KeyDistribution] = field(default_factory=FrozenDict)
    sources: Mapping[StreamKey, RateSeries] = field(default_factory=FrozenDict)
    juice: Juice | None = None
    saturation: Mapping[str, tuple[Saturation, ...]] = field(default_factory=FrozenDict)
    observed: tuple[ObservedPlan, ...] = ()
    scaling: Mapping[str, Scaling] = field(default_factory=FrozenDict)
    backpressure_minutes: float | None = None
    placement: Mapping[str, str] = field(default_factory=FrozenDict)
    plan_id: str | None = None
    period: Period | None = None
    replicas: Replicas | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, "tasks", "executors", "workers", "nodes", "machines", "links")
        freeze(self, "keys", "sources", "observed", "scaling", "placement", "notes")
        rows = {name: tuple(periods) for name, periods in self.saturation.items()}
        object.__setattr__(self, "saturation", FrozenDict(rows))
        self.configuration.check_against(self.topology)
        with Findings() as findings:
            _check_figures(findings, self)

    def tasks_of(self, operator: str) -> dict[int, TaskProfile]:
        """The profiled tasks of one operator by their place."""
        return {index: task for (name, index), task in self.tasks.items() if name == operator}


def _check_figures(findings: Findings, profile: Profile) -> None:
    """Report every figure of something that the job does not have."""
    # Ackers are measured like any other operator, although they are not declared.
    deployed = profile.topology.with_ackers(profile.configuration.acker_count)
    for (operator, index), task in profile.tasks.items():
        if _is_operator(findings, deployed, operator, "operators", operator):
            _check_task(findings, deployed, operator, index, task)
    _check_executors(findings, deployed, profile)
    placed = dict.fromkeys(sorted(profile.placement.values()))
    for worker in profile.workers if placed else ():
        seen, expected = f"worker {worker!r}", "a worker of the placement"
        check_known(findings, worker, placed, "workers", worker, seen=seen, expected=expected)
    _check_streams(findings, profile)
    for operator, rows in profile.saturation.items():
        if _is_operator(findings, deployed, operator, "saturation", operator):
            _check_saturation(findings, rows, operator)
    for operator in profile.scaling:
        _is_operator(findings, deployed, operator, "scaling", operator)
    for index, observed in enumerate(profile.observed):
        _check_observed(findings, deployed, observed, index)
    for operator in profile.juice.operators if profile.juice is not None else ():
        _is_operator(findings, deployed, operator, "juice", "operators", operator)
    if profile.backpressure_minutes is not None:
        check_number(findings, profile.backpressure_minutes, "backpressure_minutes")


def _is_operator(findings: Findings, topology: Topology, operator: str, *place: str) -> bool:
    seen, expected = f"unknown operator {operator!r}", f"an operator of topology {topology.name!r}"
    known = topology.operator_names
    return check_known(findings, operator, known, *place, seen=seen, expected=expected)


def _check_task(
    findings: Findings, topology: Topology, operator: str, index: int, task: TaskProfile
) -> None:
    place = ("operators", operator, str(index))
    tasks = topology.operator(operator).tasks
    if not 0 <= index < tasks:
        findings.add(*place, seen=f"task {index}", expected=f"0 to {tasks - 1}")
        return
    received = sorted({stream.key for stream in topology.streams_into(operator)})
    expected = f"a stream into {operator!r}"
    for key in task.inputs:
        seen = f"input stream {key}"
        check_known(findings, key, received, *place, "inputs", *key, seen=seen, expected=expected)
    for name, output in task.outputs.items():
        _check_output(findings, topology, StreamKey(operator, name), output, *place)
    sources = [source.name for source in topology.sources]
    for source in task.end_to_end:
        seen = f"{source!r}, which is not a source"
        expected = "the source that emitted the root tuples"
        where = (*place, "end_to_end", source)
        check_known(findings, source, sources, *where, seen=seen, expected=expected)


def _check_output(
    findings: Findings, topology: Topology, stream: StreamKey, output: OutputFigures, *task: str
) -> None:
    operator, name = stream
    place = (*task, "outputs", name)
    emitted = topology.streams_from(operator)
    targets = sorted({one.target for one in emitted if one.name == name})
    names = sorted({one.name for one in emitted})
    seen, expected = f"stream {name!r}", f"a stream of {operator!r}"
    check_known(findings, name, names, *place, seen=seen, expected=expected)
    received = {one.key for one in topology.streams_into(operator)}
    for key in set(output.coefficients) - received:
        expected = f"a stream into {operator!r}"
        findings.add(*place, "coefficients", *key, seen=f"input stream {key}", expected=expected)
    for target, row in output.shares.items():
        where = (*place, "shares", target)
        seen, expected = f"{target!r}, which does not subscribe", f"a subscriber of {stream}"
        if not check_known(findings, target, targets, *where, seen=seen, expected=expected):
            continue
        tasks = topology.operator(target).tasks
        if len(row.parts) != tasks:
            findings.add(*where, seen=f"{len(row.parts)} shares", expected=f"{tasks}, one per task")


def _check_executors(findings: Findings, topology: Topology, profile: Profile) -> None:
    """Executors are those of the plan; without one, at least of operators that exist."""
    for label in profile.executors:
        place = ("executors", label)
        if profile.placement:
            seen, expected = f"executor {label!r}", "an executor of the placement"
            check_known(findings, label, profile.placement, *place, seen=seen, expected=expected)
            continue
        try:
            executor = Executor.parse(label)
        except InvalidInput as error:
            findings.absorb(error, *place)
        else:
            _is_operator(findings, topology, executor.operator, *place)


def _check_streams(findings: Findings, profile: Profile) -> None:
    topology = profile.topology
    known = sorted({stream.key for stream in topology.streams})
    emitted = [key for key in known if topology.operator(key.source).kind is OperatorKind.SOURCE]
    expected = f"a stream of topology {topology.name!r}"
    for key in profile.keys:
        check_known(findings, key, known, "keys", *key, seen=f"stream {key}", expected=expected)
    expected = "a stream of a source"
    for key in profile.sources:
        check_known(
            findings, key, emitted, "sources", *key, seen=f"stream {key}", expected=expected
        )


def _check_observed(
    findings: Findings, topology: Topology, observed: ObservedPlan, index: int
) -> None:
    """Operators, tasks and streams that are observed are those of the job."""
    for operator in (*observed.executors, *observed.cores):
        _is_operator(findings, topology, operator, "observed", str(index), operator)
    for operator, by_place in observed.tasks.items():
        where = ("observed", index, "tasks", operator)
        if not _is_operator(findings, topology, operator, *map(str, where)):
            continue
        tasks = topology.operator(operator).tasks
        received = {stream.key for stream in topology.streams_into(operator)}
        emitted = {stream.name for stream in topology.streams_from(operator)}
        for place, steps in by_place.items():
            if int(place) >= tasks:
                findings.add(*where, place, seen=f"task {place}", expected=f"0 to {tasks - 1}")
            for key in set(steps.inputs) - received:
                expected = f"a stream into {operator!r}"
                findings.add(*where, place, "inputs", seen=f"stream {key}", expected=expected)
            for name in set(steps.outputs) - emitted:
                expected = f"a stream of {operator!r}"
                findings.add(*where, place, "outputs", seen=f"stream {name!r}", expected=expected)


def _check_saturation(findings: Findings, rows: tuple[Saturation, ...], operator: str) -> None:
    for index, row in enumerate(rows):
        place = ("saturation", operator, index)
        check_whole(findings, row.executors, *place, "executors", least=0)
        for name in ("minutes", "input_per_second", "output_per_second", "backpressure"):
            check_number(findings, getattr(row, name), *place, name)
