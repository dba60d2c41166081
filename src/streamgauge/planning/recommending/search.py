"""Search for the fewest executors: capacity first, latency where it pays most, then trimming.

The search begins with as few executors as `Demand.fewest` says. From there they are added where
they bring most for each, until the objective is met. Then they are taken away again one after the
other, and exchanged two for one, until nothing more can go. By Little's law the tuples that wait
for an operator are its part of the mean wait, and with n executors that are busy the part ρ of the
time one more takes about 1/(n·(1 − ρ)) of it: where there are many operators, that says which to
try.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, count

from streamgauge.planning.recommending.capacity import Demand, find_demand
from streamgauge.planning.recommending.trials import OVERLOADED, Counts, Setup, Trial, Trials

# Operators that are all tried before one is given more; of more than that, so many.
BREADTH = 8
# After so many steps up they become twice as large.
STEADY_STEPS = 4
# A gain that is smaller for each executor is noise of the formulas.
NO_GAIN = 1e-4
# Executors and predictions (`Trials.work`) that one search may take: some seconds.
MOST_WORK = 20_000
# The same for each operator of large jobs.
OPERATOR_WORK = 8_000
# Exchanges are looked for among so many operators.
EXCHANGED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search found.

    Attributes:
        met: The plan with the fewest executors that meets the objective; None where none does.
        nearest: The plan that misses it by least, or meets it by most.
        short: Operators for whose work no number of executors would do that they may have.
    """

    met: Trial | None
    nearest: Trial
    short: tuple[str, ...] = ()


