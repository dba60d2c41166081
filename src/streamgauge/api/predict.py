"""`sg.predict`: how a job would behave on a plan that has never run."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from streamgauge.api.histories import HistoryPlace
from streamgauge.api.intervals import (
    WINDOW_SECONDS,
    PlanDraws,
    check_window,
    choose_errors,
    find_noise,
    test_model,
    warn_of_noise,
)
from streamgauge.api.loading import (
    ChosenProfile,
    PlanLike,
    PlannedJob,
    ProfileLike,
    choose_profile,
    describes_job,
    load_plan,
    topology_of,
)
from streamgauge.api.loads import FoundLoad, resolve_load
from streamgauge.api.models import DEFAULT, ModelPanel
from streamgauge.api.rates import Rates, apply_rates, choose_workload, measure_workload
from streamgauge.api.simulator import Say, stay_silent
from streamgauge.errors import InvalidInput, NotEnoughData, in_file
from streamgauge.models.back_test import BackTested
from streamgauge.models.backpressure_alert import find_alerts
from streamgauge.models.caladrius import CaladriusModel
from streamgauge.models.capacity_check import CheckedCapacity, check_capacities
from streamgauge.models.changed_tasks import fit_tasks
from streamgauge.models.doubts import Doubt, find_doubts
from streamgauge.models.intervals import Intervals
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.measured_plan import measured_plan
from streamgauge.models.prediction import Prediction
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.reports.prediction import PredictedPlan, PredictionReport
from streamgauge.topology.files.document import STANDARD_INPUT, Document, read_document
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload

# How figures end that are rates.
RATE = "_per_second"
OWN_PLAN = "the profile's own plan"
AS_MEASURED, AS_GIVEN, AS_IN_FILE = "as measured", "the given rate", "as the plan's file says"


def predict(
    profile: ProfileLike | Job | None = None,
    plan: PlanLike | None = None,
    *,
    step: str | None = None,
    rate: Rates = None,
    load: str | None = None,
    series: str | Path | None = None,
    model: str = DEFAULT,
    lake: str | None = None,
    topology: str | None = None,
    measured: bool = False,
    link_percentile: float | None = None,
    before: bool = False,
    strict: bool = False,
    intervals: bool = True,
    residuals: str | Path | None = None,
    window: float = WINDOW_SECONDS,
    say: Say = stay_silent,
) -> PredictionReport:
    """Latency with percentiles, utilisation and the highest rate of a plan.

    Args:
        profile: What was measured: a file or a profile. A job that is only described, as a file or
            an object, is predicted from what it declares.
        plan: The plan to predict: a job file, a job, or a physical plan; the profile's own plan
            when not given. A job without a placement is placed by the even scheduler.
        step: Configure the plan as in this step of its file.
        rate: Tuples per second of all sources together, or by source; the load of the plan's file
            or what was measured when not given.
        load: Instead of a rate: ``mean``, ``peak``, ``p95`` … of what sources emitted, or
            ``forecast+1h@p95``; what is expected (``forecast+1h``) widens intervals by its band.
        series: With `load`: a CSV file of source rates; the lake's or the profile's own history
            when not given.
        model: Which model predicts; ``all`` asks every model.
        lake: Instead of `profile`: a lake, of whose profiles the one is taken whose plan is most
            like `plan`. With `load` and `profile`: whose history counts.
        topology: With `lake`: the topology's name there; as in `plan` when not given.
        measured: Predict the profile's own plan from measured rates and service times only.
        link_percentile: Per cent of the probes between nodes that are no longer than the latency
            that counts; 50 when not given.
        before: Predict the profile's own plan at the same load too, to show what changes.
        strict: Whether an answer that is in doubt is refused.
        intervals: Give every figure its 90 % interval, and test the model on what was measured.
        residuals: Judged errors of models on other jobs, a file; those of Streamgauge when not
            given.
        window: Seconds for which figures would be measured, for the intervals.
        say: Gets progress messages for long steps.

    Raises:
        StreamgaugeError: What was given cannot be read, is wrong, or says too little; with `strict`
            also where the answer is in doubt.
    """
    source: ProfileLike | Job | Document | None = profile
    if plan is None and isinstance(profile, str | Path) and str(profile) != STANDARD_INPUT:
        # It is read once, whatever it holds.
        source = read_document(profile)
    if plan is None and isinstance(source, Job | Document) and describes_job(source):
        assert not isinstance(profile, Profile)
        source, plan = None, profile
    place = HistoryPlace.choose(series, lake if load is not None else None, topology)
    is_loaded = rate is not None or load is not None
    _check_combination(plan, step, measured=measured, is_rated=is_loaded, model=model)
    panel = ModelPanel(model, link_percentile, say)
    planned = None if plan is None else load_plan(plan, step)
    assert not isinstance(source, Job)
    chosen = choose_profile(
        source, lake if load is None or source is None else None, topology, planned
    )
    if lake is not None:
        say(chosen.origin)
    rate, found = resolve_load(load, rate, place, topology_of(chosen, planned), chosen.profile, say)
    with in_file(_name_file(plan or profile or lake)):
        proposal = propose(chosen, planned, rate, found)
        if measured:
            first, *others = [panel.repeat_measurement(chosen.require_profile())]
        else:
            behaviour = fit_tasks(chosen.behaviour, proposal.plan.logical.topology)
            case = (behaviour, proposal.plan, proposal.workload)
            first, *others = panel.ask(*case)
            first = panel.explain(first, *case)
    capacities = () if measured else _check_capacities(behaviour, proposal, first)
    doubts = _doubt(chosen, proposal, first, capacities, strict=strict)
    former: PredictedPlan | None = None
    problems: list[str] = []
    sure = BackTestedIntervals()
    if intervals:
        errors = choose_errors(residuals)
        noise = find_noise(chosen, first, measured=measured)
        drawn = PlanDraws(
            prediction=first,
            plan=proposal.plan,
            workload=proposal.workload,
            noise=noise,
            errors=errors,
            window_seconds=check_window(window),
            link_percentile=link_percentile,
            band=find_band(proposal, found),
        )
        is_own = planned is None and rate is None
        sure = BackTestedIntervals(
            intervals=drawn.find_intervals(),
            tested=test_model(chosen, first if is_own else None),
            is_own=is_own,
        )
        problems += warn_of_noise([noise])
    if not measured:
        with in_file(_name_file(plan or profile or lake)):
            first = panel.find_throughput(first, *case)
        sure = sure.suit(first)
    if before and planned is not None and chosen.profile is not None:
        former, refusals = _predict_before(panel, chosen, proposal)
        problems += refusals
    return PredictionReport(
        predicted=PredictedPlan(**proposal._asdict(), prediction=first),
        others=tuple(others),
        before=former,
        **sure._asdict(),
        profile=chosen.origin,
        doubts=doubts,
        capacities=capacities,
        alerts=() if chosen.profile is None else find_alerts(chosen.profile, first),
        warnings=(
            *(
                planned.warnings
                if planned is not None
                else _warn_of_cluster(chosen.require_profile())
            ),
            *chosen.warnings,
            *panel.warnings,
            *problems,
            *(() if found is None else found.cautions),
        ),
    )


class BackTestedIntervals(NamedTuple):
    """How sure a prediction is: intervals, and the test of the model on what was measured."""

    intervals: Intervals | None = None
    tested: tuple[BackTested, ...] = ()
    is_own: bool = False

    def suit(self, prediction: Prediction) -> BackTestedIntervals:
        """Without the intervals of rates where these are not those that are due."""
        throughput, intervals = prediction.throughput, self.intervals
        if intervals is None or throughput is None or not throughput.is_held_back:
            return self
        return self._replace(intervals=intervals.without(lambda key: key.figure.endswith(RATE)))


class Proposal(NamedTuple):
    """A plan under a load.

    Attributes:
        name: What the plan is called: its file and step.
        plan: Where every executor runs.
        workload: What sources emit.
        load: Where the workload comes from.
    """

    name: str
    plan: PhysicalPlan
    workload: Workload
    load: str


def propose(
    chosen: ChosenProfile, planned: PlannedJob | None, rate: Rates, found: FoundLoad | None = None
) -> Proposal:
    """The plan under its file's load, or what was measured, at the given rates.

    Args:
        chosen: Whose own plan is proposed where no other is.
        planned: A plan of the same job.
        rate: As in `predict`.
        found: The load that the rates are of.
    """
    job = None if planned is None else planned.job
    if job is None:
        workload: Workload | None = measure_workload(chosen.require_profile(), rate)
    else:
        workload = choose_workload(job, chosen.profile, rate)
    if workload is None:
        raise NotEnoughData(
            "the job file does not say what its sources emit: give --rate, or add a workload"
        )
    load = AS_MEASURED if job is None or job.workload is None else AS_IN_FILE
    if rate is not None:
        load = AS_GIVEN if found is None else found.origin
    return Proposal(
        name=OWN_PLAN if planned is None else planned.name,
        plan=measured_plan(chosen.require_profile()) if planned is None else planned.plan,
        workload=workload,
        load=load,
    )


def _check_capacities(
    behaviour: JobBehaviour, proposal: Proposal, prediction: Prediction
) -> tuple[CheckedCapacity, ...]:
    """Measured capacities beside computed ones; of a model that computes them."""
    if prediction.model == CaladriusModel.name:
        return ()
    return check_capacities(behaviour, proposal.plan, proposal.workload, prediction)


def find_band(proposal: Proposal, found: FoundLoad | None) -> tuple[Workload, ...]:
    """The workloads at both ends of the band of what is expected; none of any other load."""
    if found is None or not found.is_expected:
        return ()
    low, high = found.ends
    return apply_rates(proposal.workload, low), apply_rates(proposal.workload, high)


def _doubt(
    chosen: ChosenProfile,
    proposal: Proposal,
    prediction: Prediction,
    capacities: tuple[CheckedCapacity, ...],
    *,
    strict: bool,
) -> tuple[Doubt, ...]:
    """Why the answer may be wrong; what is only declared is not in doubt.

    Raises:
        NotEnoughData: There are doubts, and these are refused.
    """
    if chosen.profile is None:
        return ()
    planned = proposal.plan.logical.topology
    doubts = find_doubts(chosen.profile, planned, proposal.workload, prediction, capacities)
    if doubts and strict:
        raise NotEnoughData(
            f"{len(doubts)} reasons not to rely on this prediction (--strict):\n"
            + "\n".join(map(str, doubts))
        )
    return doubts


def _predict_before(
    panel: ModelPanel, chosen: ChosenProfile, proposal: Proposal
) -> tuple[PredictedPlan | None, list[str]]:
    """The plan that was measured, under the proposal's load, or why there is none."""
    try:
        plan = measured_plan(chosen.require_profile())
        case = (chosen.behaviour, plan, proposal.workload)
        prediction = panel.find_throughput(panel.ask_first(*case), *case)
    except (InvalidInput, NotEnoughData) as error:
        return None, [f"no prediction of the plan before: {error}"]
    before = proposal._replace(name=OWN_PLAN, plan=plan)
    return PredictedPlan(**before._asdict(), prediction=prediction), []


def _warn_of_cluster(profile: Profile) -> list[str]:
    """What is assumed of the machines that a profile does not describe."""
    if profile.cluster is not None:
        return []
    return [
        "the profile describes no cluster: assuming that each node is a machine with one core for"
        " each of its workers"
    ]


def _name_file(source: object) -> str:
    return str(source) if isinstance(source, str | Path) else ""


def _check_combination(
    plan: PlanLike | None, step: str | None, *, measured: bool, is_rated: bool, model: str
) -> None:
    if step is not None and plan is None:
        raise InvalidInput.single(
            ("--step",), seen=f"step {step!r} without --plan", expected="a job file with steps"
        )
    if measured and (plan is not None or is_rated or model != DEFAULT):
        raise InvalidInput.single(
            ("--measured",),
            seen="--measured together with --plan, --rate or --model",
            expected="the profile's own plan and load, which is what was measured",
        )
