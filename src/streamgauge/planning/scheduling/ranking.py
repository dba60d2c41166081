"""Placements side by side: every plan with its traffic, diagnosis and prediction, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from streamgauge.errors import Infeasible, InvalidInput, NotEnoughData, suggest_name
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.prediction import Prediction
from streamgauge.models.ranking import CRITERIA, rank
from streamgauge.planning.scheduling.contract import Expected, Schedule, scheduler_names
from streamgauge.planning.scheduling.diagnostics import Diagnostics, diagnose
from streamgauge.planning.scheduling.job_placement import expected_of, is_described, place_job
from streamgauge.planning.scheduling.traffic import TrafficSplit, split_traffic
from streamgauge.profile.job import Assignment, Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.physical_plan import PhysicalPlan

ALL_SCHEDULERS = "all"
EVEN = "even"
# The plan that a job's file has, among those of schedulers.
OWN_PLAN = "own plan"
# The criterion that needs no prediction: tuples between nodes.
REMOTE = "remote"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A plan and what is known about it.

    Attributes:
        traffic: Tuples and acks per second inside workers, between workers and between nodes, as
            the engine routes them.
        even_remote: What would go between nodes if every stream were divided evenly; bounds are
            about this figure.
        prediction: How it would behave; None where that is not known.
    """

    name: str
    schedule: Schedule
    traffic: TrafficSplit
    even_remote: float
    diagnostics: Diagnostics
    prediction: Prediction | None

    @property
    def plan(self) -> PhysicalPlan:
        """Where every executor runs."""
        return self.schedule.plan

    @property
    def remote_share(self) -> float:
        """Part of all tuples that goes between nodes."""
        total = self.traffic.total
        return self.traffic.remote / total if total > 0.0 else 0.0

    @property
    def is_overloaded(self) -> bool:
        """Whether the plan is predicted not to carry the load."""
        return self.prediction is not None and bool(self.prediction.overloaded)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPlacements:
    """All plans of a job.

    Attributes:
        job: What was placed, under its load.
        placements: By scheduler, the best first.
        baseline: The job's own plan, else the even one; others are compared with it.
        rates_assumed: Whether no rates are known, so that all streams count alike.
        unpredicted: Why there is no prediction, where there should be one.
    """

    job: Job
    placements: Mapping[str, Placement]
    refused: Mapping[str, str] = field(default_factory=dict)
    baseline: Placement | None
    by: str
    rates_assumed: bool
    unpredicted: tuple[str, ...] = ()

    @property
    def best(self) -> Placement:
        """The first in the ranking."""
        return next(iter(self.placements.values()))

    @property
    def placed_job(self) -> Job:
        """The job with the best plan; steps are left out, as the plan does not fit them."""
        plan = self.best.plan
        return replace(
            self.job,
            configuration=plan.logical.configuration,
            cluster=plan.cluster,
            plan=Assignment.of(plan),
            steps={},
        )

    def compare_remote(self, placement: Placement) -> float | None:
        """How much more goes between nodes than in the baseline, as a part of the latter."""
        if self.baseline is None or self.baseline.traffic.remote <= 0.0:
            return None
        return placement.traffic.remote / self.baseline.traffic.remote - 1.0


def rank_plans(
    job: Job,
    profile: Profile | None = None,
    *,
    scheduler: str = ALL_SCHEDULERS,
    by: str = "p99",
    utilisation: float | None = None,
) -> RankedPlacements:
    """The plans of one scheduler or of all, the best first.

    The job's workload is the load to plan for. Without a profile, it behaves as it declares. The
    scheduler is a name or ``all``, the criterion one of `models.ranking` or ``remote``; machines
    are filled up to the part `utilisation` of their cores by schedulers that look at that.

    Raises:
        Infeasible: No scheduler found a plan.
        InvalidInput: There is no such scheduler or criterion.
    """
    _check_criterion(by)
    behaviour = _find_behaviour(job, profile)
    expected = None
    if behaviour is not None and job.workload is not None:
        expected = expected_of(behaviour, job.configuration, job.workload)
    schedules, refused = _schedule(job, scheduler, expected, utilisation)
    judge = _Judge(job, behaviour, expected)
    plans = {name: judge.judge(name, schedule) for name, schedule in schedules.items()}
    baseline = plans.get(OWN_PLAN) or plans.get(EVEN) or _place_baseline(job, judge)
    order, criterion = _order(plans, by)
    return RankedPlacements(
        job=job,
        placements={name: plans[name] for name in order},
        refused=refused,
        baseline=baseline,
        by=criterion,
        rates_assumed=expected is None,
        unpredicted=tuple(judge.unpredicted),
    )