class Search:
    """Looks for executors under a setup.

    Args:
        trials: That look at plans.
        most_work: What they may take in all.
    """

    def __init__(self, trials: Trials, *, most_work: int = MOST_WORK) -> None:
        self.trials = trials
        self._problem = trials.problem
        self._end = self._climb_end = trials.work + most_work
        self.demand: Demand = find_demand(self._problem)
        self._labels, self._bounds = self._problem.labels, self._problem.bounds
        found = [
            self.demand.fewest(label, one.most)
            for label, one in zip(self._labels, self._bounds, strict=True)
        ]
        self.short = tuple(
            label for label, fewest in zip(self._labels, found, strict=True) if fewest is None
        )
        self.fewest: Counts = tuple(
            one.most if fewest is None else max(fewest, one.least)
            for fewest, one in zip(found, self._bounds, strict=True)
        )

        # What is divided by load may fit into fewer than what is divided by tasks.
        self._floors: Counts = tuple(
            min(max(self.demand.floor(label), one.least), few)
            for label, one, few in zip(self._labels, self._bounds, self.fewest, strict=True)
        )

    def run(self, setup: Setup, starts: Sequence[Counts] = ()) -> Found:
        """The fewest executors under a setup; what is already known to meet it may be a start."""
        # What climbing leaves is for trimming.
        self._climb_end = self.trials.work + (self._end - self.trials.work) // 2
        nearest = reached = self._climb(self.trials.look(self.fewest, setup))
        met = [reached] if reached.is_met else []
        for start in starts:
            trial = self.trials.look(self._clip(start), setup)
            nearest = min(nearest, trial, key=lambda one: one.miss)
            met += [trial] if trial.is_met else []
        if not met:
            # What no single step leads to, all steps together may: or it is out of reach.
            for factor in (2, 4):
                counts = self._clip(tuple(factor * count for count in reached.counts))
                trial = self._climb(self.trials.look(counts, setup))
                nearest = min(nearest, trial, key=lambda one: one.miss)
                if trial.is_met:
                    met = [trial]
                    break
        if not met:
            return Found(met=None, nearest=nearest, short=self.short)
        trimmed = [self.refine(trial) for trial in dict.fromkeys(met)]
        best = min(trimmed, key=lambda one: (one.executors, one.miss))
        return Found(met=best, nearest=best, short=self.short)

    def refine(self, trial: Trial) -> Trial:
        """A plan with more executors taken away, one after the other, as long as it can be met.

        What does not meet the objective is given more first.
        """
        trial = self._climb(trial)
        if not trial.is_met:
            return trial
        while not self.is_spent:
            trimmed = self._trim(trial)
            exchanged = self._exchange(trimmed)
            if exchanged is None:
                return trimmed
            trial = exchanged
        return trial

    @property
    def is_spent(self) -> bool:
        """Whether no more work may be done."""
        return self.trials.work >= self._end

    def _clip(self, counts: Counts) -> Counts:
        return tuple(
            min(max(count, few), one.most)
            for count, few, one in zip(counts, self._floors, self._bounds, strict=True)
        )

    def _climb(self, trial: Trial) -> Trial:
        """Executors added where they bring most, until the objective is met or none brings any.

        Steps grow the longer the way is; trimming takes back what was too much.
        """
        for step in count():
            if trial.is_met or self.trials.work >= self._climb_end:
                break
            if trial.miss >= OVERLOADED:
                better = self._relieve(trial)
            else:
                better = self._improve(trial, stride=1 << min(step // STEADY_STEPS, 6))
            if better is None or better.miss >= trial.miss:
                break
            trial = better
        return trial

    def _relieve(self, trial: Trial) -> Trial | None:
        """Executors for what is overloaded; None where none would help, as on a full machine."""
        if trial.full is None:
            return None
        owner = {one.name: one.operator for one in trial.full.executors}
        counts = list(trial.counts)
        for name, load in trial.full.overloaded.items():
            if owner.get(name) not in self._labels:
                continue
            place = self._labels.index(owner[name])
            wanted = math.ceil(trial.counts[place] * min(load, 4.0))
            useful = self._next_useful(place, trial.counts[place])
            counts[place] = max(counts[place], min(wanted, self._bounds[place].most), useful or 0)
        raised = tuple(counts)
        return None if raised == trial.counts else self.trials.look(raised, trial.setup)

    def _improve(self, trial: Trial, stride: int) -> Trial | None:
        """The step that brings most for each executor."""
        best, most = None, NO_GAIN
        for counts in self._steps_up(trial, stride):
            if self.is_spent and best is not None:
                break
            tried = self.trials.look(counts, trial.setup)
            gain = (trial.miss - tried.miss) / (tried.executors - trial.executors)
            # A step that gets there is worth what it takes, and not what it brings beyond.
            if tried.is_met:
                gain = trial.miss / (tried.executors - trial.executors)
            if gain > most:
                best, most = tried, gain
        return best

    def _steps_up(self, trial: Trial, stride: int) -> Iterator[Counts]:
        for place in self._rank_by_wait(trial)[:BREADTH]:
            now, most = trial.counts[place], self._bounds[place].most
            useful = self._next_useful(place, now)
            for more in sorted({min(now + stride, most), useful or 0}):
                if now < more <= most:
                    yield _with(trial.counts, place, more)

    def _next_useful(self, place: int, count: int) -> int | None:
        return self.demand.next_useful(self._labels[place], count, self._bounds[place].most)

    def _rank_by_wait(self, trial: Trial) -> list[int]:
        """Places of operators, those first where one executor more should take most of the wait."""
        full = trial.full
        places = list(range(len(self._labels)))
        if full is None:
            return places
        waiting = dict.fromkeys(self._labels, 0.0)
        busiest = dict.fromkeys(self._labels, 0.0)
        for one in full.executors:
            if one.operator in waiting and math.isfinite(one.queue_length):
                waiting[one.operator] += one.queue_length
                busiest[one.operator] = max(busiest[one.operator], one.utilisation)

        def gain(place: int) -> float:
            label = self._labels[place]
            idle = max(1.0 - busiest[label], 1e-3)
            # Sources are not waited for in a queue; what they do is known from how busy they are.
            wait = max(waiting[label], busiest[label] ** 2 / idle)
            return wait / (trial.counts[place] * idle)

        return sorted(places, key=lambda place: (-gain(place), place))

    def _trim(self, trial: Trial) -> Trial:
        """Executors taken away, many at a time where that works, from where least waits first."""
        for place in reversed(self._rank_by_wait(trial)):
            step = trial.counts[place] - self._floors[place]
            while step >= 1 and not self.is_spent:
                fewer = trial.counts[place] - step
                if fewer >= self._floors[place]:
                    tried = self.trials.look(_with(trial.counts, place, fewer), trial.setup)
                    if tried.is_met:
                        trial = tried
                        continue
                step //= 2
        return trial

    def _exchange(self, trial: Trial) -> Trial | None:
        """A plan with fewer executors: two or three taken away, at least one less given."""
        places = self._rank_by_wait(trial)
        givers = [p for p in places if trial.counts[p] > self._floors[p]][::-1][:EXCHANGED]
        takers = [p for p in places if trial.counts[p] < self._bounds[p].most][:EXCHANGED]
        for size in (2, 3):
            for given in combinations_with_replacement(givers, size):
                for taken in combinations_with_replacement(takers, size - 1):
                    if set(given) & set(taken):
                        continue
                    counts = list(trial.counts)
                    for place in given:
                        counts[place] -= 1
                    for place in taken:
                        counts[place] += 1
                    if not self._is_allowed(counts):
                        continue
                    if self.is_spent:
                        return None
                    tried = self.trials.look(tuple(counts), trial.setup)
                    if tried.is_met:
                        return tried
        return None

    def _is_allowed(self, counts: Sequence[int]) -> bool:
        return all(
            few <= count <= one.most
            for count, few, one in zip(counts, self._floors, self._bounds, strict=True)
        )


def _with(counts: Counts, place: int, count: int) -> Counts:
    return (*counts[:place], count, *counts[place + 1 :])
