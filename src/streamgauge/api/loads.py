"""``--load``: what a plan is to be predicted under, by what its sources emitted or will emit.

``mean``, ``median`` and percentiles are of the windows of a history, ``peak`` is the 99th of them,
and ``forecast+1h@p95`` the 95th percentile of what is forecast in an hour. Every source is taken at
its own percentile, so that of several sources together the load is no lower than that percentile of
their sum would be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from streamgauge.api.histories import ALL_SOURCES, History, HistoryPlace, read_length
from streamgauge.api.rates import OPTION, Rates, list_rates
from streamgauge.api.simulator import Say, stay_silent
from streamgauge.drawing.wording import format_number, format_period, format_share, name_percentile
from streamgauge.errors import InvalidInput, NotEnoughData, suggest_name

if TYPE_CHECKING:
    from streamgauge.profile.profile import Profile
    from streamgauge.topology.topology import Topology
    from streamgauge.traffic.series import TrafficSeries

PLACE = "--load"
FORMS = "mean, median, peak, p95, forecast+1h, forecast+1h@p95 or forecast..24h"
WORDS = ("mean", "median", "peak", "forecast")
MEDIAN, PEAK = 0.5, 0.99
# Ends of the band of a forecast that goes into intervals, which are of 90 %, too.
BAND = (0.05, 0.95)
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")
_FORECAST = re.compile(r"forecast(\+|\.\.)([^@]+)(?:@(.+))?")
# A history whose mean is so many times what was measured, or less, is likely of another unit.
STRANGE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadWish:
    """Which load is asked for.

    Attributes:
        text: As it was given.
        level: Which percentile, as a part of one; None for the mean, or what is expected.
        ahead_seconds: How far ahead it is forecast; None where it is of the history.
        is_range: Whether all that is forecast until then is meant.
    """

    text: str
    level: float | None = None
    ahead_seconds: float | None = None
    is_range: bool = False

    @classmethod
    def parse(cls, text: str) -> LoadWish:
        """What a text asks for.

        Raises:
            InvalidInput: It is none of the forms.
        """
        told = text.strip().lower()
        if found := _FORECAST.fullmatch(told):
            between, length, percentile = found.groups()
            if between == ".." and percentile is not None:
                raise _refuse(text, "a range is of the band: forecast..24h")
            ahead = read_length(length, PLACE)
            level = None if percentile is None else _read_level(percentile, text)
            return cls(text=told, level=level, ahead_seconds=ahead, is_range=between == "..")
        return cls(text=told, level=_read_level(told, text))


def _read_level(word: str, text: str) -> float | None:
    """The percentile that a word names, as a part of one; None for the mean."""
    if word == "mean":
        return None
    named = {"median": MEDIAN, "peak": PEAK}
    if word in named:
        return named[word]
    found = _PERCENTILE.fullmatch(word)
    level = 0.0 if found is None else float(found[1]) / 100.0
    if not 0.0 < level < 1.0:
        raise _refuse(text, suggest_name(word, WORDS))
    return level


def _refuse(text: str, remedy: str) -> InvalidInput:
    return InvalidInput.single((PLACE,), seen=repr(text), expected=FORMS, remedy=remedy)


class SourceLoad(NamedTuple):
    """The load of one source, or of all together.

    Attributes:
        low: Where the band of a forecast begins; the load itself where it is no forecast.
        high: Where it ends.
    """

    per_second: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLoad:
    """A load, and where it comes from.

    Attributes:
        sources: By source, or of all together.
        origin: In words: ``p99 of 1,440 windows of 1 min of the profile's own history``.
        is_expected: Whether it is what is expected, so that its band belongs to the answer.
        cautions: What a reader must not overlook.
    """

    sources: Mapping[str, SourceLoad]
    origin: str
    is_expected: bool = False
    cautions: tuple[str, ...] = ()

    @property
    def rates(self) -> Rates:
        """As other questions take them."""
        return self._rates("per_second")

    @property
    def ends(self) -> tuple[Rates, Rates]:
        """The same at both ends of the band."""
        return self._rates("low"), self._rates("high")

    def _rates(self, end: str) -> Rates:
        found = {name: float(getattr(one, end)) for name, one in self.sources.items()}
        return found.get(ALL_SOURCES, found)


def find_load(
    load: str,
    place: HistoryPlace,
    topology: Topology,
    profile: Profile | None,
    say: Say = stay_silent,
) -> FoundLoad:
    """The load that a text asks for.

    Args:
        load: As in `LoadWish.parse`.
        place: Where the history of the sources is.
        topology: Whose sources.
        profile: What was measured of them, where anything was.
        say: Gets progress messages.

    Raises:
        InvalidInput: The text asks for nothing that is known, or a series is of no source.
        NotEnoughData: The history is too short.
    """
    wish = LoadWish.parse(load)
    has_own = place.series is None and place.lake is None
    if has_own and profile is not None and wish.level is None and wish.ahead_seconds is None:
        # The mean of the very minutes that behaviours were measured in.
        found = _take_measured_mean(profile)
        if found is not None:
            return found
    history = place.read(topology, profile, say)
    if wish.ahead_seconds is not None:
        return _forecast(wish, history, profile)
    return _take_windows(wish, history, profile)


def resolve_load(
    load: str | None,
    rate: Rates,
    place: HistoryPlace,
    topology: Topology,
    profile: Profile | None,
    say: Say = stay_silent,
) -> tuple[Rates, FoundLoad | None]:
    """The rates to predict under, and the load that they were found by.

    Args:
        load: As in `find_load`; None where rates are given, or nothing is.
        rate: Rates that are given.
        place: Where the history of the sources is.
        topology: Whose sources.
        profile: What was measured of them, where anything was.
        say: Gets progress messages.

    Raises:
        InvalidInput: Both are given, or a history that no load asks for.
    """
    if load is not None and LoadWish.parse(load).is_range:
        raise _refuse(load, "a range is for `predict` alone, or sg.load_curve")
    if load is None:
        if place.series is not None:
            raise InvalidInput.single(
                ("--series",), seen=f"--series without {PLACE}", expected=f"{PLACE}: {FORMS}"
            )
        return rate, None
    if list_rates(rate):
        raise InvalidInput.single(
            (PLACE,), seen=f"both {PLACE} and {OPTION}", expected="one of them"
        )
    found = find_load(load, place, topology, profile, say)
    return found.rates, found


def _take_measured_mean(profile: Profile) -> FoundLoad | None:
    from streamgauge.models.measured_plan import measured_workload

    try:
        emissions = measured_workload(profile).emissions
    except NotEnoughData:
        return None
    totals: dict[str, float] = {}
    for one in emissions:
        totals[one.source] = totals.get(one.source, 0.0) + (one.per_second or 0.0)
    sources = {name: SourceLoad(rate, rate, rate) for name, rate in totals.items() if rate > 0.0}
    return FoundLoad(sources=sources, origin="mean of what was measured") if sources else None


def _take_windows(wish: LoadWish, history: History, profile: Profile | None) -> FoundLoad:
    """A figure of the windows of a history."""
    import numpy as np

    sources: dict[str, SourceLoad] = {}
    grids = {name: rows.make_series() for name, rows in history.series.items()}
    for name, grid in grids.items():
        known = grid.values[np.isfinite(grid.values)]
        value = known.mean() if wish.level is None else np.quantile(known, wish.level)
        sources[name] = _check_rate(name, float(value), float(value), float(value))
    first = next(iter(grids.values()))
    figure = "mean" if wish.level is None else name_percentile(wish.level)
    if wish.text == "peak":
        figure = f"peak, the {figure}"
    return FoundLoad(
        sources=sources,
        origin=f"{figure} of {first.observed:,} windows of {format_period(first.step_seconds)} of"
        f" {history.origin}",
        cautions=(*history.cautions, *doubt_unit(history, profile), *_list_warnings(grids)),
    )


def _forecast(wish: LoadWish, history: History, profile: Profile | None) -> FoundLoad:
    from streamgauge.traffic.forecast import Wish, forecast

    assert wish.ahead_seconds is not None
    levels = sorted({*BAND, MEDIAN, *([] if wish.level is None else [wish.level])})
    asked = Wish(horizon_seconds=wish.ahead_seconds, probabilities=tuple(levels))
    sources: dict[str, SourceLoad] = {}
    grids: dict[str, TrafficSeries] = {}
    cautions = list(history.cautions)
    for name, rows in history.series.items():
        grids[name] = rows.make_series()
        made = forecast(grids[name], asked)
        cautions += made.cautions
        low, high = (made.quantile(level) for level in BAND)
        if wish.is_range:
            ends = (float(low.min()), float(high.max()))
            sources[name] = _check_rate(name, float(made.middle[-1]), *ends)
            continue
        at = made.middle if wish.level is None else made.quantile(wish.level)
        sources[name] = _check_rate(name, float(at[-1]), float(low[-1]), float(high[-1]))
    ahead = format_period(wish.ahead_seconds)
    figure = "expected" if wish.level is None else f"{name_percentile(wish.level)} of what may come"
    what = f"forecast of the next {ahead}" if wish.is_range else f"{figure} in {ahead}"
    return FoundLoad(
        sources=sources,
        origin=f"{what} by {history.origin}; {format_share(BAND[1] - BAND[0])} between"
        f" {_show_band(sources.values())}",
        is_expected=wish.level is None,
        cautions=tuple(
            dict.fromkeys((*cautions, *doubt_unit(history, profile), *_list_warnings(grids)))
        ),
    )


def _show_band(loads: Iterable[SourceLoad]) -> str:
    """``100 and 140 tuples/s``, of all sources together."""
    known = list(loads)
    low, high = sum(one.low for one in known), sum(one.high for one in known)
    return f"{format_number(low)} and {format_number(high)} tuples/s"


def _check_rate(name: str, value: float, low: float, high: float) -> SourceLoad:
    """A load that sources can emit.

    Raises:
        NotEnoughData: It is nothing.
    """
    if value <= 0.0:
        who = f"source {name}" if name else "the sources"
        raise NotEnoughData(
            f"nothing comes of {who} at that load: 0 tuples/s; expected a load above zero"
        )
    # The band may begin at nothing, which is no rate.
    return SourceLoad(value, max(low, value * 1e-3), max(high, value))


def doubt_unit(history: History, profile: Profile | None) -> list[str]:
    """A caution where the history is far off what was measured."""
    import numpy as np

    measured = None if profile is None else _take_measured_mean(profile)
    if measured is None:
        return []
    emitted = sum(one.per_second for one in measured.sources.values())
    mean = sum(float(np.nanmean(rows.values)) for rows in history.series.values())
    if mean < 1e-9 or 1.0 / STRANGE <= mean / emitted <= STRANGE:
        return []
    return [
        f"The history's mean is {format_number(mean)} and the profile's {format_number(emitted)}"
        " tuples/s: is the history in tuples per second?"
    ]


def _list_warnings(grids: Mapping[str, TrafficSeries]) -> list[str]:
    return [f"{warning}." for grid in grids.values() for warning in grid.warnings]


def is_load_range(load: str | None) -> bool:
    """Whether a load is a range: all that is forecast until then."""
    return load is not None and LoadWish.parse(load).is_range
