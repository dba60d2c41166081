"""Intervals of predicted figures: parameters, model and sampling, apart and together.

Everything is in logarithms, as times and rates are above zero and errors are parts of them: an
interval of half-width h around f reaches from f·e⁻ʰ to f·eʰ. The three parts are independent, so
their half-widths add up as squares. Under a load that is forecast, what the load may be is a fourth
part, with a width to each side, since queues grow faster above the expected load than they shrink
below it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.model_error import CROWDED, LOADED, Kind, Regime
from streamgauge.models.parameter_noise import Draws
from streamgauge.models.prediction import Prediction
from streamgauge.topology.frozen import FrozenDict

LEVEL = 0.9
TAIL = (1.0 - LEVEL) / 2.0
# Standard deviations from the middle of a normal distribution to the end of the interval.
REACH = NormalDist().inv_cdf(0.5 + LEVEL / 2.0)
# What grows without bound where a plan is overloaded.
ENDLESS = frozenset({Kind.MEAN, Kind.PERCENTILE, Kind.COMPLETE})


class Key(NamedTuple):
    """Which figure: as in the long table of a report."""

    subject: str
    name: str
    figure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Where a measured figure lies with probability `LEVEL`.

    Attributes:
        low: Its lower end; NaN where it is not known.
        high: Its upper end; infinite where overload is not unlikely.
        parameters: Half-width by the chance of what was measured, as a logarithm: 0.1 is ± 10 %;
            NaN where it is not known.
        model: The same by what models get wrong.
        sampling: The same by the chance of the window that would be measured.
        load: The same by what the load may be where it is forecast, to the farther side.
    """

    low: float
    high: float
    parameters: float
    model: float
    sampling: float
    load: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether both ends are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """The intervals of a prediction.

    Attributes:
        window_seconds: How long the window would be that is measured.
        figures: By figure.
        overload: Probability that the plan would not carry its load; NaN where it is not known.
        origin: Where the errors of models come from.
        unknown: Why intervals are not known; empty where they are.
    """

    window_seconds: float
    figures: Mapping[Key, Interval] = field(default_factory=FrozenDict)
    overload: float = math.nan
    origin: str = ""
    unknown: str = ""

    def of(self, subject: str, name: str, figure: str) -> Interval | None:
        """The interval of a figure; None where it has none, or it is not known."""
        found = self.figures.get(Key(subject, name, figure))
        return found if found is not None and found.is_known else None

    def without(self, unwanted: Callable[[Key], bool]) -> Intervals:
        """The same without some figures."""
        kept = {key: one for key, one in self.figures.items() if not unwanted(key)}
        return replace(self, figures=kept)


