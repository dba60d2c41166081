"""The plan to buy: the cheapest that is predicted to meet the objective, and its rivals.

Cost alone fills machines to the brim, where latency grows without bound. Here plans are made for
executors and machines that are less and less filled; each is predicted on the machines it would
buy, cheapest first, until none that is left could be cheaper than one that meets the objective.
Meezan's plans are among them, so that none of Meezan's that meets it is cheaper than the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from streamgauge.errors import Infeasible, InvalidInput
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.objectives import Objective
from streamgauge.models.prediction import FULL, Prediction
from streamgauge.planning.packing.alike import pack_alike
from streamgauge.planning.packing.catalogue import Catalogue, Resource
from streamgauge.planning.packing.columns import Effort
from streamgauge.planning.packing.exact import deal_evenly, pack_cheaply, pack_exactly
from streamgauge.planning.packing.instances import PackingPlan, fragmentation
from streamgauge.planning.packing.meezan import CategoryRule, pack_by_meezan
from streamgauge.planning.packing.parallelism import THRESHOLD, choose_options
from streamgauge.planning.packing.round_robin import pack_round_robin
from streamgauge.planning.packing.sized_job import Packable, SizedJob, size_job
from streamgauge.topology.physical_plan import PhysicalPlan

# Parts of their time that executors and cores are planned with, one after the other.
FILLS = (THRESHOLD, 0.75, 0.6, 0.45, 0.3)
# Enough for a point of the spectrum, of which there are several.
LITTLE_EFFORT = Effort(rounds=40, nodes=50, patterns=300, looks=5_000, cuts=5)
ENOUGH_EFFORT = Effort(rounds=100, nodes=200, patterns=1_500, looks=20_000, cuts=20)
CENT = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedPlan:
    """A plan on the machines it buys, and how the job would behave there.

    Attributes:
        physical: Where every executor runs.
        prediction: By the analytic model.
        excess: ln(figure / goal) of the latency that misses its goal by most; above zero: missed.
    """

    job: SizedJob
    plan: PackingPlan
    physical: PhysicalPlan
    prediction: Prediction
    excess: float

    @property
    def meets(self) -> bool:
        """Whether the load is carried and no latency is missed.

        A latency counts only where no machine is as full as those whose latencies did not repeat.
        """
        if self.prediction.overloaded or self.excess > 0.0:
            return False
        return not math.isfinite(self.excess) or not self.is_unsteady

    @property
    def is_unsteady(self) -> bool:
        """Whether a machine is so full that nobody can count on predicted latencies."""
        return any(machine.in_use > FULL for machine in self.prediction.machines)

    @property
    def price(self) -> float:
        """Per hour."""
        return self.plan.price_per_hour


@dataclass(frozen=True, kw_only=True, eq=False)
class Option:
    """A point of the spectrum.

    Attributes:
        sources: Executors of the source that has most.
        per_second: Tuples that all sources emit.
        best: The cheapest plan that meets the objective; where none does, that which misses it by
            least.
        meezan: Meezan's plan for the same load, judged alike.
        is_dominated: Whether another option carries as much for no more.
    """

    sources: int
    per_second: float
    best: JudgedPlan
    meezan: JudgedPlan | None
    is_dominated: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Rival:
    """A baseline at the load that was chosen; no plan where it has none, and why."""

    name: str
    judged: JudgedPlan | None
    why_not: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Choice:
    """What to buy.

    Attributes:
        packable: The job, and the most that is to be carried.
        options: The spectrum, from little to all of the load; those that are dominated are marked.
        chosen: The option that was asked for, by default all of the load, with more effort.
        rivals: Baselines for the same load.
        bound: No machines for these executors cost less, whatever runs where.
    """

    packable: Packable
    catalogue: Catalogue
    objective: Objective
    options: tuple[Option, ...]
    chosen: Option
    rivals: tuple[Rival, ...]

    @property
    def bound(self) -> float | None:
        """Proven for the executors of the chosen plan, as filled as they are planned."""
        return self.chosen.best.plan.proven


@dataclass(frozen=True, kw_only=True, eq=False)
class Chooser:
    """Makes plans of a job, and judges them."""

    packable: Packable
    catalogue: Catalogue
    objective: Objective
    judge: Callable[[SizedJob, PackingPlan], JudgedPlan]

    @classmethod
    def of(cls, packable: Packable, catalogue: Catalogue, objective: Objective) -> Chooser:
        """With the analytic model as judge."""
        return cls(
            packable=packable,
            catalogue=catalogue,
            objective=objective,
            judge=Judge(objective).judge,
        )

    def find_option(self, sources: int, most: int, effort: Effort) -> Option:
        """The cheapest plan for so many of most sources."""
        factor = sources / most
        chosen, meezan = find_cheapest(
            partial(self.size, factor), self.catalogue, self.judge, effort=effort
        )
        return Option(sources=sources, per_second=chosen.job.per_second, best=chosen, meezan=meezan)

    def size(self, factor: float, fill: float) -> SizedJob:
        """The job for a part of the load."""
        return size_job(
            self.packable, factor=factor, fill=fill, needed=frozenset(self.catalogue.limits)
        )

    def find_rivals(self, option: Option, most: int, copies: int | None) -> Iterator[Rival]:
        """Meezan, the exact program and round robin for executors filled as published."""
        job = self.size(option.sources / most, THRESHOLD)
        yield Rival(name="meezan", judged=option.meezan)
        try:
            exact = pack_exactly(job.instances, self.catalogue, copies, effort=ENOUGH_EFFORT)
        except Infeasible as error:
            yield Rival(name="exact program", judged=None, why_not=str(error))
            machines = len(option.best.plan.machines)
        else:
            yield Rival(name="exact program", judged=self.judge(job, exact))
            machines = len(exact.machines)
        try:
            rcrr = pack_round_robin(job.instances, self.catalogue, machines)
        except Infeasible as error:
            yield Rival(name="round robin", judged=None, why_not=str(error))
        else:
            yield Rival(name="round robin", judged=self.judge(job, rcrr))


def find_cheapest(
    size: Callable[[float], SizedJob],
    catalogue: Catalogue,
    judge: Callable[[SizedJob, PackingPlan], JudgedPlan],
    *,
    effort: Effort,
) -> tuple[JudgedPlan, JudgedPlan | None]:
    """The cheapest plan that meets the objective, else that which misses it by least; and Meezan's.

    Args:
        size: The job with what its executors need, where so much of their time is planned with.
        catalogue: What can be bought.
        judge: Says how a plan would behave.
        effort: How long to look for the cheapest machines.

    Raises:
        Infeasible: An executor is larger than every machine.
    """
    best: JudgedPlan | None = None
    nearest: JudgedPlan | None = None
    meezan: JudgedPlan | None = None
    for fill in FILLS:
        try:
            job = size(fill)
            plans = sorted(_make_plans(job, catalogue, effort), key=lambda one: one.price_per_hour)
        except Infeasible:
            # Less filled, an executor needs more: then there is no machine for it.
            if nearest is None:
                raise
            break
        if best is not None and plans[0].price_per_hour >= best.price - CENT:
            break
        for plan in plans:
            is_first_meezan = plan.method == "meezan" and meezan is None
            is_dear = best is not None and plan.price_per_hour >= best.price - CENT
            if is_dear and not is_first_meezan:
                continue
            judged = judge(job, plan)
            meezan = judged if is_first_meezan else meezan
            if nearest is None or _misses_less(judged, nearest):
                nearest = judged
            if judged.meets and (best is None or judged.price < best.price - CENT):
                best = judged
    chosen = best or nearest
    assert chosen is not None
    return chosen, meezan


def _make_plans(job: SizedJob, catalogue: Catalogue, effort: Effort) -> Iterator[PackingPlan]:
    cheapest = pack_cheaply(job.instances, catalogue, effort=effort)
    yield cheapest
    rivals = (
        *deal_evenly(cheapest),
        *pack_alike(job.instances, catalogue),
        pack_by_meezan(job.instances, catalogue, CategoryRule.NEAREST),
    )
    # The bound is for these executors, whoever packs them.
    yield from (replace(plan, proven=cheapest.proven) for plan in rivals)


class Judge:
    """Predicts plans by the analytic model, whose parts that plans share are found once."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        needs_all = any(goal.level not in (None, 0.99) for goal in objective.latencies)
        scopes = {goal.scope.value for goal in objective.latencies}
        is_brief = not needs_all and scopes <= {"emission"}
        self._model = AnalyticModel(brief=is_brief)

    def judge(self, job: SizedJob, plan: PackingPlan) -> JudgedPlan:
        """A plan, predicted on its machines."""
        physical = job.place(plan)
        prediction = self._model.predict(job.behaviour, physical, job.workload)
        excess = self._objective.find_excess(prediction)
        if prediction.overloaded:
            excess = math.inf
        return JudgedPlan(
            job=job, plan=plan, physical=physical, prediction=prediction, excess=excess
        )


