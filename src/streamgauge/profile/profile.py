"""Profile: the measured behaviour of a job's operators, figure by figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamgauge.errors import Findings
from streamgauge.profile.checks import check_profile
from streamgauge.profile.figures import (
    ExecutorFigures,
    HostFigures,
    Juice,
    LinkFigures,
    Period,
    RateSeries,
    Replicas,
    Saturation,
    TaskId,
    TaskProfile,
    WorkerFigures,
)
from streamgauge.profile.keys import KeyDistribution
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.topology import StreamKey, Topology

_MAPPINGS = (
    "tasks",
    "executors",
    "workers",
    "nodes",
    "machines",
    "keys",
    "sources",
    "saturation",
    "placement",
)


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
    backpressure_minutes: float | None = None
    placement: Mapping[str, str] = field(default_factory=FrozenDict)
    plan_id: str | None = None
    period: Period | None = None
    replicas: Replicas | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in _MAPPINGS:
            object.__setattr__(self, name, FrozenDict(getattr(self, name)))
        object.__setattr__(self, "links", tuple(self.links))
        object.__setattr__(self, "notes", tuple(self.notes))
        rows = {name: tuple(periods) for name, periods in self.saturation.items()}
        object.__setattr__(self, "saturation", FrozenDict(rows))
        self.configuration.check_against(self.topology)
        findings = Findings()
        check_profile(findings, self)
        findings.raise_if_any()

    def tasks_of(self, operator: str) -> dict[int, TaskProfile]:
        """The profiled tasks of one operator by their place."""
        return {index: task for (name, index), task in self.tasks.items() if name == operator}
