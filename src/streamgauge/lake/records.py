"""The records that travel from an agent to the lake, as they are written on raw lines.

Times that end in `_us` are whole microseconds since 1970 in UTC, those that end in `_ns` whole
nanoseconds. A column of the lake has the name of the field, without `_us`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from operator import attrgetter
from typing import Any, ClassVar


class EventKind(StrEnum):
    """What happened."""

    START = "start"
    STOP = "stop"
    REBALANCE = "rebalance"
    RESTART = "restart"
    STEP_BEGIN = "step-begin"
    STEP_END = "step-end"


class LinkKind(StrEnum):
    """What a latency between nodes spans."""

    ROUND_TRIP = "round-trip"
    ONE_WAY = "one-way"


class Outcome(StrEnum):
    """How a traced tuple ended: nobody tracked it, its tree was acked, or it failed."""

    ARRIVED = "arrived"
    ACKED = "acked"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One metric of one subject in one bucket.

    Attributes:
        cluster: Where several clusters share a lake.
        topology: The job; nothing for nodes and machines.
        plan_id: The plan it ran on, where the writer knows it.
        component: Operator of the task, executor or queue.
        task: The engine's number of the task.
        executor: ``COMPONENT[FIRST-LAST]``, or ``COMPONENT[TASK]`` for one task.
        queue: Which queue.
        worker: ``NODE:PORT`` of the process that measured.
        node: Of that process.
        machine: What the node runs on.
        metric: Label of the metric.
        stream: For outputs the task's own stream, for inputs the source component's.
        source_component: Who sent it.
        source_task: Which task of it.
        bin: Of a histogram.
        bucket_start_us: When the bucket began.
        bucket_seconds: How long it was.
        value: In the metric's unit.
        count: Observations really taken, also where the engine multiplied them up.
    """

    type: ClassVar[str] = "sample"

    cluster: str | None = None
    topology: str | None = None
    plan_id: str | None = None
    component: str | None = None
    task: int | None = None
    executor: str | None = None
    queue: str | None = None
    worker: str | None = None
    node: str | None = None
    machine: str | None = None
    metric: str
    stream: str | None = None
    source_component: str | None = None
    source_task: int | None = None
    bin: int | None = None
    bucket_start_us: int
    bucket_seconds: float
    value: float
    count: int


@dataclass(frozen=True, slots=True)
class SampleGroup:
    """Samples on one line: of one subject and bucket, each with another metric, or another bin.

    Attributes:
        samples: At least one; they differ in metric, value and count, or in bin, value and count.
    """

    samples: tuple[Sample, ...]

    @property
    def type(self) -> str:
        """``samples`` of several metrics, or the ``histogram`` of one."""
        return "samples" if self.samples[0].bin is None else "histogram"


# What samples of one line have in common, besides the metric where they differ in their bins.
_subject_of = attrgetter(
    *(
        field.name
        for field in fields(Sample)
        if field.name not in {"metric", "bin", "value", "count"}
    )
)


def group_samples(samples: Iterable[Sample]) -> Iterator[SampleGroup]:
    """Samples in as few groups as they fit in, those of a group in the order in which they come."""
    groups: dict[Any, dict[tuple[str, int | None], Sample]] = {}
    for sample in samples:
        key = (_subject_of(sample), "" if sample.bin is None else sample.metric)
        if (sample.metric, sample.bin) in groups.get(key, {}):
            yield _group(groups.pop(key).values())
        groups.setdefault(key, {})[sample.metric, sample.bin] = sample
    for group in groups.values():
        yield _group(group.values())


def _group(samples: Iterable[Sample]) -> SampleGroup:
    return SampleGroup(tuple(sorted(samples, key=lambda one: one.bin or 0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedExecutor:
    """An executor of a plan: its tasks, first to last, and where they run."""

    component: str
    first_task: int
    last_task: int
    worker: str
    node: str
    machine: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One version of a job's structure and placement.

    Attributes:
        cluster: Where several clusters share a lake.
        topology: The job.
        plan_id: Its version; the same structure and placement may come back under the same id.
        engine: What runs it, such as ``storm-2``.
        valid_from_us: When it took effect.
        valid_to_us: When it ended; nothing while it lasts.
        document: The job file, as text.
        executors: Who runs where, with the engine's numbers of the tasks.
    """

    type: ClassVar[str] = "plan"

    cluster: str | None = None
    topology: str
    plan_id: str
    engine: str
    valid_from_us: int
    valid_to_us: int | None = None
    document: str
    executors: tuple[PlacedExecutor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One task on a tuple's way; times are counted from the start of the trace.

    Attributes:
        component: Operator of the task.
        task: The engine's number of it.
        stream: By which the tuple came; nothing at the source.
        key: Value of the grouping's key, where it is traced.
        arrived_ns: Entered the receive queue; clocks of two nodes may make it negative.
        started_ns: Execution began.
        finished_ns: Execution ended.
    """

    component: str
    task: int
    stream: str | None = None
    key: str | None = None
    arrived_ns: int
    started_ns: int
    finished_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One sampled tuple on one path from its source to a sink.

    Attributes:
        cluster: Where several clusters share a lake.
        topology: The job.
        plan_id: The plan it ran on, where the writer knows it.
        root: Id of the root.
        path: Number of this path among those recorded of the root, from zero.
        started_at_us: When the source emitted the root.
        hops: The tasks it met, the source first.
        latency_ns: From emission to the end of the last hop, by the clocks of both ends.
        complete_latency_ns: Of the root's tree, by the engine's own rule.
        outcome: How it ended.
    """

    type: ClassVar[str] = "trace"

    cluster: str | None = None
    topology: str
    plan_id: str | None = None
    root: str
    path: int
    started_at_us: int
    hops: tuple[Hop, ...]
    latency_ns: int
    complete_latency_ns: int | None = None
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Probes from one node to another.

    Attributes:
        cluster: Where several clusters share a lake.
        source_node: Who probed.
        target_node: Who was probed.
        kind: Whether the times span both ways.
        measured_at_us: When the first probe left.
        sent: Probes that left.
        received: Probes that were answered.
        least_ns: Shortest time, where any was answered.
        mean_ns: Mean time.
        most_ns: Longest time.
    """

    type: ClassVar[str] = "link"

    cluster: str | None = None
    source_node: str
    target_node: str
    kind: str
    measured_at_us: int
    sent: int
    received: int
    least_ns: int | None = None
    mean_ns: int | None = None
    most_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a job, a part of it, or a node.

    Attributes:
        cluster: Where several clusters share a lake.
        topology: The job; nothing for what happened to a node.
        plan_id: The plan that took effect, where one did.
        happened_at_us: When.
        kind: What.
        component: Operator it happened to.
        task: The engine's number of the task.
        worker: ``NODE:PORT`` of the process.
        node: The node.
        name: Of an experiment's step.
        detail: Anything a reader should know.
    """

    type: ClassVar[str] = "event"

    cluster: str | None = None
    topology: str | None = None
    plan_id: str | None = None
    happened_at_us: int
    kind: str
    component: str | None = None
    task: int | None = None
    worker: str | None = None
    node: str | None = None
    name: str | None = None
    detail: str | None = None


Record = Sample | SampleGroup | Plan | Trace | Link | Event


def ungroup(records: Iterable[Record]) -> Iterator[Record]:
    """The same with samples one by one."""
    for record in records:
        if isinstance(record, SampleGroup):
            yield from record.samples
        else:
            yield record
