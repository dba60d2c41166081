"""`sg.recommend`: the cheapest plan that meets an objective, and how sure that is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.api.intervals import (
    WINDOW_SECONDS,
    ParameterNoise,
    check_window,
    choose_errors,
    warn_of_noise,
)
from streamgauge.api.loading import JobLike, ProfileLike
from streamgauge.api.plan_judge import Judge, aim
from streamgauge.api.purchases import Bought, Market, find_cheapest_plans
from streamgauge.api.rates import Rates
from streamgauge.api.recommend_problem import SURE, ask_for_plan, list_options, make_limits
from streamgauge.api.simulator import Say, load_simulator, stay_silent
from streamgauge.errors import Infeasible, InvalidInput, MissingExtra, in_file
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.contract import load_model, model_names
from streamgauge.models.doubts import Doubt, find_doubts
from streamgauge.models.explanation import explain
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.objectives import Objective
from streamgauge.models.prediction import Prediction
from streamgauge.planning.recommending.candidates import Candidates, find_candidates
from streamgauge.planning.recommending.consensus import Consensus, find_consensus
from streamgauge.planning.recommending.problem import Minimise, Problem
from streamgauge.planning.recommending.recommendation import (
    Judged,
    Prices,
    Recommendation,
    is_refuted,
    meets,
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
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.job import Job
from streamgauge.reports.recommendation import RecommendationReport
from streamgauge.topology.physical_plan import PhysicalPlan

if TYPE_CHECKING:
    from streamgauge.planning.packing.catalogue import Catalogue

# Executors of plans whose steps are explained, and that others than the chosen one are judged of.
MOST_EXPLAINED, MOST_JUDGED = 400, 600
# Tuples and messages that a confirmation by simulation may take: some seconds.
SIMULATED_HOPS = 1_500_000


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
    catalogue: str | Path | Catalogue | None = None,
    tuple_bytes: float | None = None,
    intervals: bool = True,
    residuals: str | Path | None = None,
    window: float = WINDOW_SECONDS,
    say: Say = stay_silent,
) -> RecommendationReport:
    """The cheapest plan that meets an objective: fewest executors or machines, or least money.

    Args:
        job: A job's file, a profile's file, or a job, with a cluster: what runs, or is to run.
        objective: ``p99<50ms``, ``mean<2s``, ``complete p95<1s``, ``rate>=5000``, ``share>=95%``,
            or several; that the job carries its load when not given.
        profile: What was measured, a file or a profile; what the job declares when not given.
        rate: Tuples per second of all sources together, or by source; as the job says or what was
            measured when not given.
        step: Configure the job as in this step of its file.
        minimise: ``executors``, ``workers`` or ``machines``; the others decide between equals. Or
            ``money``: machines of the catalogue are bought, and the plan is one for these.
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
        catalogue: Machine types with prices, as a file or a catalogue: the cheapest that hold the
            plan, and what the present ones cost.
        tuple_bytes: With a catalogue: size of a tuple of streams of which it is not known.
        intervals: Give figures their 90 % intervals, and say how likely the objective is met.
        residuals: Judged errors of models on other jobs, a file; those of Streamgauge when not
            given.
        window: Seconds for which figures would be measured, for the intervals.
        say: Gets progress messages for long steps.

    Raises:
        StreamgaugeError: What was given cannot be read, contradicts itself, or says too little.
    """
    market = Market.open(catalogue, minimise, tuple_bytes)
    limits = make_limits(
        keep=keep,
        at_most=at_most,
        max_change=max_change,
        max_workers=max_workers,
        utilisation=utilisation,
    )
    asked = ask_for_plan(
        job,
        objective,
        profile,
        rate=rate,
        step=step,
        minimise=minimise,
        limits=limits,
        sure=sure,
        tasks=tasks,
        catalogue=None if market is None else market.catalogue,
    )
    problem, chosen, described = asked.problem, asked.chosen, asked.described
    noise = ParameterNoise.of(chosen.profile, chosen.folder) if intervals else ParameterNoise()
    judge = Judge(
        noise=noise,
        errors=choose_errors(residuals),
        window_seconds=check_window(window),
        has_intervals=intervals,
    )
    advice: list[Advice] = []
    if tasks if tasks is not None else not problem.is_submitted:
        problem, about_tasks = _choose_tasks(problem)
        advice += about_tasks
    if problem.minimise is Minimise.MONEY and market is not None:
        with in_file(described.file):
            found, bought = find_cheapest_plans(problem, judge, sure, market)
        closely = [one.judged for one in bought]
    else:
        found, best = aim(problem, judge, sure)
        bought, closely = [], _judge_candidates(problem, found, best, judge)
    present = None if found.present is None else judge.judge(problem, found.present)
    if market is not None and bought and present is not None:
        closely = _stay_where_cheap(problem, present, closely, bought, market, sure)
    chosen_plan, closely, remarks = _confirm(problem, closely, sure, confirm, say)
    warnings = [*asked.warnings, *remarks, *warn_of_noise([noise])]
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
    if market is not None:
        warnings += market.warnings
        try:
            with in_file(described.file):
                prices = _price(recommendation, bought, judge, market, say)
            recommendation = replace(recommendation, prices=prices)
        except Infeasible as error:
            warnings.append(f"no price: {error}")
    recommendation = _complete(recommendation, found, advice, vote=vote)
    doubts: tuple[Doubt, ...] = ()
    if chosen.profile is not None:
        assert chosen_plan.trial.schedule is not None
        planned = chosen_plan.trial.schedule.plan.logical.topology
        doubts = find_doubts(chosen.profile, planned, problem.workload, chosen_plan.prediction)
    return RecommendationReport(
        recommendation=recommendation,
        file=described.file,
        options=(
            *described.options,
            *list_options(problem, sure, tasks),
            *(() if market is None else market.list_options()),
        ),
        profile=chosen.origin,
        doubts=doubts,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _stay_where_cheap(
    problem: Problem,
    present: Judged,
    closely: list[Judged],
    bought: Sequence[Bought],
    market: Market,
    sure: float,
) -> list[Judged]:
    """With the present plan first, where it is sure enough and its machines cost no more."""
    price = market.price_now(present.trial.plan)
    is_fine = meets(problem, present) and not present.odds < sure
    if price is None or not is_fine or price > bought[0].purchase.price:
        return closely
    return [present, *closely]


def _price(
    found: Recommendation, bought: Sequence[Bought], judge: Judge, market: Market, say: Say
) -> Prices:
    """What the machines of the chosen plan cost; those that are there, where it stays on them."""
    trial = found.chosen.trial
    mine = next((one for one in bought if one.purchase.trial is trial), None)
    if mine is not None:
        known = {one.purchase.trial: one.purchase.price for one in bought}
        return replace(market.price(found.present, mine), known=known)
    if bought and found.present is not None:
        now = market.price_now(trial.plan)
        assert now is not None
        return Prices(
            catalogue=market.catalogue, now=now, then=now, bought=None, odds=found.chosen.odds
        )
    say("looking for the cheapest machines that hold the plan")
    return market.price(found.present, market.buy(found.problem, judge, found.sure, trial))


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
    current: PhysicalPlan | None = None
    if problem.current is not None:
        with suppress(Infeasible):
            current = place_job(job).plan
    behaviour = JobBehaviour.from_job(job)
    return replace(problem, job=job, behaviour=behaviour, current=current)


def _judge_candidates(
    problem: Problem, found: Candidates, best: Judged | None, judge: Judge
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
    # Of machines that are bought for a plan nobody else's plan is known.
    is_moved = problem.minimise is Minimise.MONEY
    nearness = None if is_moved else advise_nearness(found.trials, chosen.trial)
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
