"""A snapshot of a running topology, from nimbus or the UI: its structure, places and counters.

Counters are the engine's own, since the worker started. What a topology's configuration says, and
how groupings are called, is read here in the same way for both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from streamgauge.lake.metrics import Metric
from streamgauge.topology.cluster import Slot
from streamgauge.topology.configuration import OBJECTIVE_PREFIX, Setting
from streamgauge.topology.grouping import (
    All,
    Custom,
    Direct,
    Fields,
    Global,
    Grouping,
    LocalOrShuffle,
    PartialKey,
    Shuffle,
)
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import Stream
from streamgauge.transport.engine import load_engine

# Of the engine where its configuration says nothing.
SAMPLING = 20
HEARTBEAT_SECONDS = 60.0
MEBIBYTE = 2**20
# A supervisor declares its cores in percent of one.
CORE_PERCENT = 100.0
# Stands for field names where a source does not give them.
UNKNOWN_FIELD = "unknown"
_PARTIAL_KEY = "org.apache.storm.grouping.PartialKeyGrouping"
_PLAIN_GROUPINGS: dict[str, Grouping] = {
    "shuffle": Shuffle(),
    "none": Shuffle(),
    "local_or_shuffle": LocalOrShuffle(),
    "all": All(),
    "global": Global(),
    "direct": Direct(),
}


class Key(NamedTuple):
    """What a task's counter is about: its own stream, or the stream of who sends to it."""

    stream: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTopology:
    """A topology that the cluster runs; each time it is submitted it has another id."""

    id: str
    name: str
    uptime_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A supervisor's node; cores and memory are what it declares, not what anybody measured."""

    name: str
    slots: int
    cores: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A spout or bolt, or the ackers; `executors` are those of now, silent ones included."""

    name: str
    is_spout: bool
    tasks: int
    executors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean since the worker started, and of the last ten minutes where that was asked for."""

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

    Only the proportions of counts and of means matter.
    """

    counts: Mapping[Metric, Mapping[Key, int]] = field(default_factory=dict)
    means_ms: Mapping[Metric, Mapping[Key, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologySnapshot:
    """One snapshot of a topology: its own components and the ackers, and streams without theirs.

    Workers are those asked for, executors those whose places are known. Means are off by the
    resolution at most, by the way they are written. Parts are by component. Notes are what a reader
    of the plan should know.
    """

    listed: ListedTopology
    engine: str
    components: tuple[Component, ...]
    streams: tuple[Stream, ...]
    workers: int
    configuration: Mapping[str, Any]
    resolution_ms: float = 0.0
    executors: tuple[ReportedExecutor, ...] = ()
    parts: Mapping[str, Parts] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def settings(self) -> dict[str, Setting]:
        """The settings that our models know, where they are set, and the topology's objective."""
        known = {
            name: self.configuration[name]
            for name in load_engine(self.engine).load_transport().settings
            if isinstance(self.configuration.get(name), bool | int | float)
        }
        objective = {
            name: value
            for name, value in sorted(self.configuration.items())
            if name.startswith(OBJECTIVE_PREFIX) and isinstance(value, bool | int | float | str)
        }
        return {**known, **objective}

    @property
    def sampling(self) -> int:
        """How many tuples the engine counts for each that it looks at."""
        rate = number(self.configuration.get("topology.stats.sample.rate"))
        return max(int(1.0 / rate), 1) if rate else SAMPLING

    @property
    def heartbeat_seconds(self) -> float:
        """Seconds between two reports of a worker's counters."""
        # Versions before 2 sent them with every heartbeat of their tasks.
        for name in ("executor.metrics.frequency.secs", "task.heartbeat.frequency.secs"):
            seconds = number(self.configuration.get(name))
            if seconds:
                return seconds
        return HEARTBEAT_SECONDS

    @property
    def silent(self) -> int:
        """Executors of which nobody says yet where they are."""
        return sum(one.executors for one in self.components) - len(self.executors)


class Vanished(Exception):
    """A topology that was listed a moment ago and is not there any more."""


class StormSource(Protocol):
    """Somebody who knows what a Storm cluster runs.

    All methods raise SourceUnreachable where there is no answer that makes sense.
    """

    @property
    def name(self) -> str:
        """What messages and files call it."""

    def topologies(self) -> tuple[ListedTopology, ...]:
        """What runs now."""

    def hosts(self) -> tuple[Host, ...]:
        """The nodes there are."""

    def take_snapshot(self, listed: ListedTopology) -> TopologySnapshot:
        """Structure, places and counters of a topology.

        Raises:
            Vanished: It does not run any more.
        """


def engine_of(version: str) -> str:
    """Whose transport a version of Storm has."""
    return "storm-1" if version.startswith(("0.", "1.")) else "storm-2"


def number(value: object) -> float | None:
    """A finite number that is not negative, also where it is written as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and found >= 0 else None


def grouping_named(
    name: str, *, tasks: int, fields: Sequence[str] | None = None, class_name: str = ""
) -> Grouping:
    """The grouping of a name such as ``local_or_shuffle``.

    Args:
        name: As Storm has it, with hyphens or underscores.
        tasks: Of the operator that receives; a custom grouping is taken to be even over them.
        fields: That it is by, where they are known. None of them is Storm's way to say global.
        class_name: Of a custom grouping, where it is known.
    """
    kind = name.lower().replace("-", "_")
    if kind == "fields":
        if fields is not None and not fields:
            return Global()
        return Fields(keys=tuple(fields or (UNKNOWN_FIELD,)))
    if class_name == _PARTIAL_KEY:
        return PartialKey(keys=(UNKNOWN_FIELD,))
    return _PLAIN_GROUPINGS.get(kind) or Custom(matrix=((1.0 / tasks,) * tasks,))


def note_custom_groupings(streams: Iterable[Stream]) -> tuple[str, ...]:
    """What a reader should know of custom groupings, where there are any."""
    custom = [str(one.key) for one in streams if isinstance(one.grouping, Custom)]
    assumed = "a custom grouping, assumed to spread tuples evenly"
    return (f"{', '.join(custom)}: {assumed}",) if custom else ()