def choose_machines(
    packable: Packable,
    catalogue: Catalogue,
    objective: Objective,
    *,
    options: int | None = None,
    sources: int | None = None,
    copies: int | None = None,
) -> Choice:
    """The spectrum, and the machines to buy.

    Args:
        packable: The job and its load.
        catalogue: What can be bought.
        objective: What a plan has to meet.
        options: How many points the spectrum has; every number of sources if not given.
        sources: Executors of the source that has most, of the option to choose; as many as the
            whole load needs if not given.
        copies: Machines of each type that the exact program may buy.

    Raises:
        Infeasible: An executor is larger than every machine.
        InvalidInput: There are not so many sources.
    """
    most = packable.most_sources
    if sources is not None and not 1 <= sources <= most:
        raise InvalidInput.single(
            ("--sources",), seen=f"{sources}", expected=f"1 to {most}, which take all of the load"
        )
    chooser = Chooser.of(packable, catalogue, objective)
    points = choose_options(most, options)
    asked = most if sources is None else sources
    found = [
        chooser.find_option(point, most, ENOUGH_EFFORT if point == asked else LITTLE_EFFORT)
        for point in sorted({*points, asked})
    ]
    chosen = next(one for one in found if one.sources == asked)
    return Choice(
        packable=packable,
        catalogue=catalogue,
        objective=objective,
        options=mark_dominated(found),
        chosen=chosen,
        rivals=tuple(chooser.find_rivals(chosen, most, copies)),
    )


