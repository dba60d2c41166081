"""Topologies: operators with their windows, and the streams between them."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from streamgauge.errors import CyclicTopology, Findings, InvalidInput, did_you_mean
from streamgauge.topology.field_checks import (
    check_known,
    check_name,
    check_number,
    check_whole,
    format_value,
)
from streamgauge.topology.frozen import freeze
from streamgauge.topology.grouping import Custom, Direct, Fields, Grouping

# Names that Storm gives to its own operators and streams begin with two underscores.
SYSTEM_PREFIX = "__"
ACKER = "__acker"
ACK_INIT = "__ack_init"
ACK_ACK = "__ack_ack"
DEFAULT_STREAM = "default"
MAX_TASKS = 100_000


class OperatorKind(StrEnum):
    """What an operator is to the flow."""

    SOURCE = "source"
    PROCESSOR = "processor"
    ACKER = "acker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A window by count or by time, tumbling or sliding; length and slide may differ in kind.

    Give length and slide each in tuples or in seconds. Without a slide the window tumbles: the
    slide equals the length. Every task has its own windows.

    Attributes:
        length_tuples: Tuples in a window, or None where the length is a time.
        length_seconds: Seconds in a window, or None where the length is a count.
        slide_tuples: Tuples between triggers, or None where the slide is a time.
        slide_seconds: Seconds between triggers, or None where the slide is a count.
        event_time: Whether time is the tuples' own (needs watermarks) or the wall clock.
    """

    length_tuples: int | None = None
    length_seconds: float | None = None
    slide_tuples: int | None = None
    slide_seconds: float | None = None
    event_time: bool = False

    def __post_init__(self) -> None:
        with Findings() as findings:
            self._check_extent(findings, "length", self.length_tuples, self.length_seconds)
            if self.slide_tuples is None and self.slide_seconds is None:
                object.__setattr__(self, "slide_tuples", self.length_tuples)
                object.__setattr__(self, "slide_seconds", self.length_seconds)
            else:
                self._check_extent(findings, "slide", self.slide_tuples, self.slide_seconds)

    @staticmethod
    def _check_extent(
        findings: Findings, what: str, tuples: int | None, seconds: float | None
    ) -> None:
        if (tuples is None) == (seconds is None):
            findings.add(
                f"{what}_tuples",
                seen="neither tuples nor seconds" if tuples is None else "both tuples and seconds",
                expected=f"either {what}_tuples or {what}_seconds",
            )
        elif tuples is not None:
            check_whole(findings, tuples, f"{what}_tuples")
        else:
            check_number(findings, seconds, f"{what}_seconds", above=0.0)

    @property
    def is_tumbling(self) -> bool:
        """Whether every tuple is in exactly one window."""
        return (self.length_tuples, self.length_seconds) == (self.slide_tuples, self.slide_seconds)

    def describe(self) -> str:
        """In words: ``10 tuples`` or ``10 s every 5 s``."""
        length = _extent(self.length_tuples, self.length_seconds)
        if self.is_tumbling:
            return length
        return f"{length} every {_extent(self.slide_tuples, self.slide_seconds)}"


def _extent(tuples: int | None, seconds: float | None) -> str:
    return f"{tuples} tuples" if tuples is not None else f"{seconds:g} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A component of a topology.

    Attributes:
        kind: Source, processor or (added automatically) acker.
        tasks: Number of tasks: fixed for the life of the topology, so the most executors it
            can ever have.
    """

    name: str
    kind: OperatorKind = OperatorKind.PROCESSOR
    tasks: int = 1
    window: Window | None = None

    def __post_init__(self) -> None:
        findings = Findings()
        check_name(findings, self.name, "name")
        check_whole(findings, self.tasks, "tasks", most=MAX_TASKS)
        if self.kind in list(OperatorKind):
            object.__setattr__(self, "kind", OperatorKind(self.kind))
        else:
            kinds = ", ".join(OperatorKind)
            findings.add("kind", seen=format_value(self.kind), expected=f"one of {kinds}")
        if self.window is not None and self.kind is not OperatorKind.PROCESSOR:
            findings.add(
                "window",
                seen=f"a window on a {self.kind}",
                expected="windows on processors only",
                remedy="put the window on the first processor after the source",
            )
        findings.raise_if_any()


class StreamKey(NamedTuple):
    """A stream's identity: names are unique only inside their source operator."""

    source: str
    name: str

    def __str__(self) -> str:
        return f"{self.source}/{self.name}"


