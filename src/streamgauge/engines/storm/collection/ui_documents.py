"""What the documents of Storm's UI say; nothing here asks anybody.

Numbers may be texts, null or "N/A", and in versions before ours keys may be missing. What is not a
number is not known; what a document cannot do without is missed with an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streamgauge.engines.storm.collection.snapshot import (
    CORE_PERCENT,
    MEBIBYTE,
    Component,
    Host,
    Key,
    ListedTopology,
    Mean,
    Parts,
    ReportedExecutor,
    grouping_named,
    number,
)
from streamgauge.errors import SourceUnreachable
from streamgauge.lake.metrics import Metric
from streamgauge.topology.cluster import Slot
from streamgauge.topology.field_checks import format_value
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import ACKER, SYSTEM_PREFIX, Stream

# Latencies are written with three decimals.
RESOLUTION_MS = 0.0005
_EXECUTOR = re.compile(r"\[(\d{1,9})-(\d{1,9})\]")

# By what a component is, the UI's names of its counters and means.
_COUNTS = {
    "bolt": {
        "emitted": Metric.EMITTED_TOTAL,
        "transferred": Metric.SENT_TOTAL,
        "executed": Metric.EXECUTED_TOTAL,
        "acked": Metric.ACKED_TOTAL,
        "failed": Metric.FAILED_TOTAL,
    },
    "spout": {
        "emitted": Metric.EMITTED_TOTAL,
        "transferred": Metric.SENT_TOTAL,
        "acked": Metric.ROOTS_ACKED_TOTAL,
        "failed": Metric.ROOTS_FAILED_TOTAL,
    },
}
_MEANS = {
    "bolt": {
        "executeLatency": Metric.EXECUTE_LATENCY_MEAN,
        "processLatency": Metric.PROCESS_LATENCY_MEAN,
    },
    "spout": {"completeLatency": Metric.COMPLETE_LATENCY_MEAN},
}

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentPage:
    """What the page of a component says: its executors, and its counters by stream."""

    executors: tuple[ReportedExecutor, ...]
    parts: Parts


def listed_topologies(document: Document) -> tuple[ListedTopology, ...]:
    """What `topology/summary` lists."""
    return tuple(
        ListedTopology(
            id=_text(one, "id"),
            name=_text(one, "name"),
            uptime_seconds=number(one.get("uptimeSeconds")) or 0.0,
        )
        for one in _rows(document, "topologies")
    )


def hosts(document: Document) -> tuple[Host, ...]:
    """What `supervisor/summary` lists."""
    found = []
    for one in _rows(document, "supervisors"):
        percent, mebibytes = number(one.get("totalCpu")), number(one.get("totalMem"))
        found.append(
            Host(
                name=_text(one, "host"),
                slots=int(number(one.get("slotsTotal")) or 0),
                cores=percent / CORE_PERCENT if percent else None,
                memory_bytes=int(mebibytes * MEBIBYTE) if mebibytes else None,
            )
        )
    return tuple(found)


def components(document: Document) -> tuple[Component, ...]:
    """What `topology/ID?sys=true` lists: ackers included, but nothing else of the engine's own."""
    found = []
    for kind, name in (("spouts", "spoutId"), ("bolts", "boltId")):
        for one in _rows(document, kind):
            component = Component(
                name=_text(one, name),
                is_spout=kind == "spouts",
                tasks=int(number(one.get("tasks")) or 1),
                executors=int(number(one.get("executors")) or 1),
            )
            if component.name == ACKER or not component.name.startswith(SYSTEM_PREFIX):
                found.append(component)
    return tuple(found)


def streams(document: Document, tasks: Mapping[str, int]) -> tuple[Stream, ...]:
    """What `topology/ID/visualization` shows, but for the engine's own streams.

    `tasks` are those of every component of the topology's own.
    """
    found: dict[tuple[str, str, str], Stream] = {}
    for target, shown_as in document.items():
        if target not in tasks or not isinstance(shown_as, dict):
            continue
        for one in _rows(shown_as, ":inputs"):
            source, name = _text(one, ":component"), _text(one, ":stream")
            if source not in tasks or name.startswith(SYSTEM_PREFIX):
                continue
            grouping = grouping_named(str(one.get(":grouping")), tasks=tasks[target])
            stream = Stream(source=source, name=name, target=target, grouping=grouping)
            found.setdefault(stream.subscription, stream)
    return tuple(found.values())


def component_page(document: Document, lately: Document | None = None) -> ComponentPage:
    """What `topology/ID/component/NAME` says of all time, and lately: of the last ten minutes."""
    kind = "spout" if document.get("componentType") == "spout" else "bolt"
    name = _text(document, "id")
    recent = {str(one.get("id")): one for one in _rows(lately or {}, "executorStats")}
    executors = tuple(
        _executor(one, name, kind, lately=recent.get(str(one.get("id")), {}))
        for one in _rows(document, "executorStats")
    )
    return ComponentPage(executors=executors, parts=_parts(lately or document, kind))


def _executor(row: Document, component: str, kind: str, *, lately: Document) -> ReportedExecutor:
    match = _EXECUTOR.fullmatch(str(row.get("id")))
    if match is None:
        raise _unfit("executorStats", row.get("id"), "an executor such as [3-4]")
    return ReportedExecutor(
        executor=Executor(int(match[1]), int(match[2]), component),
        slot=Slot(_text(row, "host"), int(number(row.get("port")) or 0)),
        uptime_seconds=int(number(row.get("uptimeSeconds")) or 0),
        counts={
            metric: {None: int(count)}
            for key, metric in _COUNTS[kind].items()
            if (count := number(row.get(key))) is not None
        },
        means={
            metric: {None: Mean(ms=mean, lately_ms=number(lately.get(key)))}
            for key, metric in _MEANS[kind].items()
            if (mean := number(row.get(key))) is not None
        },
        capacity=number(row.get("capacity")),
    )


def _parts(document: Document, kind: str) -> Parts:
    """Counts and means by stream: what comes in of a bolt, what goes out of both."""
    counts: dict[Metric, dict[Key, int]] = {}
    means: dict[Metric, dict[Key, float]] = {}
    inputs = [] if kind == "spout" else _rows(document, "inputStats")
    outputs = _rows(document, "outputStats")
    for rows, is_input in ((inputs, True), (outputs, False)):
        for row in rows:
            key = Key(_text(row, "stream"), _text(row, "component") if is_input else "")
            for name, metric in _COUNTS[kind].items():
                count = number(row.get(name))
                if count is not None and ("source_component" in metric.keys) == is_input:
                    counts.setdefault(metric, {})[key] = int(count)
            for name, metric in _MEANS[kind].items():
                mean = number(row.get(name))
                if mean is not None and ("source_component" in metric.keys) == is_input:
                    means.setdefault(metric, {})[key] = mean
    return Parts(counts=counts, means_ms=means)


def _rows(document: Document, key: str) -> Iterable[Document]:
    rows = document.get(key)
    if rows is None:
        return []
    if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        raise _unfit(key, rows, "a list of objects")
    return rows


def _text(document: Document, key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str) or not value:
        raise _unfit(key, value, "a name")
    return value


def _unfit(key: str, seen: object, expected: str) -> SourceUnreachable:
    return SourceUnreachable(
        f"the UI's answer: {key}: {format_value(seen)}; expected {expected}; check that this is the"
        " address of a Storm UI"
    )
