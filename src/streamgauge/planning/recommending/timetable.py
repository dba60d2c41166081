"""A timetable of plans over a forecast: a plan changes only where that pays.

A change stops the job for a while. What comes meanwhile waits, and the new plan has to process it
beside its load; until that is done the objective is missed. So much missed time counts as if the
new plan had cost several times as much for so long. The cheapest timetable follows by dynamic
programming, from the last step to the first: at each step a plan either goes on, or gives way to
another, which then goes on from the step at which nothing waits any more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

HOUR_SECONDS = 3600.0
# A plan that is not sure enough costs so many times the dearest, times what it lacks: it is taken
# only where no plan is sure enough.
UNSURE_WEIGHT = 1e4


@dataclass(frozen=True, kw_only=True, eq=False)
class RatedPlan:
    """A plan as a timetable sees it.

    Attributes:
        cost: Per hour, of what is to be as little as possible.
        highest: Tuples per second that it can process, in all steps.
        odds: That it meets the objective, by step.
    """

    cost: float
    highest: float
    odds: Vector


@dataclass(frozen=True, kw_only=True, eq=False)
class Course:
    """What comes, and what a change does.

    Attributes:
        loads: Tuples per second in each step, by which backlogs are counted.
        step_seconds: Length of a step.
        pause_seconds: For how long a change stops the job.
        sure: Odds that are enough.
        miss_weight: What time in which the objective is missed counts, in times that the plan
            costs.
    """

    loads: Vector
    step_seconds: float
    pause_seconds: float
    sure: float
    miss_weight: float

    def __len__(self) -> int:
        return len(self.loads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """A change of plans.

    Attributes:
        backlog: Tuples that wait at most.
        missed_seconds: From the stop until nothing waits any more, or until the horizon.
        end: The step from which on nothing waits.
        is_gone: Whether that is within the horizon.
    """

    backlog: float
    missed_seconds: float
    end: int
    is_gone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """A plan from one step to another.

    Attributes:
        plan: Which of the plans.
        first: Its first step.
        end: The step at which it has ended.
        restart: What it began with; None where it was there already, or is the first of all.
    """

    plan: int
    first: int
    end: int
    restart: Restart | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Timetable:
    """Plans one after the other.

    Attributes:
        stays: Without gaps, over all steps.
        weighed: What it costs, with what missed time counts.
    """

    course: Course
    plans: tuple[RatedPlan, ...]
    stays: tuple[Stay, ...]
    weighed: float

    @cached_property
    def cost_hours(self) -> float:
        """What all plans cost for as long as they run, missed time not counted."""
        hours = self.course.step_seconds / HOUR_SECONDS
        return math.fsum(
            self.plans[stay.plan].cost * (stay.end - stay.first) * hours for stay in self.stays
        )

    @property
    def restarts(self) -> Iterator[Restart]:
        """All changes."""
        return (stay.restart for stay in self.stays if stay.restart is not None)

    @property
    def missed_seconds(self) -> float:
        """Time in which the objective is missed because of changes."""
        return math.fsum(restart.missed_seconds for restart in self.restarts)

    @cached_property
    def in_force(self) -> NDArray[np.int64]:
        """Which plan runs in each step."""
        which = np.zeros(len(self.course), dtype=np.int64)
        for stay in self.stays:
            which[stay.first : stay.end] = stay.plan
        return which

    @cached_property
    def odds(self) -> Vector:
        """Of the plan in force, by step; changes are not counted."""
        return np.asarray([self.plans[plan].odds[step] for step, plan in enumerate(self.in_force)])


def find_restart(course: Course, highest: float, at: int) -> Restart:
    """What happens where a plan with this highest rate begins at a step.

    While the job is stopped nothing is processed; afterwards what waits is, as far as the plan can
    do more than what comes.
    """
    stopped, waiting, most, missed = course.pause_seconds, 0.0, 0.0, 0.0
    for step in range(at, len(course)):
        load, left = float(course.loads[step]), course.step_seconds
        pause = min(stopped, left)
        stopped, left, missed = stopped - pause, left - pause, missed + pause
        waiting += load * pause
        most = max(most, waiting)
        if left <= 0.0:
            continue
        spare = highest - load
        if waiting <= spare * left:
            missed += waiting / spare if waiting > 0.0 else 0.0
            return Restart(backlog=most, missed_seconds=missed, end=step + 1, is_gone=True)
        waiting = waiting - spare * left
        most, missed = max(most, waiting), missed + left
    return Restart(backlog=most, missed_seconds=missed, end=len(course), is_gone=False)


def find_timetable(
    course: Course, plans: Sequence[RatedPlan], current: int | None = None
) -> Timetable:
    """The cheapest timetable.

    Args:
        course: What comes.
        plans: At least one.
        current: The plan that runs now, with which no change is needed; None: nothing runs yet, and
            whatever begins needs none.
    """
    return _Search(course, plans).find(current)


def find_single_plan(
    course: Course, plans: Sequence[RatedPlan], current: int | None = None
) -> Timetable:
    """The cheapest timetable with one plan for all of the time, to compare with."""
    search = _Search(course, plans)
    return min(
        (search.keep(plan, current) for plan in range(len(plans))), key=lambda one: one.weighed
    )


class _Search:
    """Dynamic programming over steps and plans."""

    def __init__(self, course: Course, plans: Sequence[RatedPlan]) -> None:
        self.course, self.plans = course, tuple(plans)
        steps, count = len(course), len(self.plans)
        hours = course.step_seconds / HOUR_SECONDS
        costs = np.asarray([plan.cost for plan in self.plans])
        odds = np.stack([plan.odds for plan in self.plans], axis=1)
        lacking = np.maximum(course.sure - odds, 0.0)
        # What a plan costs in each step if it goes on, and in all steps before one.
        going = (costs + UNSURE_WEIGHT * costs.max() * lacking) * hours
        self.sums = np.concatenate([np.zeros((1, count)), np.cumsum(going, axis=0)])
        self.restarts = [
            [find_restart(course, plan.highest, step) for plan in self.plans]
            for step in range(steps)
        ]
        # What is left to pay from a step on, with nothing waiting, and to what plan to change.
        self.rest = np.zeros((steps + 1, count))
        self.turn = np.full((steps, count), -1, dtype=np.int64)
        for step in reversed(range(steps)):
            self.rest[step] = going[step] + self.rest[step + 1]
            self._settle(step)

    def _settle(self, step: int) -> None:
        changed = [self._price_change(step, plan) for plan in range(len(self.plans))]
        for plan in range(len(self.plans)):
            for other, price in enumerate(changed):
                # A change has to pay, and not just to cost as much.
                if other != plan and price < self.rest[step, plan] * (1.0 - 1e-12):
                    self.rest[step, plan], self.turn[step, plan] = price, other

    def _price_change(self, step: int, plan: int) -> float:
        end = self.restarts[step][plan].end
        run = float(self.sums[end, plan] - self.sums[step, plan])
        return run + self._price_miss(step, plan) + float(self.rest[end, plan])

    def _price_miss(self, step: int, plan: int) -> float:
        missed = self.restarts[step][plan].missed_seconds / HOUR_SECONDS
        return self.course.miss_weight * missed * self.plans[plan].cost

    def find(self, current: int | None) -> Timetable:
        """The cheapest from the first step on."""
        first = int(np.argmin(self.rest[0])) if current is None else current
        return self._make(tuple(self._follow(first)), float(self.rest[0, first]))

    def keep(self, plan: int, current: int | None) -> Timetable:
        """With this plan from the first step to the last."""
        is_change = current not in (None, plan)
        stay = Stay(
            plan=plan,
            first=0,
            end=len(self.course),
            restart=self.restarts[0][plan] if is_change else None,
        )
        price = float(self.sums[-1, plan]) + (self._price_miss(0, plan) if is_change else 0.0)
        return self._make((stay,), price)

    def _make(self, stays: tuple[Stay, ...], weighed: float) -> Timetable:
        return Timetable(course=self.course, plans=self.plans, stays=stays, weighed=weighed)

    def _follow(self, plan: int) -> Iterator[Stay]:
        """Stay by stay, as the best turns lead."""
        first, step, restart = 0, 0, None
        while step < len(self.course):
            other = int(self.turn[step, plan])
            if other < 0:
                step += 1
                continue
            if step > first:
                yield Stay(plan=plan, first=first, end=step, restart=restart)
            first, plan, restart = step, other, self.restarts[step][other]
            step = restart.end
        yield Stay(plan=plan, first=first, end=len(self.course), restart=restart)
