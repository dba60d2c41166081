"""A snapshot of a running topology, from nimbus or the UI: its structure, places and counters.

Counters are the engine's own, since the worker started. `sampling` says how many tuples stand
behind one that was really looked at: the engine counts one in so many, and multiplies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from streamgauge.lake.metrics import Metric
from streamgauge.topology.cluster import Slot
from streamgauge.topology.configuration import Setting
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import Stream

# Of the engine where its configuration says nothing.
SAMPLING = 20
HEARTBEAT_SECONDS = 60


class Key(NamedTuple):
    """What a task's counter is about: its own stream, or the stream of who sends to it."""

    stream: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTopology:
    """A topology that the cluster runs.

    Attributes:
        id: The cluster's own, another one each time it is submitted.
        name: What its owner calls it.
        uptime_seconds: Since it was submitted.
    """

    id: str
    name: str
    uptime_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A supervisor's node.

    Attributes:
        name: Under which workers are placed on it.
        slots: Workers it can run.
        cores: As its supervisor declares them, not as anybody measured.
        memory_bytes: Likewise.
    """

    name: str
    slots: int
    cores: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A spout or bolt, or the ackers.

    Attributes:
        name: In its topology.
        is_spout: Whether tuples enter by it.
        tasks: For life.
        executors: At present, whether they have reported or not.
    """

    name: str
    is_spout: bool
    tasks: int
    executors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean that the engine took since the worker started, and lately.

    Attributes:
        ms: Since the worker started.
        lately_ms: Of the last ten minutes, where it was asked for.
    """

    ms: float
    lately_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedExecutor:
    """An executor: where it is, and what it had counted when its worker last reported.

    Attributes:
        executor: Its component and tasks.
        slot: Where it runs.
        uptime_seconds: Age of its worker when it counted so; None before it has reported.
        counts: By counter and key. The key None stands for all keys together, where the source
            does not tell them apart.
        means: Likewise.
        capacity: Share of the last ten minutes spent in execute.
    """

    executor: Executor
    slot: Slot
    uptime_seconds: int | None
    counts: Mapping[Metric, Mapping[Key | None, int]] = field(default_factory=dict)
    means: Mapping[Metric, Mapping[Key | None, Mean]] = field(default_factory=dict)
    capacity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a component's executors together counted by key, where each alone does not tell.

    Attributes:
        counts: By counter and key; only their proportions matter.
        means_ms: By mean and key; likewise.
    """

    counts: Mapping[Metric, Mapping[Key, int]] = field(default_factory=dict)
    means_ms: Mapping[Metric, Mapping[Key, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologySnapshot:
    """One snapshot of a topology.

    Attributes:
        listed: Which one.
        engine: Whose transport moves its tuples.
        components: Ackers included.
        streams: Between the topology's own components.
        workers: Asked for.
        settings: Of the engine, as far as our models know them.
        sampling: Tuples for each that is looked at.
        heartbeat_seconds: Between two reports of a worker.
        resolution_ms: What means are off by at most, by the way they are written.
        executors: Those whose places are known.
        parts: By component.
        notes: What a reader of the plan should know.
    """

    listed: ListedTopology
    engine: str
    components: tuple[Component, ...]
    streams: tuple[Stream, ...]
    workers: int
    settings: Mapping[str, Setting]
    sampling: int = SAMPLING
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    resolution_ms: float = 0.0
    executors: tuple[ReportedExecutor, ...] = ()
    parts: Mapping[str, Parts] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def silent(self) -> int:
        """Executors of which nobody says yet where they are."""
        return sum(one.executors for one in self.components) - len(self.executors)


class Vanished(Exception):
    """A topology that was listed a moment ago and is not there any more."""


class StormSource(Protocol):
    """Somebody who knows what a Storm cluster runs."""

    @property
    def name(self) -> str:
        """What messages and files call it."""

    def topologies(self) -> tuple[ListedTopology, ...]:
        """What runs now.

        Raises:
            SourceUnreachable: No answer that makes sense.
        """

    def hosts(self) -> tuple[Host, ...]:
        """The nodes there are.

        Raises:
            SourceUnreachable: No answer that makes sense.
        """

    def take_snapshot(self, listed: ListedTopology) -> TopologySnapshot:
        """Structure, places and counters of a topology.

        Raises:
            SourceUnreachable: No answer that makes sense.
            Vanished: It does not run any more.
        """
