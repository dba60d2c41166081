"""Stable stretches: times in which a topology ran on one plan, undisturbed and warm.

Time is cut where a plan takes effect, and where a topology, worker or node starts, stops, restarts
or is rebalanced. What follows a cut is warm-up and left out: caches fill, connections open, code is
compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from streamgauge.lake.definition import Level
from streamgauge.lake.metrics import METRICS, Metric
from streamgauge.lake.records import Event, EventKind, PlacedExecutor, Plan
from streamgauge.pipeline.calibrate.block_lengths import (
    LEAST_BUCKET_US,
    MICROSECONDS,
    MOST_FACTOR,
    block_seconds,
)
from streamgauge.pipeline.calibrate.wanted import WANTED, largest

# Blocks that a stretch should have: fewer cannot be resampled.
ENOUGH_BLOCKS = 8
_CUTS = frozenset({EventKind.START, EventKind.STOP, EventKind.REBALANCE, EventKind.RESTART})


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A time from its start to before its end, in microseconds since 1970."""

    start_us: int
    end_us: int

    def __str__(self) -> str:
        return f"{moment(self.start_us)} to {moment(self.end_us)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """What is left out after a cut: so many seconds, but at most a share of the stretch."""

    seconds: float = 60.0
    most_share: float = 0.2

    def of(self, length_us: int) -> int:
        """The warm-up of a stretch of this length, both in microseconds."""
        return min(round(self.seconds * MICROSECONDS), round(self.most_share * length_us))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What the lake holds of one metric of a topology under one plan.

    Attributes:
        cluster: Where several clusters share a lake.
        topology: The job.
        plan_id: The plan that the samples name; nothing where they name none.
        metric: Its label.
        first_us: When the first bucket began.
        last_us: When the last bucket ended.
        rows: Samples.
        needed: Those that are summed up.
        longest_us: The longest bucket.
        shortest_us: The shortest.
        largest_value: The largest value, whatever its sign.
        largest_count: The largest count.
    """

    cluster: str | None
    topology: str
    plan_id: str | None
    metric: str
    first_us: int
    last_us: int
    rows: int
    needed: int
    longest_us: int
    shortest_us: int = LEAST_BUCKET_US
    largest_value: float = 0.0
    largest_count: int = 0

    @property
    def is_summable(self) -> bool:
        """Whether sums of all its samples are exact; those of which they are not are left out."""
        return self.metric not in WANTED or (
            self.shortest_us >= LEAST_BUCKET_US
            and self.largest_value < largest(self.metric)
            and self.largest_count < MOST_FACTOR
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stable stretch of a topology.

    Attributes:
        cluster: Where several clusters share a lake.
        topology: The job.
        plan_id: The plan it ran on.
        from_us: When the stretch begins, in microseconds since 1970.
        to_us: When it ends; buckets end by then.
        block_seconds: Of the longest blocks that its samples are summed up in.
        nodes: Those of the plan.
        machines: Those of the plan, where known.
        executors: Who runs where.
        recorded_until_us: When the last bucket of the topology ended, whatever plan it was of.
        notes: What a reader of the profile should know.
    """

    cluster: str | None
    topology: str
    plan_id: str
    from_us: int
    to_us: int
    block_seconds: int
    nodes: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    executors: tuple[PlacedExecutor, ...] = ()
    recorded_until_us: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_last(self) -> bool:
        """Whether nothing was recorded of the topology after it."""
        return self.recorded_until_us is not None and self.recorded_until_us <= self.to_us

    @property
    def length_us(self) -> int:
        """How long it is."""
        return self.to_us - self.from_us

    @property
    def blocks(self) -> float:
        """How many of its longest blocks it holds."""
        return self.length_us / (self.block_seconds * MICROSECONDS)

    @property
    def is_long_enough(self) -> bool:
        """Whether its blocks can be resampled."""
        return self.blocks >= ENOUGH_BLOCKS

    def within(self, period: Period) -> Stretch | None:
        """The part of it that lies in a period, if there is one."""
        start, end = max(self.from_us, period.start_us), min(self.to_us, period.end_us)
        return replace(self, from_us=start, to_us=end) if start < end else None

    def noting(self, *notes: str) -> Stretch:
        """The same with more notes."""
        return replace(self, notes=(*self.notes, *notes))


def stable_stretches(
    plans: Iterable[Plan],
    events: Iterable[Event],
    recorded: Iterable[Recorded],
    warm_up: WarmUp | None = None,
) -> list[Stretch]:
    """All stable stretches of one topology that have samples, in order of time.

    Samples that name no plan belong to the plan that was valid at their time.

    Args:
        plans: The topology's, in any order.
        events: Its own, and those of nodes.
        recorded: What the lake holds of it.
        warm_up: What is left out after a cut.
    """
    warm = WarmUp() if warm_up is None else warm_up
    known, seen = list(events), list(recorded)
    until_us = max((one.last_us for one in seen), default=None)
    found: list[Stretch] = []
    for plan, start_us, end_us in _validity(plans):
        held = [one for one in seen if one.plan_id in (plan.plan_id, None)]
        if held:
            found += _stretches_of(plan, _pieces(plan, start_us, end_us, known), held, warm)
    return [replace(one, recorded_until_us=until_us) for one in found]


def plan_under(stretch: Stretch, plans: Iterable[Plan]) -> Plan:
    """The record of the plan that held when a stretch began.

    One placement may come back with other settings: the id is the same then, what was recorded
    with it is not.
    """
    of_stretch = (stretch.cluster, stretch.topology, stretch.plan_id)
    return max(
        (
            one
            for one in plans
            if (one.cluster, one.topology, one.plan_id) == of_stretch
            and one.valid_from_us <= stretch.from_us
        ),
        key=lambda one: one.valid_from_us,
    )


def beats_everywhere(recorded: Iterable[Recorded]) -> bool:
    """Whether samples of heartbeats came with every plan of every topology."""
    plans, beating = set(), set()
    for one in recorded:
        key = (one.cluster, one.topology, one.plan_id)
        plans.add(key)
        if one.metric == Metric.WORKER_HEARTBEATS.label:
            beating.add(key)
    return plans == beating


def needed_labels(recorded: Iterable[Recorded]) -> frozenset[str]:
    """The metrics that are worth reading; those of nodes and machines, which are few, always."""
    hosts = {label for label in WANTED if METRICS[label].level in (Level.NODE, Level.MACHINE)}
    return frozenset(hosts | {one.metric for one in recorded if one.needed})


def moment(microseconds: int) -> str:
    """A time as RFC 3339 has it, without fractions where there are none."""
    whole, rest = divmod(microseconds, MICROSECONDS)
    text = datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f".{rest:06d}".rstrip("0") if rest else ""
    return f"{text}{fraction}Z"


def _validity(plans: Iterable[Plan]) -> Iterator[tuple[Plan, int, int | None]]:
    """Each plan with the time it was valid; one that takes effect ends the one before."""
    ordered = sorted(plans, key=lambda plan: (plan.valid_from_us, plan.plan_id))
    for place, plan in enumerate(ordered):
        ends = [plan.valid_to_us] if plan.valid_to_us is not None else []
        if place + 1 < len(ordered):
            ends.append(ordered[place + 1].valid_from_us)
        yield plan, plan.valid_from_us, min(ends, default=None)


def _pieces(
    plan: Plan, start_us: int, end_us: int | None, events: Iterable[Event]
) -> Iterator[tuple[int, int | None, str]]:
    """The undisturbed parts of a plan's time, each with what came before it."""
    nodes = {executor.node for executor in plan.executors}
    cuts = [
        event
        for event in events
        if event.kind in _CUTS
        and _concerns(event, plan, nodes)
        and start_us <= event.happened_at_us
        and (end_us is None or event.happened_at_us < end_us)
    ]
    begin: int | None = start_us
    cause = f"plan {plan.plan_id} took effect"
    # Who stops and starts at the same moment runs on.
    for event in sorted(cuts, key=lambda e: (e.happened_at_us, e.kind != EventKind.STOP, e.kind)):
        at = event.happened_at_us
        if begin is not None and begin < at:
            yield begin, at, cause
        stopped = event.kind == EventKind.STOP and _is_of_whole(event)
        begin, cause = (None if stopped else at), f"a {event.kind}"
    if begin is not None:
        yield begin, end_us, cause


def _concerns(event: Event, plan: Plan, nodes: set[str]) -> bool:
    if event.cluster != plan.cluster:
        return False
    if event.topology is None:
        return event.node in nodes
    return event.topology == plan.topology


def _is_of_whole(event: Event) -> bool:
    parts = (event.component, event.task, event.worker, event.node)
    return event.topology is not None and all(part is None for part in parts)


def _stretches_of(
    plan: Plan,
    pieces: Iterable[tuple[int, int | None, str]],
    held: Sequence[Recorded],
    warm_up: WarmUp,
) -> Iterator[Stretch]:
    first, last = min(one.first_us for one in held), max(one.last_us for one in held)
    whole = Stretch(
        cluster=plan.cluster,
        topology=plan.topology,
        plan_id=plan.plan_id,
        from_us=first,
        to_us=last,
        block_seconds=block_seconds(max(one.longest_us for one in held)),
        nodes=tuple(sorted({executor.node for executor in plan.executors})),
        machines=tuple(sorted({one.machine for one in plan.executors if one.machine is not None})),
        executors=plan.executors,
    )
    odd = sorted({one.metric for one in held if not one.is_summable})
    if odd:
        whole = whole.noting(
            "samples with buckets shorter than a millisecond or with numbers too large to be summed"
            f" are left out: of {', '.join(odd)}"
        )
    for begin, cut, cause in pieces:
        end = last if cut is None else min(cut, last)
        warm = begin + warm_up.of(max(end - begin, 0))
        stretch = whole.within(Period(start_us=warm, end_us=end))
        if stretch is None:
            continue
        left_out = warm - max(begin, first)
        if left_out > 0:
            seconds = left_out / MICROSECONDS
            stretch = stretch.noting(f"{seconds:.3g} s of warm-up left out after {cause}")
        yield stretch
