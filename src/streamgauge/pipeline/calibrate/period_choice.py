"""Which stretch of time of which plan is calibrated, for each topology."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.lake.plans import PlanLayout, distance
from streamgauge.lake.records import Event, Plan
from streamgauge.pipeline.calibrate.stretches import (
    ENOUGH_BLOCKS,
    Period,
    Recorded,
    Stretch,
    WarmUp,
    stable_stretches,
)

# A topology: its cluster, where that has a name, and its own name.
Job = tuple[str | None, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What should be calibrated.

    Attributes:
        period: When; without one the most recent stretch that is long enough is taken.
        like: The plan to be predicted; the recorded one most like it is taken.
        strict: Whether a period with several stretches is refused.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is calibrated of a fleet, and what is not.

    Attributes:
        stretches: One for each topology that can be calibrated, by cluster and name.
        refused: Why the others cannot.
    """

    stretches: tuple[Stretch, ...]
    refused: dict[Job, NotEnoughData]


def choose_all(
    plans: Iterable[Plan],
    events: Iterable[Event],
    recorded: Iterable[Recorded],
    wish: Wish = ANYTHING,
) -> Choice:
    """Choose for every topology that has plans or samples.

    Raises:
        InvalidInput: The period spans several stretches of a topology, and that is refused.
    """
    known = list(events)
    by_job: dict[Job, tuple[list[Plan], list[Recorded]]] = {}
    for plan in plans:
        by_job.setdefault((plan.cluster, plan.topology), ([], []))[0].append(plan)
    for one in recorded:
        by_job.setdefault((one.cluster, one.topology), ([], []))[1].append(one)
    stretches: list[Stretch] = []
    refused: dict[Job, NotEnoughData] = {}
    for job in sorted(by_job, key=lambda one: (one[0] or "", one[1])):
        try:
            stretches.append(choose(job[1], *by_job[job], known, wish))
        except NotEnoughData as error:
            refused[job] = error
    return Choice(stretches=tuple(stretches), refused=refused)


def choose(
    topology: str,
    plans: Sequence[Plan],
    recorded: Sequence[Recorded],
    events: Iterable[Event],
    wish: Wish = ANYTHING,
) -> Stretch:
    """Choose for one topology.

    * With a period: the longest stable stretch in it; of equally long ones the last.
    * With a plan to be predicted: as without one, among the stretches of the recorded plan that is
      most like it; of equally similar ones the one that ran last.
    * Otherwise the last stretch that is long enough to be resampled, else the longest.

    Args:
        topology: Its name, for messages.
        plans: Its plans.
        recorded: What the lake holds of it.
        events: All events, or its own and those of nodes.
        wish: What is wanted.

    Raises:
        NotEnoughData: There is no plan, or no sample under one in the period.
        InvalidInput: The period spans several stretches, and that is refused.
    """
    _check(topology, plans, recorded)
    stretches = stable_stretches(plans, events, recorded, wish.warm_up)
    if not stretches:
        raise NotEnoughData(
            f"topology {topology!r}: no samples while any of its {len(plans)} plans was valid;"
            " expected samples and plans of the same time: check that plans and samples come from"
            " the same cluster"
        )
    if wish.period is not None:
        return _in_period(topology, stretches, wish.period, strict=wish.strict)
    if wish.like is not None:
        return _most_alike(stretches, plans, wish.like)
    return _last_long_enough(stretches)


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
    topology: str, stretches: Sequence[Stretch], period: Period, *, strict: bool
) -> Stretch:
    inside = [part for one in stretches if (part := one.within(period)) is not None]
    if not inside:
        known = Period(start_us=stretches[0].from_us, end_us=stretches[-1].to_us)
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
            seen=f"{len(inside)} stretches of {plans} plans of topology {topology!r} from {period}",
            expected="one plan that ran undisturbed",
            remedy=f"take {_period_of(longest)}, the longest of them",
        )
    note = (
        f"the period spans {len(inside)} stretches of {plans} plans: the longest was taken,"
        f" {_period_of(longest)} on plan {longest.plan_id}"
    )
    return _noting_length(longest.noting(note))


def _most_alike(stretches: Sequence[Stretch], plans: Sequence[Plan], wanted: PlanLayout) -> Stretch:
    last = {one.plan_id: one.to_us for one in stretches}
    layouts = {one.plan_id: PlanLayout.of_record(one) for one in plans if one.plan_id in last}
    far = {plan_id: distance(seating, wanted) for plan_id, seating in layouts.items()}
    best = min(far, key=lambda plan_id: (far[plan_id], -last[plan_id]))
    chosen = _last_long_enough([one for one in stretches if one.plan_id == best])
    return chosen.noting(
        f"of {len(far)} recorded plans {best} is most like the plan to be predicted: {far[best]}"
    )


def _last_long_enough(stretches: Sequence[Stretch]) -> Stretch:
    enough = [one for one in stretches if one.is_long_enough]
    if enough:
        return max(enough, key=lambda one: one.to_us)
    return _noting_length(max(stretches, key=lambda one: (one.length_us, one.to_us)))


def _noting_length(stretch: Stretch) -> Stretch:
    if stretch.is_long_enough:
        return stretch
    return stretch.noting(
        f"{stretch.blocks:.2g} blocks of {stretch.block_seconds} s, fewer than {ENOUGH_BLOCKS}"
    )


def _period_of(stretch: Stretch) -> Period:
    return Period(start_us=stretch.from_us, end_us=stretch.to_us)
