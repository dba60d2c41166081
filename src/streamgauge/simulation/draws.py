"""Values drawn from distributions inside compiled loops.

A distribution of times becomes a row of parameters; one given by a table, and every distribution
of whole numbers, becomes a cumulative table searched with a guide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InternalError
from streamgauge.profile.distribution import (
    Constant,
    CountDistribution,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Uniform,
)
from streamgauge.simulation.compiling import primitive, rare
from streamgauge.simulation.random_streams import exponential, next_word, uniform

ROUNDING = 1e-12
# How a law's two parameters are meant: value; mean; shape and scale; μ and σ; low and high.
CONSTANT, EXPONENTIAL, GAMMA, LOGNORMAL, UNIFORM, TABLE = range(6)
# A distribution: what it is, the first and last place of its table, and its parameters.
LAW = np.dtype(
    [
        ("kind", np.int32),
        ("low", np.int32),
        ("high", np.int32),
        ("first", np.float64),
        ("second", np.float64),
    ],
    align=True,
)


class Draws(NamedTuple):
    """Distributions as arrays that compiled code can share.

    Attributes:
        law: The distributions.
        value: Values of all tables, ascending within each.
        cumulative: Cumulative probabilities of all tables; each ends at one.
        guide: Of n equal parts of [0, 1), n the length of a table, where in it to begin to search
            (Chen and Asau 1974).
    """

    law: NDArray[Any]
    value: NDArray[Any]
    cumulative: NDArray[Any]
    guide: NDArray[Any]


def make_draws(distributions: Sequence[Distribution | CountDistribution]) -> Draws:
    """The distributions in the form that `draw` takes, by their place in the sequence."""
    laws: list[tuple[int, int, int, float, float]] = []
    values: list[NDArray[np.float64]] = []
    shares: list[NDArray[np.float64]] = []
    guides: list[NDArray[np.int64]] = []
    begin = 0
    for distribution in distributions:
        kind, pair, table = _describe(distribution)
        if len(table[0]) == 1:
            # Most operators give a fixed number of outputs: no random number is spent on it.
            kind, pair, table = CONSTANT, (float(table[0][0]), 0.0), NO_TABLE
        end = begin + len(table[0])
        laws.append((kind, begin, end - 1, *pair))
        values.append(table[0])
        shares.append(table[1])
        guides.append(_guide(table[1]) + begin)
        begin = end
    return Draws(
        law=np.asarray(laws, dtype=LAW),
        value=np.concatenate([*values, np.zeros(0)]),
        cumulative=np.concatenate([*shares, np.zeros(0)]),
        guide=np.concatenate([*guides, np.zeros(0, dtype=np.int64)]),
    )


Table = tuple[NDArray[np.float64], NDArray[np.float64]]
NO_TABLE: Table = (np.zeros(0), np.zeros(0))


def _describe(
    distribution: Distribution | CountDistribution,
) -> tuple[int, tuple[float, float], Table]:
    match distribution:
        case Constant(value=value):
            described = CONSTANT, (value, 0.0)
        case Exponential(mean=mean):
            described = EXPONENTIAL, (mean, 0.0)
        case Gamma(mean=mean, scv=scv):
            described = GAMMA, (1.0 / scv, mean * scv)
        case Lognormal(mean=mean, scv=scv):
            spread = math.log1p(scv)
            described = LOGNORMAL, (math.log(mean) - spread / 2.0, math.sqrt(spread))
        case Uniform(low=low, high=high):
            described = UNIFORM, (low, high)
        case Empirical():
            return TABLE, (0.0, 0.0), _table(*distribution.table())
        case CountDistribution():
            return TABLE, (0.0, 0.0), _table(*distribution.table())
        case _:
            raise InternalError(f"no way to draw from {distribution!r}")
    return *described, NO_TABLE


def _table(values: NDArray[Any], shares: NDArray[Any]) -> Table:
    cumulative = np.cumsum(shares)
    return np.asarray(values, dtype=np.float64), np.asarray(cumulative / cumulative[-1])


def _guide(cumulative: NDArray[np.float64]) -> NDArray[np.int64]:
    """Where to begin for each part; a little early, as its number may be rounded up."""
    parts = np.arange(len(cumulative)) / max(len(cumulative), 1)
    return np.searchsorted(cumulative, parts - ROUNDING, side="right").astype(np.int64)


@primitive
def draw(draws: Draws, which: int, streams: NDArray[Any], row: int) -> Any:
    """One value of a distribution."""
    law = draws.law[which]
    if law.kind == CONSTANT:
        return float(law.first)
    if law.kind == EXPONENTIAL:
        return float(law.first * exponential(streams, row))
    if law.kind == TABLE:
        return _from_table(draws, which, streams, row)
    return _from_formula(law.kind, law.first, law.second, streams, row)


@rare
def _from_formula(kind: int, first: float, second: float, streams: NDArray[Any], row: int) -> float:
    if kind == GAMMA:
        return float(second * _gamma(first, streams, row))
    if kind == LOGNORMAL:
        return float(math.exp(first + second * normal(streams, row)))
    return float(first + (second - first) * uniform(streams, row))


@primitive
def _from_table(draws: Draws, which: int, streams: NDArray[Any], row: int) -> float:
    low, high = draws.law[which].low, draws.law[which].high
    wanted = uniform(streams, row)
    place = draws.guide[low + int(wanted * (high + 1 - low))]
    while place < high and draws.cumulative[place] <= wanted:
        place += 1
    return float(draws.value[place])


@primitive
def pass_over(draws: Draws, which: int, streams: NDArray[Any], row: int) -> None:
    """Spend the random numbers of one value of a distribution of whole numbers."""
    if draws.law[which].kind == TABLE:
        next_word(streams, row)


@primitive
def normal(streams: NDArray[Any], row: int) -> float:
    """A standard normal number by the polar method (Marsaglia and Bray 1964)."""
    while True:
        x = 2.0 * uniform(streams, row) - 1.0
        y = 2.0 * uniform(streams, row) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return float(x * math.sqrt(-2.0 * math.log(square) / square))


@primitive
def _gamma(shape: float, streams: NDArray[Any], row: int) -> float:
    """A gamma number of scale one (Marsaglia and Tsang 2000)."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - uniform(streams, row)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(streams, row)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(
            1.0 - uniform(streams, row)
        ) < 0.5 * x * x + d - d * v + d * math.log(v):
            return float(d * v * boost)
