"""`sg.recommend`: the cheapest plan that meets an objective, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from streamgauge.api.intervals import (
    WINDOW_SECONDS,
    ParameterNoise,
    PlanDraws,
    check_window,
    choose_errors,
    warn_of_noise,
)
from streamgauge.api.loading import (
    ChosenProfile,
    DescribedJob,
    JobLike,
    ProfileLike,
    choose_profile,
    describe_job,
)
from streamgauge.api.rates import Rates
from streamgauge.api.simulator import Say, load_simulator, stay_silent
from streamgauge.errors import Findings, Infeasible, InvalidInput, MissingExtra, in_file
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.contract import load_model, model_names
from streamgauge.models.doubts import Doubt, find_doubts
from streamgauge.models.explanation import explain
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.measured_plan import measured_plan
from streamgauge.models.model_error import ModelErrors
from streamgauge.models.objectives import Objective, parse_objective
from streamgauge.models.odds import HIGHEST_RATE, find_margin, find_odds, find_reach
from streamgauge.models.prediction import Prediction
from streamgauge.planning.recommending.candidates import Candidates, find_candidates
from streamgauge.planning.recommending.consensus import Consensus, find_consensus
from streamgauge.planning.recommending.problem import Limits, Minimise, Problem
from streamgauge.planning.recommending.recommendation import (
    Judged,
    Recommendation,
    is_refuted,
)
from streamgauge.planning.recommending.relaxing import find_ways_out
from streamgauge.planning.recommending.settings import (
    Advice,
    advise_ackers,
    advise_nearness,
    advise_pending,
    advise_tasks,
    fit_tasks,
    widen_tasks,
)
from streamgauge.planning.recommending.trials import Trial
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.job import Job
from streamgauge.reports.recommendation import RecommendationReport
from streamgauge.topology.field_checks import check_number
from streamgauge.topology.physical_plan import PhysicalPlan

# The odds that are aimed at when none are given.
SURE = 0.8
# How often a search is repeated with more margin.
MOST_ROUNDS = 3
# Executors of plans whose steps are explained, and that others than the chosen one are judged of.
MOST_EXPLAINED, MOST_JUDGED = 400, 600
# Tuples and messages that a confirmation by simulation may take: some seconds.
SIMULATED_HOPS = 1_500_000


@dataclass(frozen=True, kw_only=True)
class _Judge:
    """Looks closely at plans: full predictions with intervals and odds, and simulations."""

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


def recommend(
    job: JobLike,
    objective: str | Iterable[str] | Objective | None = None,
    profile: ProfileLike | None = None,
    *,
    rate: Rates = None,
    step: str | None = None,
    minimise: str = Minimise.EXECUTORS,
    keep: Collection[str] = (),
    at_most: Mapping[str, int] | None = None,
    max_change: int | None = None,
    max_workers: int | None = None,
    utilisation: float | None = None,
    sure: float = SURE,
    tasks: bool | None = None,
    confirm: bool | None = None,
    vote: bool = False,
    intervals: bool = True,
    residuals: str | Path | None = None,
    window: float = WINDOW_SECONDS,
    say: Say = stay_silent,
) -> RecommendationReport:
    """The plan with the fewest executors, workers or machines that meets an objective.

    Args:
        job: A job's file, a profile's file, or a job, with a cluster: what runs, or is to run.
        objective: ``p99<50ms``, ``mean<2s``, ``complete p95<1s``, ``rate>=5000``, ``share>=95%``,
            or several; that the job carries its load when not given.
        profile: What was measured, a file or a profile; what the job declares when not given.
        rate: Tuples per second of all sources together, or by source; as the job says or what was
            measured when not given.
        step: Configure the job as in this step of its file.
        minimise: ``executors``, ``workers`` or ``machines``; the others decide between equals.
        keep: Operators whose executors stay as they are.
        at_most: Executors by operator that it may have at most, such as a source's partitions.
        max_change: By how many executors an operator may change at most.
        max_workers: Workers that there may be at most; as many as there are slots when not given.
        utilisation: Part of a machine's cores that the plan may keep busy; 0.8 when not given.
        sure: Odds of meeting the objective that are aimed at, where intervals are known.
        tasks: Choose numbers of tasks too, as before a first submit; when not given, for jobs that
            were not measured.
        confirm: Simulate the plan; when not given, if the extra ``simulation`` is installed.
        vote: Ask all schedulers and models which placement they prefer.
        intervals: Give figures their 90 % intervals, and say how likely the objective is met.
        residuals: Judged errors of models on other jobs, a file; those of Streamgauge when not
            given.
        window: Seconds for which figures would be measured, for the intervals.
        say: Gets progress messages for long steps.

    Raises:
        StreamgaugeError: What was given cannot be read, contradicts itself, or says too little.
    """
    wanted = objective if isinstance(objective, Objective) else parse_objective(objective)
    _check(sure, minimise)
    described = describe_job(job, profile, rate=rate, step=step)
    limits = Limits(
        keep=frozenset(keep),
        at_most=at_most or {},
        max_change=max_change,
        max_workers=max_workers,
        **({} if utilisation is None else {"utilisation": utilisation}),
    )
    with in_file(described.file):
        chosen = _choose_behaviour(described, job, profile)
        problem, warnings = _state(described, chosen, wanted, limits, Minimise(minimise))
        problem = replace(problem, is_submitted=chosen.profile is not None or tasks is False)
    noise = ParameterNoise.of(chosen.profile, chosen.folder) if intervals else ParameterNoise()
    judge = _Judge(
        noise=noise,
        errors=choose_errors(residuals),
        window_seconds=check_window(window),
        has_intervals=intervals,
    )
    advice: list[Advice] = []
    if tasks if tasks is not None else not problem.is_submitted:
        problem, about_tasks = _choose_tasks(problem)
        advice += about_tasks
    found, best = _aim(problem, judge, sure)
    closely = _judge_candidates(problem, found, best, judge)
    present = None if found.present is None else judge.judge(problem, found.present)
    chosen_plan, closely, remarks = _confirm(problem, closely, sure, confirm, say)
    warnings += [*remarks, *chosen.warnings, *warn_of_noise([noise])]
    recommendation = Recommendation(
        problem=problem,
        chosen=chosen_plan,
        present=present,
        others=tuple(one for one in closely if one is not chosen_plan),
        sure=sure,
        short=found.short,
        looked_at=found.trials.looked_at,
        by_scheduler=found.by_scheduler,
    )
    recommendation = _complete(recommendation, found, advice, vote=vote)
    doubts: tuple[Doubt, ...] = ()
    if chosen.profile is not None:
        assert chosen_plan.trial.schedule is not None
        planned = chosen_plan.trial.schedule.plan.logical.topology
        doubts = find_doubts(chosen.profile, planned, problem.workload, chosen_plan.prediction)
    return RecommendationReport(
        recommendation=recommendation,
        file=described.file,
        options=(*described.options, *_list_options(problem, sure, tasks)),
        profile=chosen.origin,
        doubts=doubts,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _list_options(problem: Problem, sure: float, tasks: bool | None) -> Iterator[str]:
    """Options of the command that lead to the same plan, those left out that are as usual."""
    limits = problem.limits
    if problem.minimise is not Minimise.EXECUTORS:
        yield from ("--minimise", problem.minimise)
    for name in sorted(limits.keep):
        yield from ("--keep", name)
    for name, most in limits.at_most.items():
        yield from ("--at-most", f"{name}={most}")
    if limits.max_change is not None:
        yield from ("--max-change", str(limits.max_change))
    if limits.max_workers is not None:
        yield from ("--max-workers", str(limits.max_workers))
    if limits.utilisation != Limits().utilisation:
        yield from ("--utilisation", f"{limits.utilisation:g}")
    if sure != SURE:
        yield from ("--sure", f"{sure:g}")
    if tasks is not None:
        yield "--tasks" if tasks else "--no-tasks"


def _check(sure: float, minimise: str) -> None:
    findings = Findings()
    check_number(findings, sure, "--sure", least=0.5, most=0.999)
    known = [one.value for one in Minimise]
    if minimise not in known:
        expected = f"one of {', '.join(known)}"
        findings.add("--minimise", seen=repr(minimise), expected=expected)
    findings.raise_if_any()


def _choose_behaviour(
    described: DescribedJob, job: JobLike, profile: ProfileLike | None
) -> ChosenProfile:
    """What was measured, with the folder of its replicas, or what the job declares."""
    if described.profile is None:
        behaviour = JobBehaviour.from_job(described.job)
        return ChosenProfile(behaviour=behaviour, profile=None, origin="as the job declares")
    source = job if profile is None else profile
    assert not isinstance(source, Job)
    return choose_profile(source, None, None, None)


def _state(
    described: DescribedJob,
    chosen: ChosenProfile,
    objective: Objective,
    limits: Limits,
    minimise: Minimise,
) -> tuple[Problem, list[str]]:
    """The problem, with the plan that there is, and what was assumed."""
    job, warnings = described.job, []
    current: PhysicalPlan | None = None
    is_profile = described.profile is not None and not job.behaviours and job.plan is None
    if is_profile and described.profile is not None:
        current = measured_plan(described.profile)
        if job.cluster is None:
            job = replace(job, cluster=current.cluster)
            warnings.append(
                "the profile describes no cluster: assuming that each node is a machine with one"
                " core for each of its workers"
            )
    elif job.cluster is not None:
        try:
            current = place_job(job).plan
        except Infeasible as error:
            warnings.append(f"the job as it is cannot be placed: {error}")
    problem = Problem(
        job=job,
        behaviour=chosen.behaviour,
        objective=objective,
        limits=limits,
        current=current,
        minimise=minimise,
    )
    return problem, warnings


def _choose_tasks(problem: Problem) -> tuple[Problem, list[Advice]]:
    """The problem with tasks that leave room for executors later."""
    job = problem.job
    wide = _with_job(problem, widen_tasks(job, problem))
    found = find_candidates(wide)
    if not found.best:
        return problem, []
    fitted = fit_tasks(job, wide, found.best[0])
    about = advise_tasks(job, fitted)
    return (problem, []) if about is None else (_with_job(problem, fitted), [about])


def _with_job(problem: Problem, job: Job) -> Problem:
    """The same for a job with other tasks, whose behaviours are those declared."""
    try:
        current: PhysicalPlan | None = place_job(job).plan
    except Infeasible:
        current = None
    behaviour = JobBehaviour.from_job(job)
    return replace(problem, job=job, behaviour=behaviour, current=current)


def _aim(problem: Problem, judge: _Judge, sure: float) -> tuple[Candidates, Judged | None]:
    """Candidates whose best one meets the objective with these odds, if any does.

    What is predicted to be right at the goal meets it in half of the cases. How much better it has
    to be follows from its own interval, so that a search is repeated with that as a margin.
    """
    found = find_candidates(problem)
    best: tuple[Candidates, Judged] | None = None
    margins, rate_margin = [0.0] * len(problem.objective.latencies), 0.0
    for _ in range(MOST_ROUNDS):
        if not found.best:
            break
        judged = judge.judge(problem, found.best[0])
        if best is None or judged.odds > best[1].odds:
            best = found, judged
        if math.isnan(judged.odds) or judged.odds >= sure or judged.intervals is None:
            break
        figures = judged.intervals.figures
        reaches = [find_reach(figures.get(goal.key)) for goal in problem.objective.latencies]
        margins = [
            max(margin, find_margin(reach, sure))
            for margin, reach in zip(margins, reaches, strict=True)
        ]
        rate_margin = max(rate_margin, find_margin(find_reach(figures.get(HIGHEST_RATE)), sure))
        found = find_candidates(problem, margins=margins, rate_margin=rate_margin)
    return (found, None) if best is None else best


def _judge_candidates(
    problem: Problem, found: Candidates, best: Judged | None, judge: _Judge
) -> list[Judged]:
    """The best candidates looked at closely; or the nearest plan, where none meets the objective.

    Raises:
        Infeasible: There is no plan at all.
    """
    if best is None:
        if found.nearest.schedule is None:
            raise Infeasible(found.nearest.refused)
        return [judge.judge(problem, found.nearest)]
    others = [one for one in found.best if one is not best.trial]
    if len(best.trial.plan.logical.executors) > MOST_JUDGED:
        return [best]
    return [best, *(judge.judge(problem, one) for one in others)]


def _confirm(
    problem: Problem,
    closely: list[Judged],
    sure: float,
    confirm: bool | None,
    say: Say,
) -> tuple[Judged, list[Judged], list[str]]:
    """The first that is sure enough and that a simulation does not refute."""
    sure_enough = [one for one in closely if not one.odds < sure]
    # The cheapest first; where none is sure enough, the surest.
    order = sure_enough or sorted(closely, key=lambda one: -one.odds)
    order += [one for one in closely if one not in order]
    simulate, remarks = _find_simulator(confirm, say)
    if simulate is None:
        return order[0], closely, remarks
    for place, judged in enumerate(order):
        say(f"simulating plan {place + 1} of {len(order)}")
        simulated = _simulate(simulate, problem, judged.trial.plan, remarks)
        if simulated is None:
            return order[0], closely, remarks
        confirmed = replace(judged, simulated=simulated)
        closely = [confirmed if one is judged else one for one in closely]
        order[place] = confirmed
        if not is_refuted(problem, simulated):
            return confirmed, closely, remarks
    return order[0], closely, remarks


def _find_simulator(confirm: bool | None, say: Say) -> tuple[type | None, list[str]]:
    """The simulation model, if it is wanted and can be had."""
    if confirm is False:
        return None, []
    try:
        load_simulator(say)
    except MissingExtra as error:
        if confirm:
            raise
        return None, [f"not confirmed by simulation: {error}"]
    from streamgauge.models.simulated import SimulationModel

    return SimulationModel, []


def _simulate(
    model: type, problem: Problem, plan: PhysicalPlan, remarks: list[str]
) -> Prediction | None:
    try:
        simulated: Prediction = model(budget=SIMULATED_HOPS).predict(
            problem.behaviour, plan, problem.workload
        )
    except InvalidInput as error:
        remarks.append(f"not confirmed by simulation: {error}")
        return None
    return simulated


def _complete(
    recommendation: Recommendation, found: Candidates, advice: list[Advice], *, vote: bool
) -> Recommendation:
    """With reasons, settings, ways out and votes."""
    problem, chosen = recommendation.problem, recommendation.chosen
    plan = chosen.trial.plan
    is_met = recommendation.is_feasible
    explanation = None
    if len(plan.logical.executors) <= MOST_EXPLAINED:
        explanation = explain(problem.behaviour, plan, problem.workload)
    pending = advise_pending(problem, chosen.trial) if is_met else None
    ackers = advise_ackers(problem, chosen.trial, chosen.prediction)
    nearness = advise_nearness(found.trials, chosen.trial)
    said = [one for one in (pending, ackers, nearness) if one is not None]
    return replace(
        recommendation,
        explanation=explanation,
        advice=(*advice, *said),
        ways_out=() if is_met else find_ways_out(problem, found),
        consensus=_ask_all(problem, found) if vote else None,
    )


def _ask_all(problem: Problem, found: Candidates) -> Consensus | None:
    """What schedulers and models prefer; models that cannot predict such plans have no vote."""
    plans = {name: one.plan for name, one in found.by_scheduler.items() if one.schedule is not None}
    names = sorted(model_names(), key=lambda name: name != AnalyticModel.name)
    models = [load_model(name) for name in names if name != "simulation"]
    predictions: dict[str, Sequence[Prediction]] = {}
    for name, plan in plans.items():
        said = []
        for model in models:
            try:
                said.append(model.predict(problem.behaviour, plan, problem.workload))
            except InvalidInput:
                continue
        predictions[name] = said
    goals = problem.objective.latencies
    return find_consensus(plans, predictions, by=goals[0].figure if goals else "rate")
