"""Outlook: when a plan saturates or misses an objective under a load that is only forecast.

At each step ahead the load has a distribution, given by equally likely scenarios (quantiles at the
middles of equal parts), and what the plan can take has one, too: lognormal about the saturation
rate, with the half-width of its interval. The plan saturates where the load is above that:
P = Σ_i Φ(ln(load_i/saturation)/σ)/n. An objective on latency is missed with
Φ(ln(latency/objective)/σ) under each scenario, and surely no less likely than the plan saturates.

Errors of neighbouring steps are alike, and the model's is the same at all of them. How likely
trouble is at any time of the horizon therefore lies between the highest probability of a step and
their sum; the highest is told.

Pre-emptive scaling is possible where the trouble is further off than modelling and rescaling take
(Cooper 2020, section 3.6: τ_forecast > τ_model + τ_scale).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InvalidInput
from streamgauge.models.intervals import REACH

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

# Load scenarios of each step, and their probabilities.
SCENARIOS = 40
PROBABILITIES = tuple((2 * at + 1) / (2 * SCENARIOS) for at in range(SCENARIOS))
FIGURES = ("mean", "p50", "p90", "p95", "p99")
_OBJECTIVE = re.compile(r"\s*([a-z0-9]+)\s*<=?\s*(\d+(?:\.\d+)?)\s*(us|µs|ms|s)\s*")
_SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What latency from source to sink must stay below.

    Attributes:
        text: As it was given.
        figure: ``mean`` or a percentile.
        seconds: The bound.
    """

    text: str
    figure: str
    seconds: float

    @classmethod
    def parse(cls, text: str) -> Objective:
        """The objective of a text such as ``p99<50ms``.

        Raises:
            InvalidInput: It is none.
        """
        found = _OBJECTIVE.fullmatch(text.lower())
        if found is None or found[1] not in FIGURES or not float(found[2]) > 0.0:
            raise InvalidInput.single(
                ("--objective",),
                seen=repr(text),
                expected=f"one of {', '.join(FIGURES)}, < and a time: p99<50ms",
            )
        seconds = float(found[2]) * _SECONDS[found[3]]
        return cls(text=text.replace(" ", ""), figure=found[1], seconds=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlookWish:
    """What an outlook is asked for, beside whose.

    Attributes:
        horizon_seconds: How far ahead.
        objective: What latency must stay below, if anything.
        chance: From which probability of a step on trouble is expected.
        step_seconds: Length of a step of the forecast.
        history_seconds: How much of the past may count.
        timezone: Whose days repeat.
        modelling_seconds: How long it takes to find a better plan.
        rescaling_seconds: How long it takes to apply it; learned or assumed where not given.
    """

    horizon_seconds: float
    chance: float
    modelling_seconds: float
    objective: Objective | None = None
    step_seconds: float | None = None
    history_seconds: float | None = None
    timezone: str | None = None
    rescaling_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Capability:
    """What a plan can do under loads of the same proportions.

    Attributes:
        rates: Loads, ascending.
        latency: The objective's figure at each, in seconds; infinite where overloaded.
        latency_reach: Half-width of its interval, as a logarithm.
        saturation: The highest rate that is processed; infinite where nothing limits it.
        saturation_reach: Half-width of its interval, likewise; zero where it is not known.
    """

    rates: Vector
    latency: Vector
    latency_reach: Vector
    saturation: float
    saturation_reach: float

    def chance_of_saturation(self, parts: Matrix) -> Matrix:
        """The probability that a plan is full.

        Args:
            parts: Loads, as parts of the saturation rate.
        """
        with np.errstate(divide="ignore"):
            apart = np.log(np.maximum(parts, 0.0))
        return _exceed(apart, np.full_like(parts, self.saturation_reach))

    def chance_of_miss(self, loads: Matrix, objective: Objective) -> Matrix:
        """The probability that latency is above the objective under each of the loads."""
        reach = np.interp(loads, self.rates, self.latency_reach)
        return _exceed(np.log(self.latency_at(loads) / objective.seconds), reach)

    def latency_at(self, loads: Matrix) -> Matrix:
        """The objective's figure, between known loads by its logarithm; infinite beyond."""
        fits = np.isfinite(self.latency) & (self.latency > 0.0)
        if not fits.any():
            return np.full_like(loads, math.inf)
        found = np.exp(np.interp(loads, self.rates[fits], np.log(self.latency[fits])))
        highest = self.rates[fits][-1] if not fits.all() else math.inf
        return np.where(loads > max(highest, 0.0), math.inf, found)


def _exceed(apart: Matrix, reach: Matrix) -> Matrix:
    """Φ of how far something is above a bound; a step where nothing is uncertain."""
    from scipy import special

    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = apart * REACH / reach
    scaled = np.where(reach > 0.0, scaled, np.where(apart > 0.0, math.inf, -math.inf))
    return np.asarray(special.ndtr(scaled))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Risks:
    """How likely trouble is at each step.

    Attributes:
        saturates: That the plan is full, by step.
        misses: That it is, or that latency is above the objective.
        backlog: Tuples that wait at the end of each step, a column for each scenario.
    """

    saturates: Vector
    misses: Vector
    backlog: Matrix

    @property
    def trouble(self) -> Vector:
        """The probability of either."""
        return self.misses


def find_risks(
    loads: Matrix,
    capabilities: Sequence[Capability],
    which: NDArray[np.int64],
    objective: Objective | None,
    step_seconds: float,
) -> Risks:
    """How likely a plan saturates or misses its objective, and what piles up.

    Args:
        loads: What all sources emit together, by step and scenario; a scenario keeps its place
            among them for the whole horizon.
        capabilities: Of the plan, for some proportions of its sources.
        which: Which of them holds at each step.
        objective: None where only saturation counts.
        step_seconds: Length of a step.
    """
    saturates, misses = np.zeros_like(loads), np.zeros_like(loads)
    highest = np.asarray([capabilities[one].saturation for one in which])
    parts = find_pressing_loads(loads, highest)
    for number, capability in enumerate(capabilities):
        here = which == number
        saturates[here] = capability.chance_of_saturation(parts[here])
        if objective is not None:
            misses[here] = capability.chance_of_miss(loads[here], objective)
    return Risks(
        saturates=saturates.mean(axis=1),
        misses=np.maximum(saturates, misses).mean(axis=1),
        backlog=find_backlog(loads, highest, step_seconds),
    )


def find_pressing_loads(loads: Matrix, highest: Vector) -> Matrix:
    """The load that keeps a plan full at each step, as a part of what it can process.

    A plan is full not only while too much comes, but until what piled up is gone. With f times the
    highest rates h, something waits at the end of step t if Σ(load − f·h) > 0 from some step s to
    t, which is if f < max over s of Σ load/Σ h. That maximum of means up to t is the last value of
    the isotonic regression of the steps until then, found by pooling neighbours that fall.
    """
    found = np.zeros_like(loads)
    if not np.isfinite(highest).all():
        return found
    for scenario in range(loads.shape[1]):
        pooled: list[tuple[float, float]] = []
        for step, one in enumerate(zip(loads[:, scenario].tolist(), highest.tolist(), strict=True)):
            came, fits = one
            while pooled and pooled[-1][0] * fits > came * pooled[-1][1]:
                before = pooled.pop()
                came, fits = came + before[0], fits + before[1]
            pooled.append((came, fits))
            found[step, scenario] = came / fits if fits > 0.0 else math.inf
    return found


def find_backlog(loads: Matrix, highest: Vector, step_seconds: float) -> Matrix:
    """What waits at the end of each step: what came beyond the highest rate, less what drained."""
    waiting = np.zeros(loads.shape[1])
    found = np.zeros_like(loads)
    for step, (load, most) in enumerate(zip(loads, highest, strict=True)):
        waiting = np.maximum(waiting + (load - most) * step_seconds, 0.0)
        found[step] = waiting
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadTime:
    """How long it takes to act.

    Attributes:
        modelling_seconds: Until a better plan is known.
        rescaling_seconds: Until it runs.
        origin: Where the latter comes from.
    """

    modelling_seconds: float
    rescaling_seconds: float
    origin: str

    @property
    def seconds(self) -> float:
        """Both together."""
        return self.modelling_seconds + self.rescaling_seconds


def group_mixes(shares: Matrix, tolerance: float) -> tuple[list[int], NDArray[np.int64]]:
    """Steps whose proportions of sources stand for others', and which of them for each step.

    Args:
        shares: Of sources, a row a step.
        tolerance: By how much of the whole a share may differ.
    """
    chosen: list[int] = []
    which = np.zeros(len(shares), dtype=np.int64)
    for step, row in enumerate(shares):
        apart = [float(np.abs(row - shares[one]).max()) for one in chosen]
        if not apart or min(apart) > tolerance:
            chosen.append(step)
            which[step] = len(chosen) - 1
        else:
            which[step] = int(np.argmin(apart))
    return chosen, which