def find_regime(prediction: Prediction, *, windowed: bool) -> Regime:
    """What a model's errors depend on."""
    busiest = max((one.utilisation for one in prediction.executors), default=0.0)
    return Regime(
        windowed=windowed,
        crowded=any(one.in_use >= CROWDED for one in prediction.machines),
        loaded=busiest >= LOADED,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """A figure as predicted and as each draw has it, what kind it is, and how it scatters.

    Attributes:
        value: From the profile as it is.
        drawn: From each draw; infinite where it is overloaded, NaN where it says nothing. None
            where there are no draws.
        scatter: Standard deviation in a window, as a part.
        lower: How far below it is at an end of the load's band, as a logarithm.
        higher: How far above it is at the other; infinite where that is overload.
    """

    value: float
    drawn: NDArray[np.float64] | None
    kind: Kind
    scatter: float
    lower: float = 0.0
    higher: float = 0.0


def find_interval(
    figure: Predicted,
    draws: Draws | None,
    model: float,
    overload: float,
) -> Interval:
    """The interval of one figure.

    Args:
        figure: What is known of it.
        draws: The design by which it was drawn.
        model: Half-width of the model's error.
        overload: Probability that the plan is overloaded, which makes times infinite.
    """
    sampling = REACH * figure.scatter
    drawn = figure.drawn
    endless = figure.kind in ENDLESS and (
        overload > TAIL or (drawn is not None and bool(np.isinf(drawn).any()))
    )
    parameters = math.nan
    if draws is not None and figure.drawn is not None and figure.value > 0.0:
        parameters = find_parameter_width(figure, draws, endless=endless)
    low, high = _combine(figure, (parameters, model, sampling), overload, endless=endless)
    return Interval(
        low=low,
        high=high,
        parameters=parameters,
        model=model,
        sampling=sampling,
        load=max(figure.lower, figure.higher),
    )


def find_parameter_width(figure: Predicted, draws: Draws, *, endless: bool) -> float:
    """Half-width by the chance of what was measured.

    Args:
        figure: With what draws say.
        draws: Their design.
        endless: Whether it may grow without bound, so that only its lower end is asked for.
    """
    assert figure.drawn is not None
    drawn = figure.drawn
    if np.isnan(drawn).any() or (drawn <= 0.0).any() or not math.isfinite(figure.value):
        return math.nan
    apart = np.log(drawn / figure.value)
    if endless:
        # Draws that come near overload, or beyond, say nothing of how far down it may go.
        apart = np.minimum(apart, -float(apart.min(initial=0.0)))
    return draws.half_width(apart, LEVEL) if np.isfinite(apart).all() else math.nan


def _combine(
    figure: Predicted, widths: Sequence[float], overload: float, *, endless: bool
) -> tuple[float, float]:
    """Both ends of an interval."""
    if math.isinf(figure.value):
        drawn = np.zeros(0) if figure.drawn is None else figure.drawn
        fitting = drawn[np.isfinite(drawn)]
        may_fit = len(fitting) > 0 and not overload > 1.0 - TAIL
        return (float(fitting.min()) if may_fit else figure.value), figure.value
    if not figure.value > 0.0 or any(map(math.isnan, widths)):
        return math.nan, math.nan
    low = figure.value * math.exp(-math.hypot(*widths, figure.lower))
    high = figure.value * math.exp(math.hypot(*widths, figure.higher))
    return low, math.inf if endless else high


def find_overload(headroom: float, reach: float) -> float:
    """Probability that a plan cannot carry its load.

    Args:
        headroom: How many times the load fits.
        reach: Half-width of the interval of that, as a logarithm.
    """
    if not headroom > 0.0:
        return 1.0 if headroom == 0.0 else math.nan
    if math.isinf(headroom):
        return 0.0
    if math.isnan(reach) or reach <= 0.0:
        return math.nan
    return NormalDist().cdf(-math.log(headroom) * REACH / reach)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How far a figure of one plan is from that of another.

    Attributes:
        apart: ln(one / other); infinite where one of them is overloaded.
        reach: Half-width of the interval of that; NaN where it is not known.
    """

    apart: float
    reach: float

    @property
    def is_certain(self) -> bool:
        """Whether the plans differ beyond the interval."""
        return abs(self.apart) > self.reach


def find_difference(
    one: Predicted, other: Predicted, draws: Draws | None, model: float
) -> Difference:
    """How far one plan is from another, by a figure.

    Draws are paired: the same profile for both plans. Both windows scatter. A model's error is
    taken once: of two plans of one job it is alike for the larger part.
    """
    with np.errstate(all="ignore"):
        apart = float(np.log(one.value) - np.log(other.value))
        drawn = None
        if one.drawn is not None and other.drawn is not None:
            drawn = np.log(one.drawn) - np.log(other.drawn)
    if draws is None or drawn is None or not np.isfinite(drawn).all():
        return Difference(apart=apart, reach=math.nan)
    scatters = (REACH * one.scatter, REACH * other.scatter)
    reach = math.hypot(draws.half_width(drawn, LEVEL), model, *scatters)
    return Difference(apart=apart, reach=reach)