def _find_behaviour(job: Job, profile: Profile | None) -> JobBehaviour | None:
    """What was measured, or what the job declares; None where neither says enough."""
    if profile is not None:
        return JobBehaviour.from_profile(profile)
    return JobBehaviour.from_job(job) if is_described(job) else None


def _schedule(
    job: Job, scheduler: str, expected: Expected | None, utilisation: float | None
) -> tuple[dict[str, Schedule], dict[str, str]]:
    """Plans by scheduler, and why others have none."""
    every = scheduler == ALL_SCHEDULERS
    schedules: dict[str, Schedule] = {}
    refused: dict[str, str] = {}
    if every and job.plan is not None:
        schedules[OWN_PLAN] = place_job(job)
    # Even placement comes first: of plans that are as good as each other, the simplest is taken.
    names = scheduler_names() if every else (scheduler,)
    for name in sorted(names, key=lambda name: (name != EVEN, name)):
        try:
            schedules[name] = place_job(job, name, expected=expected, utilisation=utilisation)
        except (Infeasible, InvalidInput) as error:
            # What even placement cannot read, no scheduler can.
            if not every or (name == EVEN and isinstance(error, InvalidInput)):
                raise
            refused[name] = str(error)
    if not schedules:
        raise Infeasible("\n".join(f"{name}: {reason}" for name, reason in refused.items()))
    return schedules, refused


def _place_baseline(job: Job, judge: _Judge) -> Placement | None:
    name = OWN_PLAN if job.plan is not None else EVEN
    try:
        return judge.judge(name, place_job(job))
    except Infeasible:
        return None


class _Judge:
    """Looks at plans, and remembers why some have no prediction."""

    def __init__(self, job: Job, behaviour: JobBehaviour | None, expected: Expected | None) -> None:
        self._expected = expected
        self._traffic = expected or Expected.of_equal_rates(job.topology)
        self._behaviour, self._workload = behaviour, job.workload
        self._model = AnalyticModel()
        self.unpredicted: dict[str, None] = {}

    def judge(self, name: str, schedule: Schedule) -> Placement:
        """A plan with all that is known about it."""
        plan = schedule.plan
        prediction = self._predict(plan)
        moved = None if prediction is None else prediction.bytes
        return Placement(
            name=name,
            schedule=schedule,
            traffic=split_traffic(plan, self._traffic, nearest=True),
            even_remote=split_traffic(plan, self._traffic).remote,
            diagnostics=diagnose(plan, self._expected, moved),
            prediction=prediction,
        )

    def _predict(self, plan: PhysicalPlan) -> Prediction | None:
        if self._behaviour is None or self._workload is None:
            return None
        try:
            return self._model.predict(self._behaviour, plan, self._workload)
        except (InvalidInput, NotEnoughData) as error:
            self.unpredicted[f"no latency is predicted: {error}"] = None
            return None


def _check_criterion(by: str) -> None:
    known = (*CRITERIA, REMOTE)
    if by not in known:
        raise InvalidInput.single(
            ("--by",),
            seen=repr(by),
            expected=f"one of {', '.join(known)}",
            remedy=suggest_name(by, list(known)),
        )


def _order(plans: Mapping[str, Placement], by: str) -> tuple[Sequence[str], str]:
    """The best first, and the criterion: traffic where latency is not known."""
    predictions = {
        name: [placement.prediction]
        for name, placement in plans.items()
        if placement.prediction is not None
    }
    if by != REMOTE and len(predictions) == len(plans):
        return rank(predictions, by=by).order, by
    return sorted(plans, key=lambda name: round(plans[name].traffic.remote, 9)), REMOTE
