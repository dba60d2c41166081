"""Plans judged closely: predictions with intervals and odds, and a search that aims at odds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from streamgauge.api.intervals import ParameterNoise, PlanDraws
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.intervals import Intervals
from streamgauge.models.model_error import ModelErrors
from streamgauge.models.odds import HIGHEST_RATE, find_margin, find_odds, find_reach
from streamgauge.planning.recommending.candidates import Candidates, find_candidates
from streamgauge.planning.recommending.problem import Problem
from streamgauge.planning.recommending.recommendation import Judged
from streamgauge.planning.recommending.trials import Trial

# How often a search is repeated with more margin.
MOST_ROUNDS = 3


@dataclass(frozen=True, kw_only=True)
class Judge:
    """Says of plans how likely they meet an objective.

    Attributes:
        has_intervals: Whether anybody asked how sure figures are.
    """

    noise: ParameterNoise
    errors: ModelErrors
    window_seconds: float
    has_intervals: bool

    def judge(self, problem: Problem, trial: Trial) -> Judged:
        """A plan with how sure it is."""
        plan, workload = trial.plan, problem.workload
        prediction = AnalyticModel().predict(problem.behaviour, plan, workload)
        if not self.has_intervals:
            return Judged(trial=trial, prediction=prediction)
        drawn = PlanDraws(
            prediction=prediction,
            plan=plan,
            workload=workload,
            noise=self.noise,
            errors=self.errors,
            window_seconds=self.window_seconds,
        )
        intervals = drawn.find_intervals()
        odds = find_odds(problem.objective, prediction, intervals, problem.required_per_second)
        return Judged(trial=trial, prediction=prediction, intervals=intervals, odds=odds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """By how much, as logarithms, goals are aimed to be met.

    Attributes:
        latencies: Of each latency goal.
        rate: Of the rate that a plan has to carry.
    """

    latencies: tuple[float, ...]
    rate: float = 0.0

    @classmethod
    def none(cls, problem: Problem) -> Margins:
        """Goals as they were asked."""
        return cls(latencies=(0.0,) * len(problem.objective.latencies))

    def widen(self, problem: Problem, intervals: Intervals, sure: float) -> Margins:
        """Those that the intervals of a plan ask for, where they are larger."""
        figures = intervals.figures
        reaches = [find_reach(figures.get(goal.key)) for goal in problem.objective.latencies]
        return Margins(
            latencies=tuple(
                max(margin, find_margin(reach, sure))
                for margin, reach in zip(self.latencies, reaches, strict=True)
            ),
            rate=max(self.rate, find_margin(find_reach(figures.get(HIGHEST_RATE)), sure)),
        )


def aim(problem: Problem, judge: Judge, sure: float) -> tuple[Candidates, Judged | None]:
    """Candidates whose best one meets the objective with these odds, if any does.

    What is predicted to be right at the goal meets it in half of the cases. How much better it has
    to be follows from its own interval, so that a search is repeated with that as a margin.
    """
    found = find_candidates(problem)
    best: tuple[Candidates, Judged] | None = None
    margins = Margins.none(problem)
    for _ in range(MOST_ROUNDS):
        if not found.best:
            break
        judged = judge.judge(problem, found.best[0])
        if best is None or judged.odds > best[1].odds:
            best = found, judged
        if math.isnan(judged.odds) or judged.odds >= sure or judged.intervals is None:
            break
        margins = margins.widen(problem, judged.intervals, sure)
        found = find_candidates(problem, margins=margins.latencies, rate_margin=margins.rate)
    return (found, None) if best is None else best
