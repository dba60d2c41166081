"""Trials: plans that a search looks at, each placed and predicted once, and what it misses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from streamgauge.errors import Infeasible, InvalidInput, NotEnoughData
from streamgauge.models.analytic import BRIEF, AnalyticModel
from streamgauge.models.objectives import Scope
from streamgauge.models.prediction import Prediction
from streamgauge.planning.recommending.problem import Minimise, Problem
from streamgauge.planning.scheduling.contract import Schedule
from streamgauge.planning.scheduling.diagnostics import diagnose
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.planning.scheduling.ranking import EVEN
from streamgauge.profile.job import Job
from streamgauge.topology.cluster import Slot
from streamgauge.topology.configuration import Configuration, Setting
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.physical_plan import PhysicalPlan

# What a miss begins with where the load does not fit, and where there is no plan at all: any plan
# that carries its load is nearer to an objective than one that does not.
OVERLOADED, UNPLACED = 1e3, 1e6
# The work of a trial in units of one executor: what every prediction costs besides.
FIXED_WORK = 30
SEARCHED_WORK = 8
# Whole tuple trees take so many times as much.
TREE_WORK = 4
Counts = tuple[int, ...]
# Who placed the plan that there is.
CURRENT = "as it is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Everything of a plan but how many executors there are.

    Attributes:
        workers: Asked for.
        scheduler: Who places executors.
        nodes: Which nodes may be used, by name; None: all.
        settings: Of the engine, besides those of the job.
    """

    workers: int
    scheduler: str = EVEN
    nodes: tuple[str, ...] | None = None
    settings: Mapping[str, Setting] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", FrozenDict(self.settings))


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """A plan that was looked at.

    Attributes:
        counts: Executors of each group.
        schedule: None where there is no plan; `refused` says why.
        prediction: In brief, under the load; None where it was not needed, or cannot be had.
        miss: How far it is from the objective; zero and less: it meets it. ln(figure / goal) for
            latencies and ln(load / capacity) for rates, whichever is worse.
    """

    counts: Counts
    setup: Setup
    configuration: Configuration
    schedule: Schedule | None
    prediction: Prediction | None
    full: Prediction | None
    miss: float
    refused: str = ""

    @property
    def is_met(self) -> bool:
        """Whether it meets the objective."""
        return self.miss <= 0.0

    @property
    def plan(self) -> PhysicalPlan:
        """Where executors run; there is one."""
        assert self.schedule is not None
        return self.schedule.plan

    @cached_property
    def executors(self) -> int:
        """Threads of operators, ackers left out."""
        return sum(self.counts)


