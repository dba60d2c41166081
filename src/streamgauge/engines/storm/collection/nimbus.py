"""Nimbus as a source of what a cluster runs, from the answers of the bridge.

Nimbus tells streams apart for every executor, and gives means as they are: nothing has to be
divided, and nothing is lost to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from streamgauge.engines.storm.collection.snapshot import (
    CORE_PERCENT,
    MEBIBYTE,
    Component,
    Host,
    Key,
    ListedTopology,
    Mean,
    ReportedExecutor,
    TopologySnapshot,
    Vanished,
    engine_of,
    grouping_named,
    note_custom_groupings,
)
from streamgauge.errors import InvalidInput, SourceUnreachable
from streamgauge.lake.metrics import Metric
from streamgauge.topology.cluster import Slot
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import ACK_ACK, ACK_INIT, ACKER, SYSTEM_PREFIX, Stream

_ALL_TIME = ":all-time"
_TEN_MINUTES = "600"
_TEN_MINUTES_MS = 600_000.0
_SYSTEM_STREAMS = frozenset({ACK_INIT, ACK_ACK})

_OUTPUTS = {"emitted": Metric.EMITTED_TOTAL, "transferred": Metric.SENT_TOTAL}
_ROOTS = {"acked": Metric.ROOTS_ACKED_TOTAL, "failed": Metric.ROOTS_FAILED_TOTAL}
_INPUTS = {
    "executed": Metric.EXECUTED_TOTAL,
    "acked": Metric.ACKED_TOTAL,
    "failed": Metric.FAILED_TOTAL,
}
_SPOUT_MEANS = {"complete_ms": Metric.COMPLETE_LATENCY_MEAN}
_BOLT_MEANS = {
    "execute_ms": Metric.EXECUTE_LATENCY_MEAN,
    "process_ms": Metric.PROCESS_LATENCY_MEAN,
}

Answer = Mapping[str, Any]


class NimbusBridge(Protocol):
    """A connection to nimbus, or a stand-in of a test."""

    address: str

    def ask(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """What nimbus answers."""


class NimbusSource:
    """Asks nimbus through a bridge that is open."""

    def __init__(self, bridge: NimbusBridge) -> None:
        self._bridge = bridge
        # A topology keeps its streams for life.
        self._structures: dict[str, Answer] = {}
        self._version = ""

    @property
    def name(self) -> str:
        """The address."""
        return self._bridge.address

    def topologies(self) -> tuple[ListedTopology, ...]:
        """What runs now."""
        return tuple(
            ListedTopology(
                id=one["id"], name=one["name"], uptime_seconds=float(one["uptime_seconds"])
            )
            for one in self._bridge.ask("cluster")["topologies"]
        )

    def hosts(self) -> tuple[Host, ...]:
        """The supervisors."""
        answer = self._bridge.ask("cluster")
        self._version = next((one["version"] for one in answer["nimbuses"]), "")
        return tuple(_host(one) for one in answer["supervisors"])

    def take_snapshot(self, listed: ListedTopology) -> TopologySnapshot:
        """Structure, places and counters of a topology."""
        try:
            if listed.id not in self._structures:
                self._structures[listed.id] = self._bridge.ask("topology", topology=listed.name)
            structure = self._structures[listed.id]
            statistics = self._bridge.ask("statistics", topology=listed.name)
        except InvalidInput as error:
            if all(one.id != listed.id for one in self.topologies()):
                raise Vanished(listed.name) from None
            raise SourceUnreachable(str(error)) from None
        if (structure["id"], statistics["id"]) != (listed.id, listed.id):
            # Another one has its name already.
            self._structures.pop(listed.id)
            raise Vanished(listed.name)
        return build_snapshot(listed, structure, statistics, engine_of(self._version))


def build_snapshot(
    listed: ListedTopology, structure: Answer, statistics: Answer, engine: str
) -> TopologySnapshot:
    """What the bridge's answers to `topology` and `statistics` say."""
    components = _components(structure, statistics)
    known = {one.name: one for one in components}
    executors = tuple(
        _executor(one, known) for one in statistics["executors"] if one["component"] in known
    )
    streams = tuple(_streams(structure, known))
    return TopologySnapshot(
        listed=listed,
        engine=engine,
        components=components,
        streams=streams,
        workers=max(len({one.slot for one in executors}), 1),
        configuration=structure["configuration"],
        executors=executors,
        notes=note_custom_groupings(streams),
    )