# (source, stream, target)
Subscription = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A named stream of one operator and one operator that subscribes to it.

    Several subscribers of a stream are several `Stream`s with one key; each gets a copy of
    every tuple.
    """

    source: str
    target: str
    grouping: Grouping
    name: str = DEFAULT_STREAM

    def __post_init__(self) -> None:
        with Findings() as findings:
            check_name(findings, self.name, "name")

    @property
    def key(self) -> StreamKey:
        """Which stream this is: (source, name)."""
        return StreamKey(self.source, self.name)

    @property
    def subscription(self) -> Subscription:
        """Which entry this is: (source, name, target), unique in its topology."""
        return (self.source, self.name, self.target)

    @property
    def is_system(self) -> bool:
        """Whether the engine, not the user, sends on it."""
        return self.name.startswith(SYSTEM_PREFIX)


@dataclass(frozen=True, kw_only=True)
class Topology:
    """A streaming job as a graph; cycles are allowed.

    Attributes:
        name: What the engine calls the job.
        operators: In the order they were declared, which some engines number tasks by.
        streams: One entry per (source, stream, subscriber).
        acked: Whether tuple trees are tracked; `with_ackers` then adds the ackers.
    """

    name: str
    operators: tuple[Operator, ...]
    streams: tuple[Stream, ...] = ()
    acked: bool = False

    def __post_init__(self) -> None:
        freeze(self, "operators", "streams")
        with Findings() as findings:
            check_name(findings, self.name, "name")
            _check_operators(findings, self)
            _check_streams(findings, self)
            if not findings:
                _check_reachable(findings, self)

    def operator(self, name: str) -> Operator:
        """The operator of that name, or InvalidInput with the nearest names."""
        operator = self._by_name.get(name)
        if operator is not None:
            return operator
        raise InvalidInput.single(
            (),
            seen=f"operator {name!r}",
            expected=f"an operator of topology {self.name!r}",
            remedy=did_you_mean(name, self.operator_names),
        )

    @cached_property
    def _by_name(self) -> dict[str, Operator]:
        return {operator.name: operator for operator in self.operators}

    @cached_property
    def _by_source(self) -> dict[str, tuple[Stream, ...]]:
        return _group_streams(self.streams, lambda stream: stream.source)

    @cached_property
    def _by_target(self) -> dict[str, tuple[Stream, ...]]:
        return _group_streams(self.streams, lambda stream: stream.target)

    @cached_property
    def operator_names(self) -> tuple[str, ...]:
        """All names, in declared order."""
        return tuple(operator.name for operator in self.operators)

    @cached_property
    def sources(self) -> tuple[Operator, ...]:
        """The operators through which tuples enter."""
        return tuple(op for op in self.operators if op.kind is OperatorKind.SOURCE)

    @cached_property
    def sinks(self) -> tuple[Operator, ...]:
        """The processors that emit no data: where paths end."""
        emitting = {stream.source for stream in self.data_streams}
        return tuple(
            op
            for op in self.operators
            if op.kind is OperatorKind.PROCESSOR and op.name not in emitting
        )

    @cached_property
    def data_streams(self) -> tuple[Stream, ...]:
        """The streams that carry the job's own tuples."""
        return tuple(stream for stream in self.streams if not stream.is_system)

    @cached_property
    def has_ackers(self) -> bool:
        """Whether acker operators have been added."""
        return any(op.kind is OperatorKind.ACKER for op in self.operators)

    def streams_from(self, operator: str) -> tuple[Stream, ...]:
        """Every subscription to what `operator` emits, system streams included."""
        return self._by_source.get(operator, ())

    def streams_into(self, operator: str) -> tuple[Stream, ...]:
        """Every subscription of `operator`, system streams included."""
        return self._by_target.get(operator, ())

    def cycle(self) -> tuple[str, ...] | None:
        """One cycle of data streams, first operator repeated at its end, or None."""
        return self._cycle

    @cached_property
    def _cycle(self) -> tuple[str, ...] | None:
        try:
            self._sorter().prepare()
        except graphlib.CycleError as error:
            return tuple(error.args[1])
        return None

    def topological_order(self) -> tuple[Operator, ...]:
        """Operators so that every data stream points onward; ackers come last.

        Raises:
            CyclicTopology: There is no such order.
        """
        if self._cycle is not None:
            raise CyclicTopology.single(
                ("streams",),
                seen=f"the cycle {' → '.join(self._cycle)}",
                expected="a topology without cycles",
                remedy="remove a feedback stream, or use the simulation model",
            )
        return self._order

    @cached_property
    def _order(self) -> tuple[Operator, ...]:
        return tuple(self.operator(name) for name in self._sorter().static_order())

    def with_ackers(self, tasks: int) -> Topology:
        """This topology with the operator and streams that track its tuple trees.

        Every source announces its roots (init), every processor acknowledges what it handled
        (ack), and the acker reports a finished tree to the source task that began it (return).
        Unacked topologies, and acked ones with no acker tasks, stay as they are.
        """
        if self.has_ackers:
            raise InvalidInput.single(
                ("operators", ACKER),
                seen=f"a topology that has {ACKER!r} already",
                expected="the topology as declared, without ackers",
            )
        if not self.acked or tasks == 0:
            return self
        by_root = Fields(keys=("root",))
        init = [
            Stream(source=op.name, name=ACK_INIT, target=ACKER, grouping=by_root)
            for op in self.sources
        ]
        ack = [
            Stream(source=op.name, name=ACK_ACK, target=ACKER, grouping=by_root)
            for op in self.operators
            if op.kind is OperatorKind.PROCESSOR
        ]
        done = [
            Stream(source=ACKER, name=ACK_ACK, target=op.name, grouping=Direct())
            for op in self.sources
        ]
        acker = Operator(name=ACKER, kind=OperatorKind.ACKER, tasks=tasks)
        return replace(
            self,
            operators=(*self.operators, acker),
            streams=(*self.streams, *init, *ack, *done),
        )

    def _sorter(self) -> graphlib.TopologicalSorter[str]:
        sorter: graphlib.TopologicalSorter[str] = graphlib.TopologicalSorter()
        for operator in self.operators:
            if operator.kind is not OperatorKind.ACKER:
                sorter.add(operator.name)
        for stream in self.data_streams:
            sorter.add(stream.target, stream.source)
        if self.has_ackers:
            sorter.add(ACKER, *(stream.source for stream in self.streams_into(ACKER)))
        return sorter


