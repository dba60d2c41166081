"""`sg.timetable`: which plan should run when, over a forecast, and where a change pays."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.api.histories import History, HistoryPlace, LengthLike
from streamgauge.api.intervals import (
    WINDOW_SECONDS,
    ParameterNoise,
    check_window,
    choose_errors,
    warn_of_noise,
)
from streamgauge.api.loading import JobLike, ProfileLike
from streamgauge.api.loads import doubt_unit
from streamgauge.api.outlook import (
    CHANCE,
    find_lead_time,
    forecast_sources,
    mix_workload,
    read_wish,
)
from streamgauge.api.plan_judge import Judge, aim
from streamgauge.api.purchases import Market, find_cheapest_plans
from streamgauge.api.recommend_problem import SURE, ask_for_plan, list_options, make_limits
from streamgauge.api.simulator import Say, stay_silent
from streamgauge.drawing.wording import format_share
from streamgauge.errors import Findings, Infeasible, InvalidInput, NotEnoughData
from streamgauge.models.objectives import Objective
from streamgauge.models.outlook import PROBABILITIES
from streamgauge.planning.recommending.consensus import canonical_form
from streamgauge.planning.recommending.problem import Minimise, Problem
from streamgauge.planning.recommending.recommendation import Judged, meets
from streamgauge.planning.recommending.timetable import (
    Course,
    RatedPlan,
    find_single_plan,
    find_timetable,
)
from streamgauge.planning.recommending.trials import CURRENT, Trials, cost_of
from streamgauge.reports.timetable import TimetableReport
from streamgauge.topology.field_checks import check_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamgauge.planning.packing.catalogue import Catalogue

# Time in which the objective is missed because of a change counts so many times.
MISS_WEIGHT = 10.0
# Loads that plans are looked for, and loads at which the odds of each are found.
LEVELS, POINTS = 6, 5
# Loads that differ by less need no plans of their own.
LEVEL_RATIO = 1.2
# Odds fall steeply where a plan becomes full: these parts of its highest rate are looked at, too.
NEAR_FULL = (0.9, 0.98, 1.02)
# Shares of sources that differ by less over the horizon are taken as the same.
SAME_MIX = 0.05


def timetable(
    job: JobLike,
    objective: str | Iterable[str] | Objective | None = None,
    profile: ProfileLike | None = None,
    *,
    horizon: LengthLike = "24h",
    series: str | Path | None = None,
    lake: str | None = None,
    topology: str | None = None,
    step: str | None = None,
    minimise: str = Minimise.EXECUTORS,
    keep: Collection[str] = (),
    at_most: Mapping[str, int] | None = None,
    max_change: int | None = None,
    max_workers: int | None = None,
    utilisation: float | None = None,
    sure: float = SURE,
    catalogue: str | Path | Catalogue | None = None,
    tuple_bytes: float | None = None,
    intervals: bool = True,
    residuals: str | Path | None = None,
    window: float = WINDOW_SECONDS,
    forecast_step: LengthLike | None = None,
    rescaling: LengthLike | None = None,
    miss_weight: float = MISS_WEIGHT,
    say: Say = stay_silent,
) -> TimetableReport:
    """The cheapest plans for a forecast load, one after the other; restarts are counted.

    Args:
        job: A job's file, a profile's file, or a job, with a cluster: what runs, or is to run.
        objective: ``p99<50ms`` and the like; that the job carries its load when not given.
        profile: What was measured, a file or a profile; what the job declares when not given.
        horizon: How far ahead, in seconds or as ``24h``.
        series: A CSV file of source rates; the lake's or the profile's own history if not given.
        lake: A lake that measured the source rates, and how long rebalances took.
        topology: With `lake`: the topology's name there.
        step: Configure the job as in this step of its file.
        minimise: ``executors``, ``workers`` or ``machines``, summed over time; or ``money``, for
            machines of the catalogue that are bought for each plan by the hour.
        keep: Operators whose executors stay as they are.
        at_most: Executors by operator that it may have at most, such as a source's partitions.
        max_change: By how many executors an operator may differ from now at most.
        max_workers: Workers that there may be at most; as many as there are slots when not given.
        utilisation: Part of a machine's cores that the plan may keep busy; 0.8 when not given.
        sure: Odds of meeting the objective that every plan must have while it runs.
        catalogue: Machine types with prices, as a file or a catalogue.
        tuple_bytes: With a catalogue: size of a tuple of streams of which it is not known.
        intervals: Find odds from 90 % intervals; otherwise a plan meets its objective or does not.
        residuals: Judged errors of models on other jobs, a file.
        window: Seconds for which figures would be measured, for the intervals.
        forecast_step: Length of a step of the forecast, as values are apart by default.
        rescaling: For how long a change stops the job; as rebalances in the lake did by default.
        miss_weight: How many times the cost of the plan time counts in which a change misses the
            objective.
        say: Gets progress messages for long steps.

    Raises:
        NotEnoughData: The history is too short for the horizon, or there is none.
        StreamgaugeError: What was given cannot be read, contradicts itself, or says too little.
    """
    with Findings() as findings:
        check_number(findings, miss_weight, "--miss-weight")
    market = Market.open(catalogue, minimise, tuple_bytes)
    if market is not None and minimise != Minimise.MONEY:
        raise InvalidInput.single(
            ("--catalogue",),
            seen=f"a catalogue, and --minimise {minimise}",
            expected="--minimise money with --horizon, or no catalogue",
        )
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
        # Sources emit what is forecast; here only in what proportions.
        rate=1.0,
        step=step,
        minimise=minimise,
        limits=limits,
        sure=sure,
        tasks=False,
        catalogue=None if market is None else market.catalogue,
    )
    chosen, described = asked.chosen, asked.described
    wish = read_wish(horizon, None, CHANCE, forecast_step, None, None, None, rescaling)
    place = HistoryPlace.choose(series, lake, topology)
    past = place.read(asked.problem.job.topology, chosen.profile, say)
    forecast, shares = forecast_sources(past, wish)
    loads = forecast.quantiles[:, [forecast.probabilities.index(one) for one in PROBABILITIES]]
    if loads.max() <= 0.0:
        raise NotEnoughData(
            f"{past.origin}: nothing is expected to come; expected rates above zero"
        )
    problem = _mix(asked.problem, past, shares)
    lead = find_lead_time(wish, lake, topology or problem.job.topology.name)
    noise = ParameterNoise.of(chosen.profile, chosen.folder) if intervals else ParameterNoise()
    judge = Judge(
        noise=noise,
        errors=choose_errors(residuals),
        window_seconds=check_window(window),
        has_intervals=intervals,
    )
    heavy = loads[:, int(np.searchsorted(PROBABILITIES, sure))]
    course = Course(
        loads=heavy,
        step_seconds=forecast.series.step_seconds,
        pause_seconds=lead.rescaling_seconds,
        sure=sure,
        miss_weight=miss_weight,
    )
    levels = _choose_levels(forecast.middle, heavy)
    found = list(_find_plans(problem, judge, sure, levels, market, say))
    rated = [_rate(problem, one, judge, loads) for one in found]
    plans = [one.judged for one in found]
    current = next(
        (place for place, one in enumerate(plans) if one.trial.setup.scheduler == CURRENT), None
    )
    return TimetableReport(
        problem=problem,
        plans=tuple(plans),
        timetable=find_timetable(course, rated, current),
        single=find_single_plan(course, rated, current),
        current=current,
        forecast=forecast,
        lead=lead,
        history=past.origin,
        profile=chosen.origin,
        file=described.file,
        options=(
            *_without_rate(described.options),
            *list_options(problem, sure, None),
            *_list_own_options(place, forecast_step, rescaling, miss_weight),
            *(() if market is None else market.list_options()),
        ),
        currency="" if market is None else market.catalogue.currency,
        cautions=(
            *past.cautions,
            *forecast.cautions,
            *doubt_unit(past, chosen.profile),
            *_doubt_mix(shares),
        ),
        warnings=tuple(
            dict.fromkeys(
                (
                    *asked.warnings,
                    *warn_of_noise([noise]),
                    *(() if market is None else market.warnings),
                )
            )
        ),
    )


def _mix(problem: Problem, past: History, shares: NDArray[np.float64]) -> Problem:
    """With sources in the proportions that they have on average."""
    workload = mix_workload(problem.workload, past, shares.mean(axis=0))
    return replace(problem, job=replace(problem.job, workload=workload))


def _doubt_mix(shares: NDArray[np.float64]) -> Iterator[str]:
    apart = float(np.abs(shares - shares.mean(axis=0)).max())
    if apart > SAME_MIX:
        yield (
            "Plans are for the mean proportions of the sources, whose parts of the load differ"
            f" from that by up to {format_share(apart)}."
        )


def _without_rate(options: Sequence[str]) -> Iterator[str]:
    """Options without the rate that stands for the forecast."""
    pairs = zip(options[::2], options[1::2], strict=True)
    return (word for pair in pairs if pair[0] != "--rate" for word in pair)


def _list_own_options(
    place: HistoryPlace,
    forecast_step: LengthLike | None,
    rescaling: LengthLike | None,
    miss_weight: float,
) -> Iterator[str]:
    """Options of the command that look ahead in the same way."""
    given = {
        "--series": place.series,
        "--lake": place.lake,
        "--forecast-step": forecast_step,
        "--rescaling": rescaling,
        "--miss-weight": None if miss_weight == MISS_WEIGHT else f"{miss_weight:g}",
    }
    for option, value in given.items():
        if value is not None:
            yield from (option, str(value))


def _at(problem: Problem, per_second: float) -> Problem:
    """The same under another load."""
    workload = problem.workload.times(per_second / problem.offered_per_second)
    return replace(problem, job=replace(problem.job, workload=workload))


@dataclass(frozen=True, kw_only=True)
class _Priced:
    """A plan, and what it costs per hour."""

    judged: Judged
    cost: float


def _choose_levels(middle: NDArray[np.float64], heavy: NDArray[np.float64]) -> list[float]:
    """Loads that plans are looked for, from the least expected to the most that is likely."""
    high = float(heavy.max())
    low = min(max(float(middle.min()), 1e-3 * high), high)
    many = min(LEVELS, 1 + math.ceil(math.log(high / low) / math.log(LEVEL_RATIO)))
    return [float(level) for level in np.geomspace(high, low, many)][::-1]


def _find_plans(
    problem: Problem,
    judge: Judge,
    sure: float,
    levels: Sequence[float],
    market: Market | None,
    say: Say,
) -> Iterator[_Priced]:
    """The plan that there is, where it has a price, and the cheapest for each of the loads."""
    known = set()
    lowest = _at(problem, levels[0])
    present = Trials(lowest).look_at_current()
    if present is not None:
        cost = cost_of(problem, present)[0] if market is None else market.price_now(present.plan)
        if cost is not None:
            known.add(canonical_form(present.plan))
            yield _Priced(judged=judge.judge(lowest, present), cost=cost)
    for number, level in enumerate(levels, start=1):
        say(f"looking for a plan for {level:.0f} tuples/s, {number} of {len(levels)}")
        found = _find_plan(_at(problem, level), judge, sure, market)
        form = canonical_form(found.judged.trial.plan)
        if form not in known:
            known.add(form)
            yield found


def _find_plan(problem: Problem, judge: Judge, sure: float, market: Market | None) -> _Priced:
    """The cheapest plan for one load; the nearest where none meets the objective."""
    if market is not None:
        bought = find_cheapest_plans(problem, judge, sure, market)[1][0]
        return _Priced(judged=bought.judged, cost=bought.purchase.price)
    found, best = aim(problem, judge, sure)
    if best is None:
        if found.nearest.schedule is None:
            raise Infeasible(found.nearest.refused)
        best = judge.judge(problem, found.nearest)
    return _Priced(judged=best, cost=cost_of(problem, best.trial)[0])


def _rate(problem: Problem, found: _Priced, judge: Judge, loads: NDArray[np.float64]) -> RatedPlan:
    """How likely a plan meets the objective at each step, over all loads that may then come."""
    highest = found.judged.prediction.limit.per_second
    low, high = max(float(loads.min()), 1e-3 * float(loads.max())), float(loads.max())
    near = [part * highest for part in NEAR_FULL if low < part * highest < high]
    grid = sorted({*np.geomspace(low, high, POINTS).tolist(), *near})
    odds = []
    for per_second in grid:
        here = _at(problem, per_second)
        again = judge.judge(here, found.judged.trial)
        odds.append(float(meets(here, again)) if math.isnan(again.odds) else again.odds)
    return RatedPlan(
        cost=found.cost,
        highest=highest,
        odds=np.interp(loads, grid, odds).mean(axis=1),
    )
