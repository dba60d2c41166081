"""`sg.outlook`: when a plan will not keep up with what is forecast, and whether there is time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.api.histories import History, HistoryPlace, LengthLike, read_length
from streamgauge.api.intervals import (
    ParameterNoise,
    PlanDraws,
    choose_errors,
    warn_of_noise,
)
from streamgauge.api.load_curve import choose_sure
from streamgauge.api.loading import (
    ChosenProfile,
    PlanLike,
    ProfileLike,
    choose_profile,
    load_plan,
    topology_of,
)
from streamgauge.api.loads import doubt_unit
from streamgauge.api.predict import propose
from streamgauge.api.rates import apply_rates
from streamgauge.api.simulator import Say, stay_silent
from streamgauge.errors import InvalidInput, NotEnoughData, in_file
from streamgauge.extras import require_extra
from streamgauge.models.intervals import Key
from streamgauge.models.load_curve import LoadCurve, LoadLine, find_load_curve
from streamgauge.models.model_error import Kind
from streamgauge.models.outlook import (
    PROBABILITIES,
    Capability,
    LeadTime,
    Objective,
    OutlookWish,
    find_risks,
    group_mixes,
)
from streamgauge.reports.outlook import OutlookReport

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamgauge.api.predict import Proposal
    from streamgauge.models.model_error import ModelErrors
    from streamgauge.topology.workload import Workload
    from streamgauge.traffic.forecast import Forecast, Wish

# From this probability of a step on, trouble is expected: the answer is bad news.
CHANCE = 0.5
# A plan is found in seconds, its profile in less than two minutes.
MODELLING_SECONDS = 120.0
# Storm waits 30 s (topology.message.timeout.secs) before it moves executors; then workers start.
RESCALING_SECONDS = 90.0
ASSUMED = "assumed: no rebalance was measured"
# Loads at which a plan is predicted, and by how much beyond what is forecast.
POINTS, MARGIN = 16, 1.1
# Of these, how many tell how sure latency is.
SURE_POINTS = 3
# Shares of sources that differ less are taken as the same.
SAME_MIX = 0.05
LATENCY = "source to sink"
# Probabilities of the band that is shown.
SHOWN = (0.05, 0.5, 0.95)


def read_wish(
    horizon: LengthLike,
    objective: str | None,
    chance: float,
    step: LengthLike | None,
    history: LengthLike | None,
    timezone: str | None,
    modelling: LengthLike | None,
    rescaling: LengthLike | None,
) -> OutlookWish:
    """The wish that people give as texts.

    Raises:
        InvalidInput: One of them is none.
    """
    if not 0.0 < chance < 1.0:
        raise InvalidInput.single(
            ("--chance",), seen=f"{chance:g}", expected="a probability between 0 and 1"
        )

    def read(length: LengthLike | None, place: str) -> float | None:
        return None if length is None else read_length(length, place)

    found = read(modelling, "--modelling")
    return OutlookWish(
        horizon_seconds=read_length(horizon, "--horizon"),
        objective=None if objective is None else Objective.parse(objective),
        chance=chance,
        step_seconds=read(step, "--forecast-step"),
        history_seconds=read(history, "--history"),
        timezone=timezone,
        modelling_seconds=MODELLING_SECONDS if found is None else found,
        rescaling_seconds=read(rescaling, "--rescaling"),
    )


def _forecast_wish(wish: OutlookWish, probabilities: Sequence[float]) -> Wish:
    """The same as forecasts take it."""
    from streamgauge.traffic.forecast import Wish

    return Wish(
        horizon_seconds=wish.horizon_seconds,
        history_seconds=wish.history_seconds,
        step_seconds=wish.step_seconds,
        probabilities=tuple(probabilities),
        zone=wish.timezone,
    )


def outlook(
    profile: ProfileLike | None = None,
    plan: PlanLike | None = None,
    *,
    horizon: LengthLike = "24h",
    objective: str | None = None,
    series: str | Path | None = None,
    lake: str | None = None,
    topology: str | None = None,
    step: str | None = None,
    chance: float = CHANCE,
    forecast_step: LengthLike | None = None,
    history: LengthLike | None = None,
    timezone: str | None = None,
    modelling: LengthLike | None = None,
    rescaling: LengthLike | None = None,
    residuals: str | Path | None = None,
    say: Say = stay_silent,
) -> OutlookReport:
    """When a plan saturates or misses its objective under what is forecast, and how likely.

    Args:
        profile: What was measured: a file or a profile; the newest of the lake when not given.
        plan: The plan: a job file, a job, or a physical plan; the profile's own when not given.
        horizon: How far ahead, in seconds or as ``24h``.
        objective: What latency from source to sink must stay below: ``p99<50ms``.
        series: A CSV file of source rates; the lake's or the profile's own history if not given.
        lake: A lake that measured the source rates, and how long rebalances took.
        topology: With `lake`: the topology's name there; that of the profile when not given.
        step: Configure the plan as in this step of its file.
        chance: From which probability of a step on trouble is expected.
        forecast_step: Length of a step of the forecast, as values are apart by default.
        history: How much of the past may count; all by default.
        timezone: Whose days repeat, such as ``Europe/Berlin``; UTC's by default.
        modelling: How long it takes to find a better plan; two minutes by default.
        rescaling: How long it takes until it runs; as rebalances in the lake did by default.
        residuals: Judged errors of models on other jobs, a file.
        say: Gets progress messages for long steps.

    Raises:
        NotEnoughData: The history is too short for the horizon, or there is none.
        StreamgaugeError: What was given cannot be read, or is wrong.
    """
    wish = read_wish(
        horizon, objective, chance, forecast_step, history, timezone, modelling, rescaling
    )
    planned = None if plan is None else load_plan(plan, step)
    chosen = choose_profile(profile, lake if profile is None else None, topology, planned)
    place = HistoryPlace.choose(series, lake, topology)
    known = topology_of(chosen, planned)
    past = place.read(known, chosen.profile, say)
    with in_file(str(plan or profile or "")):
        proposal = propose(chosen, planned, None)
    lead = find_lead_time(wish, lake, topology or known.name)
    warnings = (*(() if planned is None else planned.warnings), *chosen.warnings)
    return look_ahead(
        chosen, proposal, past, wish, lead, errors=choose_errors(residuals), warnings=warnings
    )


def look_ahead(
    chosen: ChosenProfile,
    proposal: Proposal,
    past: History,
    wish: OutlookWish,
    lead: LeadTime,
    *,
    errors: ModelErrors,
    warnings: Sequence[str] = (),
) -> OutlookReport:
    """The outlook of a plan, once everything is read.

    Args:
        chosen: What was measured.
        proposal: The plan.
        past: What sources emitted.
        wish: What is asked for.
        lead: How long it takes to act.
        errors: Of models.
        warnings: What was assumed before.
    """
    total, shares = forecast_sources(past, wish)
    places = [total.probabilities.index(one) for one in PROBABILITIES]
    loads = total.quantiles[:, places]
    if loads.max() <= 0.0:
        raise NotEnoughData(
            f"{past.origin}: nothing is expected to come; expected rates above zero"
        )
    chosen_steps, which = group_mixes(shares, SAME_MIX)
    noise = ParameterNoise.of(chosen.profile, chosen.folder)
    curves, capabilities = [], []
    for at in chosen_steps:
        workload = mix_workload(proposal.workload, past, shares[at])
        line = draw_line(workload, loads[which == which[at]])
        curve = find_load_curve(chosen.behaviour, proposal.plan, line, POINTS)
        curves.append(curve)
        capabilities.append(rate_plan(curve, proposal, noise, errors, wish.objective))
    risks = find_risks(loads, capabilities, which, wish.objective, total.series.step_seconds)
    cautions = [*past.cautions, *total.cautions, *doubt_unit(past, chosen.profile)]
    if noise.reason:
        cautions.append(f"Probabilities are of the model's errors alone: {noise.reason}.")
    return OutlookReport(
        name=proposal.name,
        plan=proposal.plan,
        history=past.origin,
        profile=chosen.origin,
        wish=wish,
        forecast=total,
        curves=tuple(curves),
        capabilities=tuple(capabilities),
        which=which,
        risks=risks,
        lead=lead,
        cautions=tuple(dict.fromkeys(cautions)),
        warnings=(*warnings, *total.series.warnings, *warn_of_noise([noise])),
    )


def forecast_sources(past: History, wish: OutlookWish) -> tuple[Forecast, NDArray[np.float64]]:
    """What is forecast of all sources together, and the share of each source at each step.

    The band is that of the total, which is not the sum of bands: sources do not peak together.
    """
    from streamgauge.traffic.forecast import forecast

    levels = sorted({*PROBABILITIES, *SHOWN})
    total = forecast(past.total().make_series(wish.step_seconds), _forecast_wish(wish, levels))
    steps = len(total.middle)
    if len(past.series) == 1:
        return total, np.ones((steps, 1))
    each = [
        forecast(rows.make_series(wish.step_seconds), _forecast_wish(wish, (0.5,))).middle
        for rows in past.series.values()
    ]
    shortest = min(steps, *(len(one) for one in each))
    emitted = np.stack([one[:shortest] for one in each], axis=1)
    emitted = np.concatenate([emitted, np.repeat(emitted[-1:], steps - shortest, axis=0)])
    sums = emitted.sum(axis=1, keepdims=True)
    even = np.full_like(emitted, 1.0 / len(each))
    return total, np.divide(emitted, sums, out=even, where=sums > 0.0)


def mix_workload(workload: Workload, past: History, shares: NDArray[np.float64]) -> Workload:
    """The workload with sources in other proportions, all together one tuple a second."""
    names = [name for name in past.series if name]
    if not names:
        return workload.at_rate(1.0)
    least = 1e-6
    return apply_rates(
        workload,
        {name: max(float(share), least) for name, share in zip(names, shares, strict=True)},
    )


def draw_line(workload: Workload, loads: NDArray[np.float64]) -> LoadLine:
    """From the least to somewhat more than the most that is forecast."""
    high = float(loads.max()) * MARGIN
    low = min(max(float(loads.min()), high / 1e3), high / 2.0)
    return LoadLine(low=workload.at_rate(low), high=workload.at_rate(high))


def rate_plan(
    curve: LoadCurve,
    proposal: Proposal,
    noise: ParameterNoise,
    errors: ModelErrors,
    objective: Objective | None,
) -> Capability:
    """What the plan can do along a curve, with how sure that is."""
    figure = "p99" if objective is None else objective.figure
    sure = choose_sure(curve, SURE_POINTS) or [0]
    drawn = {
        place: PlanDraws(
            prediction=curve.points[place].prediction,
            plan=proposal.plan,
            workload=curve.points[place].workload,
            noise=noise,
            errors=errors,
        )
        # Only the last point that fits says how sure the highest rate is.
        for place in (sure if objective is not None else sure[-1:])
    }
    reaches = {
        place: find_reach(one, Key("latency", LATENCY, figure), Kind.PERCENTILE)
        for place, one in drawn.items()
    }
    rates = np.asarray([point.per_second for point in curve.points])
    known = sorted(reaches)
    return Capability(
        rates=rates,
        latency=np.asarray([_find_latency(curve, place, figure) for place in range(len(rates))]),
        latency_reach=np.interp(rates, rates[known], [reaches[place] for place in known]),
        saturation=curve.saturation,
        saturation_reach=find_reach(
            drawn[known[-1]], Key("job", "", "headroom"), Kind.HIGHEST_RATE
        ),
    )


def find_reach(drawn: PlanDraws, key: Key, kind: Kind) -> float:
    """Half-width of a figure's interval without the chance of one window; zero where not known."""
    found = drawn.find_intervals().figures.get(key)
    parts = [drawn.find_model_width(kind)]
    if found is not None:
        parts = [found.parameters, found.model]
    return float(np.sqrt(np.nansum(np.square(parts))))


