"""Which period of which plan is calibrated, for each topology.

A stable period is a time in which a topology ran on one plan, undisturbed and warm. Time is cut
where a plan takes effect, and where a topology, worker or node starts, stops, restarts or is
rebalanced. What follows a cut is warm-up and left out: caches fill, connections open, code is
compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.lake.plans import PlanLayout, distance
from streamgauge.lake.records import Event, EventKind, PlacedExecutor, Plan
from streamgauge.pipeline.calibrate.inventory import Held, Load, Recorded
from streamgauge.pipeline.calibrate.lake_parts import Job
from streamgauge.pipeline.calibrate.steadiness import TOLD, find_steady_part, tell_state
from streamgauge.pipeline.estimation.blocks import (
    LEAST_BLOCKS,
    MICROSECONDS,
    block_length_us,
    usual_length_us,
)
from streamgauge.profile.figures import PeriodState

# A period that is taken before longer ones of earlier times has at least this and twelve blocks.
ENOUGH_SECONDS = 120
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
    """What is left out after a cut: so many seconds, but at most a share of the period."""

    seconds: float = 60.0
    most_share: float = 0.2

    def of(self, length_us: int) -> int:
        """The warm-up of a period of this length, both in microseconds."""
        return min(round(self.seconds * MICROSECONDS), round(self.most_share * length_us))


@dataclass(frozen=True, slots=True, kw_only=True)
class StablePeriod:
    """A stable period of a topology.

    Attributes:
        cluster: Where several clusters share a lake.
        topology: The job.
        plan_id: The plan it ran on.
        from_us: When the period begins, in microseconds since 1970.
        to_us: When it ends; buckets end by then.
        bucket_us: How long buckets usually are.
        nodes: Those of the plan.
        machines: Those of the plan, where known.
        executors: Who runs where.
        state: Whether it was steady, once that was looked at.
        notes: What a reader of the profile should know.
    """

    cluster: str | None
    topology: str
    plan_id: str
    from_us: int
    to_us: int
    bucket_us: int
    nodes: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    executors: tuple[PlacedExecutor, ...] = ()
    state: PeriodState | None = None
    notes: tuple[str, ...] = ()

    @property
    def job(self) -> Job:
        """The topology with its cluster."""
        return self.cluster, self.topology

    @property
    def length_us(self) -> int:
        """How long it is."""
        return self.to_us - self.from_us

    @property
    def block_us(self) -> int:
        """How long its blocks are."""
        return block_length_us(self.bucket_us, self.from_us, self.to_us)

    @property
    def is_long_enough(self) -> bool:
        """Whether it has blocks enough for errors that can be relied on."""
        return self.is_enough(self.from_us, self.to_us)

    def is_enough(self, from_us: int, to_us: int) -> bool:
        """Whether a time has, in buckets as long as its own."""
        enough = max(ENOUGH_SECONDS * MICROSECONDS, LEAST_BLOCKS * self.bucket_us)
        return to_us - from_us >= enough

    def within(self, period: Period) -> StablePeriod | None:
        """The part of it that lies in a period, if there is one."""
        start, end = max(self.from_us, period.start_us), min(self.to_us, period.end_us)
        return replace(self, from_us=start, to_us=end) if start < end else None

    def noting(self, *notes: str) -> StablePeriod:
        """The same with more notes."""
        return replace(self, notes=(*self.notes, *notes))


def stable_periods(
    plans: Iterable[Plan],
    events: Iterable[Event],
    recorded: Iterable[Recorded],
    warm_up: WarmUp | None = None,
) -> list[StablePeriod]:
    """All stable periods of one topology that have samples, in order of time.

    Samples that name no plan belong to the plan that was valid at their time.

    Args:
        plans: The topology's, in any order.
        events: Its own, and those of nodes.
        recorded: What the lake holds of it.
        warm_up: What is left out after a cut.
    """
    warm = WarmUp() if warm_up is None else warm_up
    known, seen = list(events), list(recorded)
    found: list[StablePeriod] = []
    for plan, start_us, end_us in _validity(plans):
        held = [one for one in seen if one.plan_id in (plan.plan_id, None)]
        if held:
            found += _periods_of(plan, _pieces(plan, start_us, end_us, known), held, warm)
    return found


def cuts_of(
    plans: Iterable[Plan], events: Iterable[Event], period: Period | None = None
) -> dict[Job, tuple[int, ...]]:
    """When time is cut for each topology, in order; where a period is wished for, there too."""
    known = list(events)
    wished = set() if period is None else {period.start_us, period.end_us}
    cuts: dict[Job, set[int]] = {}
    for plan in plans:
        mine = cuts.setdefault((plan.cluster, plan.topology), set(wished))
        mine |= {plan.valid_from_us, plan.valid_to_us or plan.valid_from_us}
        nodes = {executor.node for executor in plan.executors}
        mine |= {event.happened_at_us for event in known if _cuts(event, plan, nodes)}
    return {job: tuple(sorted(mine)) for job, mine in cuts.items()}


def plan_under(period: StablePeriod, plans: Iterable[Plan]) -> Plan:
    """The record of the plan that held when a period began.

    One placement may come back with other settings: the id is the same then, what was recorded
    with it is not.
    """
    of_period = (period.cluster, period.topology, period.plan_id)
    return max(
        (
            one
            for one in plans
            if (one.cluster, one.topology, one.plan_id) == of_period
            and one.valid_from_us <= period.from_us
        ),
        key=lambda one: one.valid_from_us,
    )


def instant(microseconds: int) -> datetime:
    """A time with its zone."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)


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
        if _cuts(event, plan, nodes)
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


