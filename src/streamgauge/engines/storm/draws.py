"""Distributions as the Java topology draws from them: parameters or cumulative tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InternalError, InvalidInput
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
from streamgauge.profile.keys import (
    GivenKeys,
    KeyDistribution,
    LetterKeys,
    UniformKeys,
    ZipfKeys,
)

# Longer tables make programs that take longer to send than to run.
MAX_TABLE = 100_000

Data = dict[str, Any]


def drawn(distribution: Distribution) -> Data:
    """A distribution of times or sizes, by the parameters that it is drawn with."""
    match distribution:
        case Constant(value=value):
            return {"kind": "constant", "value": value}
        case Exponential(mean=mean):
            return {"kind": "exponential", "mean": mean}
        case Gamma(mean=mean, scv=scv):
            return {"kind": "gamma", "mean": mean, "scv": scv}
        case Lognormal(mean=mean, scv=scv):
            return {"kind": "lognormal", "mean": mean, "scv": scv}
        case Uniform(low=low, high=high):
            return {"kind": "uniform", "low": low, "high": high}
        case Empirical():
            return {"kind": "table", **_table(*distribution.table())}
        case _:
            raise InternalError(f"no way to draw from {distribution!r}")


def count_table(counts: CountDistribution) -> Data:
    """How many outputs, and how likely at most so many are."""
    return _table(*counts.table())


def key_rule(keys: KeyDistribution) -> Data:
    """How keys are named and how often each comes; tables only where there is no rule."""
    match keys:
        case UniformKeys(count=count, prefix=prefix):
            return {"count": count, "naming": "numbered", "prefix": prefix, "sharing": "even"}
        case ZipfKeys(count=count, prefix=prefix, exponent=exponent):
            named = {"count": count, "naming": "numbered", "prefix": prefix}
            return {**named, "sharing": "zipf", "exponent": exponent}
        case LetterKeys(count=count, length=length, deviation=None):
            return {"count": count, "naming": "letters", "length": length, "sharing": "even"}
        case LetterKeys(count=count, length=length):
            named = {"count": count, "naming": "letters", "length": length}
            return {**named, "sharing": "table", "cumulative": cumulative(keys.shares())}
        case GivenKeys():
            names = list(keys.names())
            named = {"count": len(names), "naming": "listed", "names": names}
            return {**named, "sharing": "table", "cumulative": cumulative(keys.shares())}
        case _:
            raise InternalError(f"no way to draw keys from {keys!r}")


def _table(values: NDArray[Any], shares: NDArray[np.float64]) -> Data:
    return {"values": values.tolist(), "cumulative": cumulative(shares)}


def cumulative(shares: Sequence[float] | NDArray[np.float64]) -> list[float]:
    """How much of all has come with each of the shares, 1 with the last.

    Raises:
        InvalidInput: There are too many.
    """
    if len(shares) > MAX_TABLE:
        raise InvalidInput.single(
            (),
            seen=f"a table of {len(shares)} entries",
            expected=f"at most {MAX_TABLE} for an engine",
        )
    reached = np.cumsum(shares)
    ended: list[float] = (reached / reached[-1]).tolist()
    return ended