def _find_latency(curve: LoadCurve, place: int, figure: str) -> float:
    prediction = curve.points[place].prediction
    if prediction.overloaded:
        return float("inf")
    latency = prediction.latency
    if figure == "mean":
        return latency.mean
    return latency.quantiles.get(float(figure[1:]) / 100.0, float("inf"))


def find_lead_time(wish: OutlookWish, lake: str | None, topology: str) -> LeadTime:
    """How long it takes to act: as given, as rebalances in the lake took, or assumed."""
    if wish.rescaling_seconds is not None:
        return LeadTime(
            modelling_seconds=wish.modelling_seconds,
            rescaling_seconds=wish.rescaling_seconds,
            origin="as given",
        )
    measured = [] if lake is None else _learn_rescaling(lake, topology)
    if measured:
        times = "rebalance" if len(measured) == 1 else "rebalances"
        return LeadTime(
            modelling_seconds=wish.modelling_seconds,
            rescaling_seconds=float(np.median(measured)),
            origin=f"median of {len(measured)} {times} in the lake",
        )
    return LeadTime(
        modelling_seconds=wish.modelling_seconds,
        rescaling_seconds=RESCALING_SECONDS,
        origin=ASSUMED,
    )


def _learn_rescaling(lake: str, topology: str) -> list[float]:
    with require_extra("lake"):
        from streamgauge.lake.rebalances import rebalance_seconds
        from streamgauge.lake.tables import Lake, readable
    source = Lake(lake)
    with readable(source.uri):
        return rebalance_seconds(source, topology)