def _cuts(event: Event, plan: Plan, nodes: set[str]) -> bool:
    """Whether an event cuts the time of a plan's topology."""
    if event.kind not in _CUTS or event.cluster != plan.cluster:
        return False
    if event.topology is None:
        return event.node in nodes
    return event.topology == plan.topology


def _is_of_whole(event: Event) -> bool:
    parts = (event.component, event.task, event.worker, event.node)
    return event.topology is not None and all(part is None for part in parts)


def _periods_of(
    plan: Plan,
    pieces: Iterable[tuple[int, int | None, str]],
    held: Sequence[Recorded],
    warm_up: WarmUp,
) -> Iterator[StablePeriod]:
    first, last = min(one.first_us for one in held), max(one.last_us for one in held)
    whole = StablePeriod(
        cluster=plan.cluster,
        topology=plan.topology,
        plan_id=plan.plan_id,
        from_us=first,
        to_us=last,
        bucket_us=_usual_bucket_us(held),
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
        period = whole.within(Period(start_us=warm, end_us=end))
        if period is None:
            continue
        left_out = warm - max(begin, first)
        if left_out > 0:
            seconds = left_out / MICROSECONDS
            period = period.noting(f"{seconds:.3g} s of warm-up left out after {cause}")
        yield period


def _usual_bucket_us(held: Sequence[Recorded]) -> int:
    """The usual length of the buckets that are summed up, if any are."""
    samples: dict[int, int] = {}
    for one in [one for one in held if one.is_needed] or held:
        samples[one.bucket_us] = samples.get(one.bucket_us, 0) + one.rows
    return usual_length_us(samples)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What should be calibrated.

    Attributes:
        period: When; without one the most recent stable period that is long enough is taken.
        like: The plan to be predicted; the recorded one most like it is taken.
        strict: Whether a period with several stable ones is refused.
        warm_up: What is left out after a cut.
    """

    period: Period | None = None
    like: PlanLayout | None = None
    strict: bool = False
    warm_up: WarmUp = field(default_factory=WarmUp)

    def __post_init__(self) -> None:
        if self.period is not None and self.like is not None:
            raise InvalidInput.single(
                ("for_plan",),
                seen="a period and a plan",
                expected="one of them",
                remedy="leave out the period, or the plan to be predicted",
            )
        if self.period is not None and self.period.start_us >= self.period.end_us:
            raise InvalidInput.single(
                ("from", "to"), seen=str(self.period), expected="a start before the end"
            )


ANYTHING = Wish()


def choose_all(
    plans: Iterable[Plan],
    events: Iterable[Event],
    held: Iterable[Held],
    wish: Wish = ANYTHING,
) -> dict[Job, StablePeriod | NotEnoughData]:
    """Choose for every topology that has plans or samples, or say why it cannot be calibrated.

    Raises:
        InvalidInput: The period spans several stable ones of a topology, and that is refused.
    """
    known = list(events)
    by_job: dict[Job, list[Plan]] = {}
    for plan in plans:
        by_job.setdefault((plan.cluster, plan.topology), []).append(plan)
    held_of = {(one.cluster, one.topology): one for one in held}
    chosen: dict[Job, StablePeriod | NotEnoughData] = {}
    for job in sorted(by_job.keys() | held_of.keys(), key=lambda one: (one[0] or "", one[1])):
        held_by_job = held_of.get(job, Held(cluster=job[0], topology=job[1], recorded=()))
        try:
            chosen[job] = choose(held_by_job, by_job.get(job, ()), known, wish)
        except NotEnoughData as error:
            chosen[job] = error
    return chosen


def choose(
    held: Held,
    plans: Sequence[Plan],
    events: Iterable[Event],
    wish: Wish = ANYTHING,
) -> StablePeriod:
    """Choose for one topology.

    * With a period: the longest stable period in it; of equally long ones the last.
    * With a plan to be predicted: as without one, among the periods of the recorded plan that is
      most like it; of equally similar ones the one that ran last.
    * Otherwise the last period that is long enough, else the longest.

    Of a period that nobody asked for, only what was steady is taken (`steadiness`).

    Args:
        held: What the lake holds of it, with its load by block: input, output and what waits.
        plans: Its plans.
        events: All events, or its own and those of nodes.
        wish: What is wanted.

    Raises:
        NotEnoughData: There is no plan, or no sample under one in the period.
        InvalidInput: The period spans several stable ones, and that is refused.
    """
    topology = held.topology
    _check(topology, plans, held.recorded)
    periods = stable_periods(plans, events, held.recorded, wish.warm_up)
    if not periods:
        raise NotEnoughData(
            f"topology {topology!r}: no samples while any of its {len(plans)} plans was valid;"
            " expected samples and plans of the same time: check that plans and samples come from"
            " the same cluster"
        )
    if wish.period is not None:
        asked_for = _in_period(topology, periods, wish.period, strict=wish.strict)
        return _judged(asked_for, held.load)
    if wish.like is not None:
        return _steady_part(_most_alike(periods, plans, wish.like), held.load)
    return _steady_part(_last_long_enough(periods), held.load)


def _check(topology: str, plans: Sequence[Plan], recorded: Sequence[Recorded]) -> None:
    if not plans:
        raise NotEnoughData(
            f"topology {topology!r}: no plan was recorded; expected at least one, which says what"
            " its operators are and where they run: ingest records of type plan"
        )
    if not recorded:
        raise NotEnoughData(
            f"topology {topology!r}: no samples; expected some of one of its plans: ingest the"
            " metrics of its workers"
        )


def _in_period(
    topology: str, periods: Sequence[StablePeriod], period: Period, *, strict: bool
) -> StablePeriod:
    inside = [part for one in periods if (part := one.within(period)) is not None]
    if not inside:
        known = Period(start_us=periods[0].from_us, end_us=periods[-1].to_us)
        raise NotEnoughData(
            f"topology {topology!r}: nothing stable from {period}; expected a period with samples"
            f" under one plan, after its warm-up: there are some from {known}"
        )
    longest = max(inside, key=lambda one: (one.length_us, one.to_us))
    if len(inside) == 1:
        return _noting_length(longest)
    plans = len({one.plan_id for one in inside})
    if strict:
        raise InvalidInput.single(
            ("from", "to"),
            seen=f"{len(inside)} stable periods of {plans} plans of topology {topology!r} from"
            f" {period}",
            expected="one plan that ran undisturbed",
            remedy=f"take {_period_of(longest)}, the longest of them",
        )
    note = (
        f"the period spans {len(inside)} stable ones of {plans} plans: the longest was taken,"
        f" {_period_of(longest)} on plan {longest.plan_id}"
    )
    return _noting_length(longest.noting(note))


def _most_alike(
    periods: Sequence[StablePeriod], plans: Sequence[Plan], wanted: PlanLayout
) -> StablePeriod:
    last = {one.plan_id: one.to_us for one in periods}
    layouts = {one.plan_id: PlanLayout.of_record(one) for one in plans if one.plan_id in last}
    far = {plan_id: distance(seating, wanted) for plan_id, seating in layouts.items()}
    best = min(far, key=lambda plan_id: (far[plan_id], -last[plan_id]))
    chosen = _last_long_enough([one for one in periods if one.plan_id == best])
    return chosen.noting(
        f"of {len(far)} recorded plans {best} is most like the plan to be predicted: {far[best]}"
    )


def _last_long_enough(periods: Sequence[StablePeriod]) -> StablePeriod:
    enough = [one for one in periods if one.is_long_enough]
    if enough:
        return max(enough, key=lambda one: one.to_us)
    return _noting_length(max(periods, key=lambda one: (one.length_us, one.to_us)))


def _steady_part(period: StablePeriod, load: Sequence[Load]) -> StablePeriod:
    """What was steady of a period, where that is long enough."""
    part = find_steady_part(load, period.from_us, period.to_us, period.is_enough)
    steady = replace(period, from_us=part.start_us, to_us=part.end_us, state=part.state)
    return steady.noting(*part.notes)


def _judged(period: StablePeriod, load: Sequence[Load]) -> StablePeriod:
    """A period as it was asked for, with what it was like."""
    state = tell_state(load, period.from_us, period.to_us)
    if state is PeriodState.STEADY:
        return replace(period, state=state)
    return replace(period, state=state).noting(f"the period is not steady: {TOLD[state]}")


def _noting_length(period: StablePeriod) -> StablePeriod:
    if period.is_long_enough:
        return period
    seconds, bucket = period.length_us / MICROSECONDS, period.bucket_us / MICROSECONDS
    return period.noting(
        f"a short period: {seconds:.3g} s in buckets of {bucket:g} s, less than {ENOUGH_SECONDS} s"
        f" or {LEAST_BLOCKS} buckets"
    )


def _period_of(period: StablePeriod) -> Period:
    return Period(start_us=period.from_us, end_us=period.to_us)
