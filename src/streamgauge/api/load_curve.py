"""`sg.load_curve`: a plan under a range of loads, with the rate where it saturates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamgauge.api.histories import HistoryPlace
from streamgauge.api.intervals import PlanDraws, choose_errors, find_noise, warn_of_noise
from streamgauge.api.loading import (
    ChosenProfile,
    PlanLike,
    ProfileLike,
    choose_profile,
    load_plan,
    topology_of,
)
from streamgauge.api.loads import PLACE, find_load
from streamgauge.api.predict import AS_GIVEN, propose
from streamgauge.api.rates import OPTION, Rates, apply_rates, list_rates
from streamgauge.api.simulator import Say, stay_silent
from streamgauge.errors import InvalidInput, in_file
from streamgauge.models.intervals import Intervals
from streamgauge.models.load_curve import LoadCurve, LoadLine, find_load_curve, total_rate
from streamgauge.reports.load_curve import LoadCurveReport
from streamgauge.topology.workload import Workload

POINTS, LEAST_POINTS, MOST_POINTS = 12, 2, 200
# Intervals take half a second each: so many points of a curve have them.
POINTS_WITH_INTERVALS = 6
_RANGE = re.compile(r"(?:(.+)=)?([^=]*?)\.\.([^=/]*)(?:/(.*))?")
FORM = "LOW..HIGH or LOW..HIGH/POINTS, such as 50..500/10, or SOURCE=LOW..HIGH"


def load_curve(
    profile: ProfileLike | None = None,
    plan: PlanLike | None = None,
    *,
    rate: Rates = None,
    load: str | None = None,
    series: str | Path | None = None,
    points: int | None = None,
    step: str | None = None,
    lake: str | None = None,
    topology: str | None = None,
    intervals: bool = True,
    residuals: str | Path | None = None,
    say: Say = stay_silent,
) -> LoadCurveReport:
    """Latency, CPU and verdict of a plan over a range of loads, denser where it saturates.

    Args:
        profile: What was measured: a file or a profile; what the plan's job declares if not given.
        plan: The plan: a job file, a job, or a physical plan; the profile's own when not given.
        rate: ``50..500``, ``50..500/10`` for ten points, or ``SOURCE=50..500`` where the other
            sources stay as they are.
        load: Instead of a rate: ``forecast..24h``, from the least to the most that is forecast.
        series: With `load`: a CSV file of source rates.
        points: How many loads; as `rate` says, or 12.
        step: Configure the plan as in this step of its file.
        lake: Instead of `profile`: a lake with profiles; with `load`, its history counts.
        topology: With `lake`: the topology's name there.
        intervals: Whether some of the points get their 90 % intervals.
        residuals: Judged errors of models on other jobs, a file.
        say: Gets progress messages for long steps.

    Raises:
        StreamgaugeError: What was given cannot be read, is wrong, or says too little.
    """
    ranges, others = list(_parse_ranges(rate)), _list_single(rate)
    told = _check_points(next((one.points for one in ranges if one.points is not None), points))
    planned = None if plan is None else load_plan(plan, step)
    chosen = choose_profile(profile, lake if profile is None else None, topology, planned)
    cautions: tuple[str, ...] = ()
    origin = AS_GIVEN
    with in_file(str(plan or profile or "")):
        proposal = propose(chosen, planned, others or None)
        if load is not None:
            line, origin, cautions = _forecast_line(
                load, rate, HistoryPlace.choose(series, lake, topology), chosen, proposal.workload
            )
        else:
            line = _draw_line(ranges, proposal.workload)
        curve = find_load_curve(chosen.behaviour, proposal.plan, line, told)
    sure: dict[int, Intervals] = {}
    reason: list[str] = []
    if intervals:
        say("finding intervals")
        noise = find_noise(chosen, curve.points[0].prediction)
        reason = list(warn_of_noise([noise]))
        for place in choose_sure(curve):
            point = curve.points[place]
            sure[place] = PlanDraws(
                prediction=point.prediction,
                plan=proposal.plan,
                workload=point.workload,
                noise=noise,
                errors=choose_errors(residuals),
            ).find_intervals()
    return LoadCurveReport(
        name=proposal.name,
        plan=proposal.plan,
        curve=curve,
        load=origin,
        profile=chosen.origin,
        intervals=sure,
        warnings=(
            *(() if planned is None else planned.warnings),
            *chosen.warnings,
            *cautions,
            *reason,
        ),
    )


def choose_sure(curve: LoadCurve, most: int = POINTS_WITH_INTERVALS) -> list[int]:
    """Places of the points that get intervals: some of those that fit, and the last one."""
    fitting = [place for place, one in enumerate(curve.points) if not one.prediction.overloaded]
    wanted = min(most, len(fitting))
    if wanted < 2:
        return fitting
    return sorted({fitting[round(at * (len(fitting) - 1) / (wanted - 1))] for at in range(wanted)})


@dataclass(frozen=True, slots=True)
class _Range:
    source: str
    low: float
    high: float
    points: int | None


def _parse_ranges(rate: Rates) -> Iterator[_Range]:
    for text in list_rates(rate):
        if ".." not in text:
            continue
        found = _RANGE.fullmatch(text)
        try:
            if found is None:
                raise ValueError
            source, low, high, points = found.groups()
            one = _Range(source or "", float(low), float(high), int(points) if points else None)
        except ValueError:
            raise _refuse(repr(text)) from None
        if not 0.0 < one.low < one.high < float("inf"):
            raise _refuse(f"{text!r}: from {one.low:g} to {one.high:g}")
        yield one


def _refuse(seen: str) -> InvalidInput:
    return InvalidInput.single(
        (OPTION,), seen=seen, expected=f"tuples per second above zero: {FORM}"
    )


def _list_single(rate: Rates) -> list[str]:
    return [text for text in list_rates(rate) if ".." not in text]


def _draw_line(ranges: Sequence[_Range], workload: Workload) -> LoadLine:
    if not ranges:
        raise InvalidInput.single((OPTION,), seen="no range", expected=FORM)
    lows, highs = (
        [
            f"{one.source}={getattr(one, end)!r}" if one.source else f"{getattr(one, end)!r}"
            for one in ranges
        ]
        for end in ("low", "high")
    )
    return LoadLine(low=apply_rates(workload, lows), high=apply_rates(workload, highs))


def _forecast_line(
    load: str, rate: Rates, place: HistoryPlace, chosen: ChosenProfile, workload: Workload
) -> tuple[LoadLine, str, tuple[str, ...]]:
    if list_rates(rate):
        raise InvalidInput.single(
            (PLACE,), seen=f"both {PLACE} and {OPTION}", expected="one of them"
        )
    found = find_load(load, place, topology_of(chosen, None), chosen.profile)
    low, high = (apply_rates(workload, end) for end in found.ends)
    if total_rate(low) >= total_rate(high):
        raise InvalidInput.single(
            (PLACE,),
            seen=f"{load!r}, which is forecast to stay the same",
            expected="a load that changes, or a single one: forecast+1h",
        )
    return LoadLine(low=low, high=high), found.origin, found.cautions


def _check_points(points: int | None) -> int:
    wanted = POINTS if points is None else points
    if not LEAST_POINTS <= wanted <= MOST_POINTS:
        raise InvalidInput.single(
            (OPTION,),
            seen=f"{wanted} points",
            expected=f"{LEAST_POINTS} to {MOST_POINTS} points",
        )
    return wanted