def mark_dominated(options: Sequence[Option]) -> tuple[Option, ...]:
    """Options of which another carries as much, costs no more and meets the objective as well."""

    def beats(one: Option, other: Option) -> bool:
        as_good = (
            one.per_second >= other.per_second
            and one.best.price <= other.best.price + CENT
            and one.best.meets >= other.best.meets
        )
        better = one.per_second > other.per_second or one.best.price < other.best.price - CENT
        return as_good and better

    return tuple(
        replace(one, is_dominated=any(beats(other, one) for other in options)) for one in options
    )


def _misses_less(one: JudgedPlan, other: JudgedPlan) -> bool:
    """Whether a plan is nearer to the objective; of overloaded ones, the less loaded."""

    def key(judged: JudgedPlan) -> tuple[float, float, float]:
        overload = max(judged.prediction.overloaded.values(), default=0.0)
        fullest = max(machine.in_use for machine in judged.prediction.machines)
        # Only a plan without a latency to miss has minus infinity.
        return overload, max(np.nan_to_num(judged.excess, nan=math.inf), 0.0), fullest

    return key(one) < key(other)


def fullest(plan: PackingPlan) -> tuple[Resource, float] | None:
    """The resource that the machines are fullest of, and the part in use."""
    left = fragmentation(plan).by_resource
    if not left:
        return None
    resource = min(left, key=lambda one: left[one])
    return resource, 1.0 - left[resource]