class Trials:
    """Looks at plans of a problem, each once, and keeps account of the work that takes.

    Args:
        problem: Whose plans.
        margins: By how much, as a logarithm, latency goals are aimed to be met; none if not given.
        rate_margin: The same of the rate that a plan has to carry.
    """

    def __init__(
        self, problem: Problem, margins: Sequence[float] = (), rate_margin: float = 0.0
    ) -> None:
        self.problem, self.rate_margin = problem, rate_margin
        self.margins = tuple(margins) or (0.0,) * len(problem.objective.latencies)
        self.objective = problem.objective.tighten(self.margins)
        factor = problem.required_per_second / problem.offered_per_second * math.exp(rate_margin)
        self._is_at_load = factor == 1.0
        self._required = problem.workload.times(factor)
        goals = problem.objective.latencies
        self._has_trees = any(goal.scope is Scope.COMPLETE for goal in goals)
        levels = {goal.level for goal in goals if goal.level is not None}
        self._model = AnalyticModel(
            brief=True,
            levels=tuple(sorted(levels | set(BRIEF))),
            keeps_due=any(goal.scope is Scope.DUE for goal in goals),
            keeps_trees=self._has_trees,
        )
        self._known: dict[tuple[Counts, Setup], Trial] = {}
        self.work = 0

    def look(self, counts: Counts, setup: Setup) -> Trial:
        """The plan with these executors."""
        key = (counts, setup)
        if key not in self._known:
            self._known[key] = self._try(counts, setup)
        return self._known[key]

    @property
    def looked_at(self) -> int:
        """How many plans."""
        return len(self._known)

    def configure(self, counts: Counts, setup: Setup) -> Configuration:
        """The configuration with these executors."""
        problem, now = self.problem, self.problem.job.configuration
        executors = {
            name: count
            for group, count in zip(problem.groups, counts, strict=True)
            for name in group
        }
        # Ackers have the tasks that they were submitted with, however many workers there are then.
        ackers = now.acker_count if problem.is_submitted else now.ackers
        return replace(
            now,
            executors=executors,
            workers=setup.workers,
            ackers=ackers,
            settings={**now.settings, **setup.settings},
        )

    def look_at_current(self) -> Trial | None:
        """The plan that there is now; None where there is none."""
        problem = self.problem
        if problem.current is None:
            return None
        configuration = problem.current.logical.configuration
        setup = Setup(workers=len(problem.current.workers), scheduler=CURRENT)
        schedule = Schedule(plan=problem.current)
        return self._judge(problem.present, setup, configuration, schedule)

    @property
    def met(self) -> list[Trial]:
        """All plans that meet the objective."""
        return [trial for trial in self._known.values() if trial.is_met]

    def _try(self, counts: Counts, setup: Setup) -> Trial:
        configuration = self.configure(counts, setup)
        problem = self.problem
        job = replace(problem.job, configuration=configuration)
        if setup.scheduler != EVEN:
            # Others than the even one look for a plan, and that takes longer than judging it.
            self.work += SEARCHED_WORK * sum(counts)
        try:
            schedule = place(job, setup, problem)
        except Infeasible as error:
            return Trial(
                counts=counts,
                setup=setup,
                configuration=configuration,
                schedule=None,
                prediction=None,
                full=None,
                miss=UNPLACED,
                refused=str(error),
            )
        return self._judge(counts, setup, configuration, schedule)

    def _judge(
        self, counts: Counts, setup: Setup, configuration: Configuration, schedule: Schedule
    ) -> Trial:
        plan, problem = schedule.plan, self.problem
        refused = ""
        if configuration.resources:
            risks = diagnose(plan, problem.expected).heap_risks
            refused = f"executors need more than the heap of {', '.join(risks)}" if risks else ""
        full = prediction = self._predict(plan, is_required=True)
        miss = self._find_shortage(full)
        if miss <= 0.0 and self.objective.latencies:
            if not self._is_at_load:
                prediction = self._predict(plan, is_required=False)
            miss = max(miss, self.objective.find_excess(prediction))
        return Trial(
            counts=counts,
            setup=setup,
            configuration=configuration,
            schedule=schedule,
            prediction=prediction,
            full=full,
            miss=UNPLACED if refused else miss,
            refused=refused,
        )

    def _predict(self, plan: PhysicalPlan, *, is_required: bool) -> Prediction:
        problem = self.problem
        work = len(plan.logical.executors) + FIXED_WORK
        self.work += TREE_WORK * work if self._has_trees else work
        workload = self._required if is_required else problem.workload
        try:
            return self._model.predict(problem.behaviour, plan, workload)
        except NotEnoughData as error:
            raise InvalidInput.single(
                (), seen=str(error), expected="a plan that can be predicted"
            ) from None

    def _find_shortage(self, full: Prediction) -> float:
        """ln(load / capacity) of what is worst; above `OVERLOADED` where the load does not fit."""
        if full.overloaded:
            return OVERLOADED + math.log(max(min(max(full.overloaded.values()), 1e9), 1.0))
        used = (one.at_work for one in full.machines if one.busy + one.engine > 0.0)
        busiest = max(used, default=0.0)
        return math.log(busiest / self.problem.limits.utilisation) if busiest > 0.0 else -math.inf


def place(job: Job, setup: Setup, problem: Problem) -> Schedule:
    """The plan of a setup, on the nodes that it may use.

    Raises:
        Infeasible: There is none.
    """
    taken: set[Slot] = set(problem.taken)
    if setup.nodes is not None:
        taken |= {slot for slot in problem.cluster.slots if slot.node not in setup.nodes}
    if setup.scheduler == EVEN:
        # It looks at nothing.
        return place_job(job, taken=taken)
    return place_job(job, setup.scheduler, expected=problem.expected, taken=taken)


def cost_of(problem: Problem, trial: Trial) -> tuple[float, ...]:
    """What is to be as little as possible, and what decides between equals."""
    plan = trial.plan
    sizes = {
        Minimise.EXECUTORS: float(trial.executors),
        Minimise.WORKERS: float(len(plan.workers)),
        Minimise.MACHINES: float(len(plan.nodes)),
    }
    if problem.minimise is Minimise.MONEY:
        machines = () if trial.full is None else trial.full.machines
        cores = math.fsum(one.busy + one.engine for one in machines)
        return (cores, *sizes.values())
    return (sizes[problem.minimise], *(sizes[name] for name in sizes if name != problem.minimise))
