"""Plans on machines that are bought for them: the cheapest that are sure enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.api.plan_judge import MOST_ROUNDS, Judge, Margins, aim
from streamgauge.errors import Infeasible, InvalidInput
from streamgauge.extras import require_extra
from streamgauge.planning.recommending.candidates import Candidates
from streamgauge.planning.recommending.machines_to_buy import (
    Purchase,
    find_purchase,
    match_types,
    widen_cluster,
)
from streamgauge.planning.recommending.problem import Minimise, Problem
from streamgauge.planning.recommending.recommendation import Judged, Prices, meets
from streamgauge.planning.recommending.trials import Trial

if TYPE_CHECKING:
    from streamgauge.planning.packing.catalogue import Catalogue
    from streamgauge.topology.physical_plan import PhysicalPlan


@dataclass(frozen=True, kw_only=True)
class Market:
    """What machines cost.

    Attributes:
        tuple_bytes: Size of a tuple of streams of which it is not known.
        file: Of the catalogue; empty where it did not come from one.
    """

    catalogue: Catalogue
    tuple_bytes: float | None = None
    file: str = ""

    @classmethod
    def open(
        cls, catalogue: str | Path | Catalogue | None, minimise: str, tuple_bytes: float | None
    ) -> Market | None:
        """The market that a catalogue makes; None where there is none.

        Raises:
            InvalidInput: The catalogue is wrong, or money counts and nothing says what costs what.
        """
        if catalogue is None:
            if minimise == Minimise.MONEY:
                raise InvalidInput.single(
                    ("--catalogue",),
                    seen="--minimise money without --catalogue",
                    expected="a file of machine types with their prices",
                )
            return None
        if not isinstance(catalogue, str | Path):
            return cls(catalogue=catalogue, tuple_bytes=tuple_bytes)
        from streamgauge.planning.packing.files.catalogue_file import load_catalogue

        return cls(
            catalogue=load_catalogue(catalogue), tuple_bytes=tuple_bytes, file=str(catalogue)
        )

    def list_options(self) -> Iterator[str]:
        """Options of the command that ask for the same prices."""
        if self.file:
            yield from ("--catalogue", self.file)
        if self.tuple_bytes is not None:
            yield from ("--tuple-bytes", f"{self.tuple_bytes:g}")

    def buy(self, problem: Problem, judge: Judge, sure: float, trial: Trial) -> Bought:
        """The cheapest machines on which a plan's executors meet the objective with these odds.

        Where none do, the surest of those that were found.
        """
        margins = Margins.none(problem)
        best: Bought | None = None
        for _ in range(MOST_ROUNDS):
            with require_extra("planning"):
                purchase = find_purchase(
                    problem,
                    trial,
                    self.catalogue,
                    objective=problem.objective.tighten(margins.latencies),
                    rate_margin=margins.rate,
                    tuple_bytes=self.tuple_bytes,
                )
            judged = judge.judge(problem, purchase.trial)
            if best is None or judged.odds > best.judged.odds:
                best = Bought(purchase=purchase, judged=judged)
            if not purchase.packed.meets or judged.intervals is None:
                break
            if math.isnan(judged.odds) or judged.odds >= sure:
                break
            margins = margins.widen(problem, judged.intervals, sure)
        assert best is not None
        return best

    def price_now(self, plan: PhysicalPlan) -> float | None:
        """Of the machines that a plan uses; None where the catalogue has nothing like one."""
        types = match_types(plan, self.catalogue).values()
        known = [one.price_per_hour for one in types if one is not None]
        return math.fsum(known) if len(known) == len(types) else None

    def price(self, present: Judged | None, bought: Bought) -> Prices:
        """What the machines that there are cost, and those that are bought."""
        return Prices(
            catalogue=self.catalogue,
            now=None if present is None else self.price_now(present.trial.plan),
            then=bought.purchase.price,
            bought=bought.purchase.packed,
            odds=bought.judged.odds,
        )

    @property
    def warnings(self) -> Iterator[str]:
        """That prices are invented, where they are."""
        if self.catalogue.is_example:
            yield f"catalogue {self.catalogue.name!r} is an example: its prices are invented"


@dataclass(frozen=True, kw_only=True, eq=False)
class Bought:
    """A purchase, and how sure it is."""

    purchase: Purchase
    judged: Judged


def find_cheapest_plans(
    problem: Problem, judge: Judge, sure: float, market: Market
) -> tuple[Candidates, list[Bought]]:
    """Plans on machines that are bought for them: those that are sure enough, then the cheapest.

    How many executors there should be is looked for on ample machines.

    Raises:
        Infeasible: There is no plan at all, or an executor is larger than every machine.
    """
    wide = widen_cluster(problem, market.catalogue)
    found, _ = aim(wide, judge, sure)
    if not found.best and found.nearest.schedule is None:
        raise Infeasible(found.nearest.refused)
    bought = [
        market.buy(problem, judge, sure, trial)
        for trial in _differing(found.best or (found.nearest,))
    ]

    def key(one: Bought) -> tuple[bool, bool, float]:
        return not meets(problem, one.judged), one.judged.odds < sure, one.purchase.price

    return found, sorted(bought, key=key)


def _differing(trials: Iterable[Trial]) -> list[Trial]:
    """One for each number of executors: where they run follows from the machines."""
    return list({trial.counts: trial for trial in trials}.values())
