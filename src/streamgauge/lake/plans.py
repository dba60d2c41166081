"""Plans in the lake: what they are called, and how alike two of them are."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import NamedTuple

from streamgauge.lake.records import PlacedExecutor, Plan
from streamgauge.profile.profile import Profile
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.physical_plan import PhysicalPlan

_ID_LENGTH = 12


def plan_id_of(executors: Iterable[PlacedExecutor]) -> str:
    """What a plan is called: the first digits of the SHA-256 of ``EXECUTOR NODE:PORT``, by task.

    Whoever looks at a running topology sees which executor runs where. Not all see its settings, or
    the fields of its groupings, so these are no part of the name. The agent in Java follows the
    same rule.
    """
    digest = hashlib.sha256()
    for one in sorted(executors, key=lambda one: one.first_task):
        executor = Executor(
            operator=one.component, first_task=one.first_task, last_task=one.last_task
        )
        digest.update(f"{executor.label} {one.worker}\n".encode())
    return digest.hexdigest()[:_ID_LENGTH]


class ExecutorPlace(NamedTuple):
    """An executor of an operator, in a worker on a node."""

    operator: str
    worker: str
    node: str


class Distance(NamedTuple):
    """How far two plans are apart; smaller is more alike, the first difference decides.

    Attributes:
        operators: Operators that only one of them has.
        executors: Σ |ln(executors / executors of the other)| over common operators: twice as many
            is as far as half as many.
        workers: |ln(workers / workers of the other)|.
        neighbours: How differently operators sit together. For each pair of common operators the
            share of pairs of their executors that are in one worker, and in one node; the mean
            difference of these shares. Names of workers and nodes do not matter.
    """

    operators: int
    executors: float
    workers: float
    neighbours: float

    def __str__(self) -> str:
        parts = [f"operators of one plan only: {self.operators}"] if self.operators else []
        parts.append(f"executors by a factor of {math.exp(self.executors):.3g} in all")
        parts.append(f"workers by {math.exp(self.workers):.3g}")
        parts.append(f"neighbours by {self.neighbours:.3g}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class PlanLayout:
    """Where the executors of a plan run."""

    places: tuple[ExecutorPlace, ...]

    @classmethod
    def of_record(cls, plan: Plan) -> PlanLayout:
        """Of a plan that was recorded."""
        return cls(
            tuple(ExecutorPlace(one.component, one.worker, one.node) for one in plan.executors)
        )

    @classmethod
    def of_profile(cls, profile: Profile) -> PlanLayout:
        """Of the plan that a profile was measured on; empty where that is not known.

        Raises:
            InvalidInput: It places what is no executor.
        """
        return cls(
            tuple(
                ExecutorPlace(Executor.parse(label).operator, worker, worker.rpartition(":")[0])
                for label, worker in profile.placement.items()
            )
        )

    @classmethod
    def of_plan(cls, plan: PhysicalPlan) -> PlanLayout:
        """Of a plan to be predicted."""
        placed = zip(plan.logical.executors, plan.placement, strict=True)
        return cls(
            tuple(
                ExecutorPlace(executor.operator, str(plan.workers[place]), plan.workers[place].node)
                for executor, place in placed
            )
        )

    @property
    def executors(self) -> Counter[str]:
        """How many each operator has."""
        return Counter(place.operator for place in self.places)

    @property
    def workers(self) -> int:
        """How many there are."""
        return len({place.worker for place in self.places})


def distance(one: PlanLayout, other: PlanLayout) -> Distance:
    """How far two plans are apart."""
    mine, theirs = one.executors, other.executors
    common = sorted(mine.keys() & theirs.keys())
    # Rounded, so that plans that differ by rounding alone are equally far.
    executors = math.fsum(abs(math.log(mine[name] / theirs[name])) for name in common)
    workers = abs(math.log(max(one.workers, 1) / max(other.workers, 1)))
    return Distance(
        operators=len(mine.keys() ^ theirs.keys()),
        executors=round(executors, 9),
        workers=round(workers, 9),
        neighbours=round(_neighbours(one, other, common), 9),
    )


def _neighbours(one: PlanLayout, other: PlanLayout, operators: Iterable[str]) -> float:
    pairs = list(combinations_with_replacement(operators, 2))
    if not pairs:
        return 0.0
    differences = Fraction(0)
    for field in ("worker", "node"):
        mine, theirs = _by_place(one, field), _by_place(other, field)
        for a, b in pairs:
            differences += abs(_together(mine[a], mine[b]) - _together(theirs[a], theirs[b]))
    return float(differences / (2 * len(pairs)))


def _by_place(layout: PlanLayout, field: str) -> dict[str, Counter[str]]:
    """Executors of each operator by worker, or by node."""
    found: dict[str, Counter[str]] = {}
    for place in layout.places:
        found.setdefault(place.operator, Counter())[getattr(place, field)] += 1
    return found


def _together(one: Counter[str], other: Counter[str]) -> Fraction:
    """The share of pairs of executors, one of each operator, that share a place."""
    same = sum(count * other[place] for place, count in one.items())
    return Fraction(same, one.total() * other.total())
