"""`sg.compare`: which of several proposed plans is best, by one model or by vote.

N-version planning (Cooper 2020, section 6.2): plans of several schedulers or people are judged
before any of them is deployed, and a model that errs can be outvoted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from streamgauge.api.histories import HistoryPlace
from streamgauge.api.intervals import (
    WINDOW_SECONDS,
    ParameterNoise,
    PlanDraws,
    check_window,
    choose_errors,
    compare_draws,
    warn_of_noise,
)
from streamgauge.api.loading import (
    PlanLike,
    PlannedJob,
    ProfileLike,
    choose_profile,
    load_plan,
    topology_of,
)
from streamgauge.api.loads import resolve_load
from streamgauge.api.models import DEFAULT, ModelPanel
from streamgauge.api.predict import find_band, propose
from streamgauge.api.rates import Rates
from streamgauge.api.simulator import Say, stay_silent
from streamgauge.errors import InvalidInput, in_file
from streamgauge.models.intervals import Difference
from streamgauge.models.ranking import Ranking, rank
from streamgauge.reports.comparison import ComparedPlan, ComparisonReport, key_of_criterion

STEP_MARK = "@"


def compare(
    plans: Sequence[PlanLike],
    profile: ProfileLike | None = None,
    *,
    rate: Rates = None,
    load: str | None = None,
    series: str | Path | None = None,
    by: str = "p99",
    model: str = DEFAULT,
    lake: str | None = None,
    topology: str | None = None,
    intervals: bool = True,
    residuals: str | Path | None = None,
    window: float = WINDOW_SECONDS,
    say: Say = stay_silent,
) -> ComparisonReport:
    """Rank several proposed plans, and say which one most models prefer.

    Args:
        plans: Job files, ``FILE@STEP`` for a step of a file, jobs, or physical plans.
        profile: What was measured: a file or a profile; what the first plan's job declares when
            not given.
        rate: Tuples per second of all sources together, or by source; as each plan's file says
            or what was measured when not given.
        load: Instead of a rate: ``mean``, ``peak``, ``p95`` … of what sources emitted, or
            ``forecast+1h@p95``.
        series: With `load`: a CSV file of source rates; the lake's or the profile's own history
            when not given.
        by: What counts: ``mean``, ``p50``, ``p90``, ``p95``, ``p99`` or ``rate``, the highest that
            fits.
        model: Which model decides; with ``all`` every model has a vote.
        lake: Instead of `profile`: a lake, of whose profiles the one is taken whose plan is most
            like the first plan. With `load` and `profile`: whose history counts.
        topology: With `lake`: the topology's name there; as in the plans when not given.
        intervals: Give figures their 90 % intervals, and say which plans differ beyond them.
        residuals: Judged errors of models on other jobs, a file; those of Streamgauge when not
            given.
        window: Seconds for which figures would be measured, for the intervals.
        say: Gets progress messages for long steps.

    Raises:
        StreamgaugeError: What was given cannot be read, is wrong, or says too little.
    """
    panel = ModelPanel(model, None, say)
    planned = [_load_plan(plan) for plan in plans]
    if not planned:
        raise InvalidInput.single(("plans",), seen="no plan", expected="plans to compare")
    chosen = choose_profile(
        profile, lake if load is None or profile is None else None, topology, planned[0]
    )
    if lake is not None:
        say(chosen.origin)
    place = HistoryPlace.choose(series, lake if load is not None else None, topology)
    known = topology_of(chosen, planned[0])
    rate, found = resolve_load(load, rate, place, known, chosen.profile, say)
    noise = ParameterNoise.of(chosen.profile, chosen.folder) if intervals else ParameterNoise()
    errors = choose_errors(residuals)
    drawn: dict[str, PlanDraws] = {}
    compared: dict[str, ComparedPlan] = {}
    for name, plan in zip(_name_plans(plans, planned), planned, strict=True):
        with in_file(plan.file):
            proposal = propose(chosen, plan, rate, found)
            predictions = panel.ask(chosen.behaviour, proposal.plan, proposal.workload)
            compared[name] = ComparedPlan(plan=proposal.plan, predictions=predictions)
            if intervals and predictions[0].model == DEFAULT:
                drawn[name] = PlanDraws(
                    prediction=predictions[0],
                    plan=proposal.plan,
                    workload=proposal.workload,
                    noise=noise,
                    errors=errors,
                    window_seconds=check_window(window),
                    band=find_band(proposal, found),
                )
                compared[name] = replace(compared[name], intervals=drawn[name].find_intervals())
    compared = _put_leader_first(compared)
    ranking = rank({name: plan.predictions for name, plan in compared.items()}, by=by)
    warnings = dict.fromkeys(warning for plan in planned for warning in plan.warnings)
    return ComparisonReport(
        ranking=ranking,
        plans=compared,
        differences=_find_differences(drawn, ranking),
        profile=chosen.origin,
        load="" if found is None else found.origin,
        warnings=(
            *warnings,
            *chosen.warnings,
            *panel.warnings,
            *warn_of_noise([noise]),
            *(() if found is None else found.cautions),
        ),
    )


def _find_differences(drawn: Mapping[str, PlanDraws], ranking: Ranking) -> dict[str, Difference]:
    """How far each plan is from the preferred one, by what they are ranked by."""
    best = drawn.get(ranking.preferred)
    if best is None:
        return {}
    key = key_of_criterion(ranking.by)
    others = {name: one for name, one in drawn.items() if name != ranking.preferred}
    found = {name: compare_draws(one, best, key) for name, one in others.items()}
    return {name: one for name, one in found.items() if one is not None}


def _put_leader_first(compared: dict[str, ComparedPlan]) -> dict[str, ComparedPlan]:
    """The plans, those models first that answered for all of them.

    Raises:
        InvalidInput: No model did.
    """
    answers = [{answer.model for answer in plan.predictions} for plan in compared.values()]
    common = set.intersection(*answers)
    if not common:
        raise InvalidInput.single(
            ("--model",), seen="no model that can predict all plans", expected="at least one"
        )
    return {
        name: replace(
            plan,
            predictions=tuple(sorted(plan.predictions, key=lambda item: item.model not in common)),
        )
        for name, plan in compared.items()
    }


def _load_plan(plan: PlanLike) -> PlannedJob:
    if isinstance(plan, str | Path) and STEP_MARK in str(plan):
        file, _, step = str(plan).rpartition(STEP_MARK)
        return load_plan(file, step)
    return load_plan(plan)


def _name_plans(plans: Sequence[PlanLike], planned: Sequence[PlannedJob]) -> list[str]:
    """Short names, or those that were given where short ones do not tell the plans apart."""
    short = [plan.name for plan in planned]
    if len(set(short)) == len(short):
        return short
    return [
        str(plan) if isinstance(plan, str | Path) else f"{name} {place}"
        for place, (plan, name) in enumerate(zip(plans, short, strict=True), start=1)
    ]
