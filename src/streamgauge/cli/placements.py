"""What schedulers make of a job: every plan with its traffic, its diagnosis and its prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from streamgauge.api.rates import choose_workload as job_load
from streamgauge.cli.output import in_file, warn
from streamgauge.errors import Infeasible, InvalidInput, NotEnoughData, guess
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.declared import declared_profile
from streamgauge.models.prediction import Prediction
from streamgauge.models.ranking import CRITERIA, rank
from streamgauge.planning.scheduling.contract import Expected, Schedule, scheduler_names
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.planning.scheduling.diagnostics import Diagnostics, diagnose
from streamgauge.planning.scheduling.expectation import expected_of_job, expected_of_profile
from streamgauge.planning.scheduling.traffic import TrafficSplit, split_traffic
from streamgauge.profile.files.jobs import job_of, load_profile, profile_in
from streamgauge.profile.job import Assignment, Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.files.document import read_document
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload

ALL = "all"
EVEN = "even"
# The plan that a job's file has, among those of schedulers.
OWN = "own plan"
REMOTE = "remote"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be placed, and what is known of it.

    Attributes:
        job: With its configuration and cluster.
        expected: Its rates and load; all streams alike where nobody knows.
        assumed: Whether nobody does.
        profile: What latency is predicted from, measured or declared; None: it is not.
        workload: What sources emit, where that is known.
    """

    job: Job
    expected: Expected
    assumed: bool
    profile: Profile | None
    workload: Workload | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A plan and what is known of it.

    Attributes:
        name: Of its scheduler.
        schedule: The plan, with warnings and bound.
        traffic: Tuples and acks per second inside workers, between them, and between nodes, as
            the engine deals them.
        even_remote: What would go between nodes if every stream were dealt evenly, which is what
            bounds are of.
        diagnostics: Of nodes and ackers.
        prediction: How it would behave, where that is known.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Placements:
    """All plans that were made.

    Attributes:
        asked: What was placed.
        found: By scheduler, the best first.
        refused: Why others have none.
        before: The job's own plan, else the even one, which all are compared with.
        by: What the best was chosen by.
    """

    asked: Asked
    found: Mapping[str, Placement]
    refused: Mapping[str, str]
    before: Placement | None
    by: str

    @property
    def chosen(self) -> Placement:
        """The best of all."""
        return next(iter(self.found.values()))

    def against(self, placement: Placement) -> float | None:
        """How much more or less goes between nodes than before, as a part of that."""
        if self.before is None or self.before.traffic.remote <= 0.0:
            return None
        return placement.traffic.remote / self.before.traffic.remote - 1.0


def ask(file: str, step: str | None, profile: str | None, rates: Sequence[str]) -> Asked:
    """What a command's options name."""
    document = read_document(file)
    job = job_of(document)
    with in_file(file):
        source = profile_in(document) if profile is None else load_profile(profile)
        if step is not None:
            job = job.at_step(step)
        return _known(replace(job, workload=job_load(job, source, rates)), source)


def _known(job: Job, profile: Profile | None) -> Asked:
    expected = (
        expected_of_job(job)
        if profile is None or job.workload is None
        else expected_of_profile(profile, job.configuration, job.workload)
    )
    source = profile
    if expected is not None and source is None:
        source = declared_profile(job)
    return Asked(
        job=job,
        expected=_alike(job) if expected is None else expected,
        assumed=expected is None,
        profile=source,
        workload=job.workload,
    )


def _alike(job: Job) -> Expected:
    """Every stream with the same rate, where nobody knows any."""
    return Expected(rates={stream.key: 1.0 for stream in job.topology.streams})


def place_all(asked: Asked, scheduler: str, by: str) -> Placements:
    """What one scheduler or all of them make of it.

    Raises:
        Infeasible: None of them can place it.
        InvalidInput: There is no such scheduler, or criterion.
    """
    _check_criterion(by)
    job = asked.job
    names = scheduler_names() if scheduler == ALL else (scheduler,)
    schedules: dict[str, Schedule] = {}
    refused: dict[str, str] = {}
    if scheduler == ALL and job.plan is not None:
        schedules[OWN] = place_job(job)
    # Even placement comes first: of plans that are as good, the simplest is taken.
    for name in sorted(names, key=lambda one: (one != EVEN, one)):
        try:
            schedules[name] = place_job(job, name, expected=_told(asked))
        except Infeasible as error:
            if scheduler != ALL:
                raise
            refused[name] = str(error)
        except InvalidInput as error:
            if scheduler != ALL or name == EVEN:
                raise
            refused[name] = str(error)
    if not schedules:
        why = "\n".join(f"{name}: {reason}" for name, reason in refused.items())
        raise Infeasible(why)
    judge = _Judge(asked)
    found = {name: judge.placement(name, one) for name, one in schedules.items()}
    before = found.get(OWN) or found.get(EVEN) or _before(asked, judge)
    warn(judge.silent)
    order, criterion = _ordered(found, by)
    return Placements(
        asked=asked,
        found={name: found[name] for name in order},
        refused=refused,
        before=before,
        by=criterion,
    )


def _told(asked: Asked) -> Expected | None:
    """What schedulers are told: nothing that is only assumed."""
    return None if asked.assumed else asked.expected


def _before(asked: Asked, judge: _Judge) -> Placement | None:
    """What a plan is compared with: the job's own, else the even one, if there is any."""
    name = OWN if asked.job.plan is not None else EVEN
    try:
        return judge.placement(name, place_job(asked.job))
    except Infeasible:
        return None


class _Judge:
    """Looks at plans, and remembers why some have no prediction."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._model = AnalyticModel()
        self.silent: dict[str, None] = {}

    def placement(self, name: str, schedule: Schedule) -> Placement:
        """A plan with all that is known of it."""
        expected, plan = self._asked.expected, schedule.plan
        return Placement(
            name=name,
            schedule=schedule,
            traffic=split_traffic(plan, expected, nearest=True),
            even_remote=split_traffic(plan, expected).remote,
            diagnostics=diagnose(plan, _told(self._asked)),
            prediction=self._predicted(plan),
        )

    def _predicted(self, plan: PhysicalPlan) -> Prediction | None:
        profile, workload = self._asked.profile, self._asked.workload
        if profile is None or workload is None:
            return None
        try:
            return self._model.predict(profile, plan, workload)
        except (InvalidInput, NotEnoughData) as error:
            self.silent[f"no latency is predicted: {error}"] = None
            return None


def _check_criterion(by: str) -> None:
    known = (*CRITERIA, REMOTE)
    if by not in known:
        raise InvalidInput.single(
            ("--by",),
            seen=repr(by),
            expected=f"one of {', '.join(known)}",
            remedy=guess(by, list(known)),
        )


def _ordered(found: Mapping[str, Placement], by: str) -> tuple[Sequence[str], str]:
    """The best first, and what that was judged by: traffic where latency is not known."""
    predicted = {
        name: [one.prediction] for name, one in found.items() if one.prediction is not None
    }
    if by != REMOTE and len(predicted) == len(found):
        return rank(predicted, by=by).order, by
    return sorted(found, key=lambda name: round(found[name].traffic.remote, 9)), REMOTE


def placed_job(placements: Placements) -> Job:
    """The job with the chosen plan, to be written; its steps have no part in that plan."""
    plan = placements.chosen.plan
    return replace(
        placements.asked.job,
        configuration=plan.logical.configuration,
        cluster=plan.cluster,
        plan=Assignment.of(plan),
        steps={},
    )