def _group_streams(
    streams: Iterable[Stream], key: Callable[[Stream], str]
) -> dict[str, tuple[Stream, ...]]:
    groups: dict[str, list[Stream]] = {}
    for stream in streams:
        groups.setdefault(key(stream), []).append(stream)
    return {name: tuple(group) for name, group in groups.items()}


def _check_operators(findings: Findings, topology: Topology) -> None:
    seen: set[str] = set()
    for operator in topology.operators:
        if operator.name in seen:
            findings.add(
                "operators",
                operator.name,
                seen=f"the name {operator.name!r} twice",
                expected="each operator name once",
                remedy="rename one of them",
            )
        seen.add(operator.name)
        is_acker = operator.kind is OperatorKind.ACKER
        if operator.name.startswith(SYSTEM_PREFIX) != is_acker:
            findings.add(
                "operators",
                operator.name,
                seen=f"{operator.kind} named {operator.name!r}",
                expected=f"names that begin with {SYSTEM_PREFIX!r} for ackers only",
                remedy="ackers are added from the configuration, not declared",
            )
    if not topology.sources:
        findings.add("operators", seen="no source", expected="at least one operator of kind source")


def _check_streams(findings: Findings, topology: Topology) -> None:
    operators = {operator.name: operator for operator in topology.operators}
    subscribed: set[tuple[str, str, str]] = set()
    for index, stream in enumerate(topology.streams):
        for end, name in (("from", stream.source), ("to", stream.target)):
            seen, expected = f"unknown operator {name!r}", "the name of an operator"
            check_known(
                findings, name, operators, "streams", index, end, seen=seen, expected=expected
            )
        if stream.source not in operators or stream.target not in operators:
            continue
        source, target = operators[stream.source], operators[stream.target]
        if stream.subscription in subscribed:
            findings.add(
                "streams",
                index,
                seen=f"a second subscription of {stream.target!r} to {stream.key}",
                expected="each operator to subscribe once to a stream",
                remedy="give the second stream a name of its own",
            )
        subscribed.add(stream.subscription)
        _check_ends(findings, stream, index, source, target)
        _check_matrix(findings, stream, index, source, target)


def _check_ends(
    findings: Findings, stream: Stream, index: int, source: Operator, target: Operator
) -> None:
    touches_acker = OperatorKind.ACKER in (source.kind, target.kind)
    if target.kind is OperatorKind.SOURCE and not touches_acker:
        findings.add(
            "streams",
            index,
            "to",
            seen=f"a stream into the source {target.name!r}",
            expected="streams into processors",
            remedy="make it a processor, or send to the operator after it",
        )
    if stream.is_system != touches_acker:
        findings.add(
            "streams",
            index,
            "stream",
            seen=f"a stream named {stream.name!r}",
            expected=f"names that do not begin with {SYSTEM_PREFIX!r}",
            remedy="such names are reserved for the engine",
        )


def _check_matrix(
    findings: Findings, stream: Stream, index: int, source: Operator, target: Operator
) -> None:
    if not isinstance(stream.grouping, Custom):
        return
    rows, columns = len(stream.grouping.matrix), len(stream.grouping.matrix[0])
    if rows not in (1, source.tasks) or columns != target.tasks:
        findings.add(
            "streams",
            index,
            "grouping",
            "custom",
            seen=f"a matrix of {rows} × {columns}",
            expected=f"{source.tasks} rows (tasks of {source.name!r}), or one row for all of "
            f"them, × {target.tasks} columns (tasks of {target.name!r})",
        )


def _check_reachable(findings: Findings, topology: Topology) -> None:
    targets: dict[str, list[str]] = {}
    for stream in topology.streams:
        targets.setdefault(stream.source, []).append(stream.target)
    reached = _reachable((op.name for op in topology.sources), targets)
    for operator in topology.operators:
        if operator.name not in reached:
            findings.add(
                "operators",
                operator.name,
                seen=f"{operator.name!r}, which no source reaches",
                expected="every operator downstream of a source",
                remedy="add a stream into it, or make it a source",
            )


def _reachable(start: Iterable[str], targets: dict[str, list[str]]) -> set[str]:
    reached = set(start)
    frontier = list(reached)
    while frontier:
        for name in targets.get(frontier.pop(), ()):
            if name not in reached:
                reached.add(name)
                frontier.append(name)
    return reached
