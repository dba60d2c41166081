"""A recommendation: a plan, how sure it is, what else would do, what each step would bring."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from streamgauge.models.intervals import Intervals
from streamgauge.models.load_limit import PRECISION
from streamgauge.models.prediction import Explanation, Prediction
from streamgauge.planning.packing.catalogue import Catalogue
from streamgauge.planning.packing.choosing import JudgedPlan
from streamgauge.planning.recommending.consensus import Consensus
from streamgauge.planning.recommending.problem import Problem
from streamgauge.planning.recommending.relaxing import WayOut
from streamgauge.planning.recommending.settings import Advice
from streamgauge.planning.recommending.trials import Trial
from streamgauge.profile.job import Assignment, Job
from streamgauge.topology.configuration import Setting
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.physical_plan import PhysicalPlan

# A simulated figure may be above a goal by this part, and chance could still be why.
CHANCE = 0.05


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A plan that was looked at closely.

    Attributes:
        prediction: By the full model, under the load.
        intervals: None where they were not asked for.
        odds: Probability of meeting the objective; NaN where it is not known.
        simulated: The same plan simulated; None where that was not done.
    """

    trial: Trial
    prediction: Prediction
    intervals: Intervals | None = None
    odds: float = math.nan
    simulated: Prediction | None = None


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What machines cost per hour.

    Attributes:
        now: Those that the present plan uses, as the cheapest types that have as much; None where
            there is no plan, or no type has as much.
        then: The cheapest that were found for the chosen plan's executors.
        bought: What they are, what runs on each, and how the job would behave; None where those
            that there are cost no more.
        odds: That the objective is met on them; NaN where that is not known.
        known: Of other plans, whose machines were looked for as well.
    """

    catalogue: Catalogue
    now: float | None
    then: float
    bought: JudgedPlan | None
    odds: float
    known: Mapping[Trial, float] = field(default_factory=FrozenDict)

    @property
    def difference(self) -> float | None:
        """Then less now."""
        return None if self.now is None else self.then - self.now


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """What to do.

    Attributes:
        problem: What was asked.
        chosen: The plan; where no plan meets the objective, the nearest one.
        present: The plan that there is, under the same load; None where there is none.
        others: The next best plans.
        sure: The odds that were aimed at.
        explanation: What each further executor would bring; None where it was not asked for.
        advice: Settings.
        ways_out: What would make an objective feasible that no plan meets.
        consensus: What schedulers and models agree on; None where nobody was asked.
        looked_at: How many plans were.
        prices: None where nothing says what machines cost.
    """

    problem: Problem
    chosen: Judged
    present: Judged | None
    others: tuple[Judged, ...] = ()
    sure: float
    short: tuple[str, ...] = ()
    explanation: Explanation | None = None
    advice: tuple[Advice, ...] = ()
    ways_out: tuple[WayOut, ...] = ()
    consensus: Consensus | None = None
    looked_at: int = 0
    by_scheduler: Mapping[str, Trial] = field(default_factory=FrozenDict)
    prices: Prices | None = None

    @property
    def is_feasible(self) -> bool:
        """Whether the chosen plan meets the objective."""
        return self.is_met(self.chosen)

    def is_met(self, judged: Judged) -> bool:
        """Whether a plan meets the objective as it was asked, without any margin."""
        return meets(self.problem, judged)

    @property
    def is_change(self) -> bool:
        """Whether the chosen plan is another than the present one."""
        return self.present is None or self.chosen.trial.plan != self.present.trial.plan

    @property
    def settings(self) -> dict[str, Setting]:
        """Settings that go with the plan."""
        return {name: value for one in self.advice for name, value in one.settings.items()}

    @property
    def job(self) -> Job:
        """The job with the chosen plan, to be written."""
        return plan_job(self.problem.job, self.chosen.trial.plan, self.settings)


def plan_job(job: Job, plan: PhysicalPlan, settings: Mapping[str, Setting]) -> Job:
    """The job with a plan, to be written."""
    configuration = plan.logical.configuration
    return replace(
        job,
        configuration=replace(configuration, settings={**configuration.settings, **settings}),
        cluster=plan.cluster,
        plan=Assignment.of(plan),
        steps={},
    )


def meets(problem: Problem, judged: Judged) -> bool:
    """Whether a plan meets the objective as it was asked, without any margin."""
    limit = judged.prediction.limit.per_second
    # The highest rate is found to a part of it only.
    if limit * (1.0 + 2.0 * PRECISION) < problem.required_per_second:
        return False
    if judged.trial.refused or not _keeps_machines(problem, judged.prediction):
        return False
    return (
        not problem.objective.latencies or problem.objective.find_excess(judged.prediction) <= 0.0
    )


def _keeps_machines(problem: Problem, prediction: Prediction) -> bool:
    """Whether no machine that the job uses does more than it may."""
    return all(
        one.at_work <= problem.limits.utilisation
        for one in prediction.machines
        if one.busy + one.engine > 0.0
    )


def is_refuted(problem: Problem, simulated: Prediction) -> bool:
    """Whether a simulation misses the objective by more than chance explains."""
    if simulated.overloaded:
        return bool(problem.objective.latencies) or problem.required_per_second >= (
            problem.offered_per_second
        )
    return problem.objective.find_excess(simulated) > math.log1p(CHANCE)