def _host(supervisor: Answer) -> Host:
    resources = supervisor.get("resources") or {}
    percent = float(resources.get("cpu.pcore.percent") or 0.0)
    mebibytes = float(resources.get("memory.mb") or 0.0)
    return Host(
        name=supervisor["host"],
        slots=int(supervisor["slots"]),
        cores=percent / CORE_PERCENT or None,
        memory_bytes=int(mebibytes * MEBIBYTE) or None,
    )


def _components(structure: Answer, statistics: Answer) -> tuple[Component, ...]:
    """The topology's own components and the ackers, as they are now."""
    found = []
    for name, one in structure["components"].items():
        if name.startswith(SYSTEM_PREFIX) and name != ACKER:
            continue
        placed = [other for other in statistics["executors"] if other["component"] == name]
        tasks = sum(other["last_task"] - other["first_task"] + 1 for other in placed)
        if name == ACKER and not placed and not int(one["executors"]):
            continue
        found.append(
            Component(
                name=name,
                is_spout=one["kind"] == "spout",
                # What it was submitted with says nothing of later rebalances.
                tasks=tasks or int(one["tasks"]),
                executors=len(placed) or int(one["executors"]),
            )
        )
    return tuple(found)


def _streams(structure: Answer, known: Mapping[str, Component]) -> Iterator[Stream]:
    for target, one in structure["components"].items():
        for subscribed in one["inputs"]:
            source, name = subscribed["source"], subscribed["stream"]
            if ACKER in (source, target) or name.startswith(SYSTEM_PREFIX):
                continue
            if source not in known or target not in known:
                continue
            grouping = subscribed["grouping"]
            yield Stream(
                source=source,
                name=name,
                target=target,
                grouping=grouping_named(
                    grouping["kind"],
                    tasks=known[target].tasks,
                    fields=grouping.get("fields"),
                    class_name=grouping.get("class", ""),
                ),
            )


def _executor(one: Answer, known: Mapping[str, Component]) -> ReportedExecutor:
    counters = one.get("counters")
    executor = Executor(int(one["first_task"]), int(one["last_task"]), one["component"])
    slot = Slot(one["node"], int(one["port"]))
    if counters is None:
        return ReportedExecutor(executor=executor, slot=slot, uptime_seconds=None)
    spout = known[one["component"]].is_spout
    counts = {
        metric: _by_stream(counters, name)
        for name, metric in (_OUTPUTS | (_ROOTS if spout else {})).items()
    }
    if spout:
        means = {metric: _by_stream(counters, name) for name, metric in _SPOUT_MEANS.items()}
    else:
        counts |= {metric: _by_source(counters, name, known) for name, metric in _INPUTS.items()}
        means = {metric: _by_source(counters, name, known) for name, metric in _BOLT_MEANS.items()}
    uptime = int(one["uptime_seconds"])
    return ReportedExecutor(
        executor=executor,
        slot=slot,
        uptime_seconds=uptime,
        counts={
            metric: {key: int(count) for key, count in by_key.items()}
            for metric, by_key in counts.items()
        },
        means={
            metric: {key: Mean(ms=ms) for key, ms in by_key.items()}
            for metric, by_key in means.items()
        },
        capacity=None if spout else _capacity(counters, known, uptime),
    )


def _capacity(counters: Answer, known: Mapping[str, Component], uptime: int) -> float:
    """The share of the last ten minutes spent in execute, as the UI computes it."""
    executed = _by_source(counters, "executed", known, _TEN_MINUTES)
    mean_ms = _by_source(counters, "execute_ms", known, _TEN_MINUTES)
    spent_ms = sum(count * mean_ms.get(key, 0.0) for key, count in executed.items())
    return spent_ms / max(min(uptime * 1000.0, _TEN_MINUTES_MS), 1.0)


def _by_stream(counters: Answer, name: str) -> dict[Key, float]:
    """A counter since the start, by the component's own stream."""
    streams = (counters.get(name) or {}).get(_ALL_TIME) or {}
    return {Key(stream): float(value) for stream, value in streams.items() if _is_ours(stream)}


def _by_source(
    counters: Answer, name: str, known: Mapping[str, Component], window: str = _ALL_TIME
) -> dict[Key, float]:
    """A counter by the stream that tuples came by, and who sent them."""
    rows = (counters.get(name) or {}).get(window) or []
    return {
        Key(row["stream"], row["source"]): float(row["value"])
        for row in rows
        if row["source"] in known and _is_ours(row["stream"])
    }


def _is_ours(stream: str) -> bool:
    return stream in _SYSTEM_STREAMS or not stream.startswith(SYSTEM_PREFIX)
