"""What an engine costs, learned: a guess, corrected by what workers and executors were seen to use.

Every figure seen is a sum of costs times what they are for: y = Σ x·β + error. With a normal guess
of each cost, β ~ N(μ, τ²), the likeliest costs that are not negative minimise

    Σ ((y − Σ x·β)/σ)² + Σ ((β − μ)/τ)²

which is ridge regression towards μ (Hoerl and Kennard 1970) with bounds (Lawson and Hanson 1974).
Where figures cannot tell two costs apart, as under one steady load, they move together as far as
their τ let them, and the covariance of their errors, (XᵀX/σ² + 1/τ²)⁻¹, says so. It is that of the
solution without bounds: a cost of zero has an error too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.job_behaviour import (
    Array,
    CostEstimates,
    Estimate,
    Origin,
    handling,
)
from streamgauge.topology.frozen import FrozenDict
from streamgauge.transport.costs import Cost, EngineCosts

# What is smaller than this part of others is rounding.
ROUNDING = 1e-12
TINY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A figure that was seen, and what it is made up of.

    Attributes:
        figure: Its value.
        error: Its standard error, that of the sum of costs as a model of it included; above zero.
        made_of: By the name of a cost, how much of it is in the figure.
    """

    figure: float
    error: float
    made_of: Mapping[str, float]


def guess_costs(costs: EngineCosts, handled: Mapping[str, Cost] = FrozenDict()) -> CostEstimates:
    """What an engine's record says, and of some operators what handling a tuple may cost."""
    guesses = {one.name: getattr(costs, one.name) for one in fields(costs)}
    guesses |= {handling(name): cost for name, cost in handled.items()}
    deviations = np.asarray([one.deviation for one in guesses.values()])
    return CostEstimates(
        names=tuple(guesses),
        values=Estimate.of([one.mean for one in guesses.values()], Origin.ASSUMED, deviations),
        covariance=np.diag(deviations**2),
    )


def fit_costs(guess: CostEstimates, seen: Sequence[Seen]) -> CostEstimates:
    """The guess, corrected; costs without a deviation stay as they are.

    A guess that was corrected before may be corrected further, by what was seen of another plan.
    """
    if not seen:
        return guess
    place = {name: index for index, name in enumerate(guess.names)}
    design = np.zeros((len(seen), len(place)))
    for row, one in enumerate(seen):
        for name, amount in one.made_of.items():
            design[row, place[name]] += amount
    error = np.asarray([one.error for one in seen])
    free = np.diag(guess.covariance) > 0.0
    mean = guess.values.value
    figures = np.asarray([one.figure for one in seen]) - design[:, ~free] @ mean[~free]
    # Costs are of very different sizes: each in units of its own deviation.
    unit = np.sqrt(np.diag(guess.covariance)[free])
    spread, axes = np.linalg.eigh(guess.covariance[np.ix_(free, free)] / np.outer(unit, unit))
    guessed = axes.T / np.sqrt(np.maximum(spread, ROUNDING))[:, np.newaxis]
    rows = np.vstack([design[:, free] * unit / error[:, np.newaxis], guessed])
    wanted = np.concatenate([figures / error, guessed @ (mean[free] / unit)])
    values = mean.copy()
    values[free] = fit_above_zero(rows, wanted) * unit
    # From the triangular factor, as squares of the rows would lose half of their digits.
    root = np.linalg.inv(np.linalg.qr(rows, mode="r")) * unit[:, np.newaxis]
    covariance = np.zeros_like(guess.covariance)
    covariance[np.ix_(free, free)] = root @ root.T
    errors = np.sqrt(np.diag(covariance))
    return CostEstimates(
        names=guess.names,
        values=Estimate.of(values, Origin.MEASURED, errors),
        covariance=covariance,
    )


def fit_above_zero(matrix: Array, vector: Array) -> Array:
    """The x ≥ 0 for which matrix·x is nearest to the vector; columns are independent.

    By the method of Lawson and Hanson (1974, chapter 23). SciPy has it in a package that takes
    longer to import than all of a prediction.
    """
    found = np.zeros(matrix.shape[1])
    free = np.zeros(len(found), dtype=np.bool_)
    size = np.linalg.norm(matrix, axis=0)
    # No set of free ones comes twice but by rounding, and few come at all.
    for _ in range(10 * len(found)):
        rest = vector - matrix @ found
        slope = np.where(free, 0.0, matrix.T @ rest)
        if (slope <= ROUNDING * size * np.linalg.norm(rest)).all():
            break
        free[slope.argmax()] = True
        best = _solve(matrix, vector, free)
        while (below := free & (best <= 0.0)).any():
            # As far as the first that would fall below zero, which then stays there.
            step = (found[below] / np.maximum(found[below] - best[below], TINY)).min()
            found = np.maximum(found + step * (best - found), 0.0)
            free &= ~(below & (found <= ROUNDING * np.abs(best)))
            best = _solve(matrix, vector, free)
        found = best
    return found


def _solve(matrix: Array, vector: Array, free: NDArray[np.bool_]) -> Array:
    """The nearest where all but the free ones are zero."""
    best = np.zeros(matrix.shape[1])
    best[free] = np.linalg.lstsq(matrix[:, free], vector)[0]
    return best
