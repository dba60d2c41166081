"""How capacity grows with parallelism: in proportion to a power of it, learned from observations.

The linear rule, p instances do p times as much, is an assumption of Caladrius (eq. 3.9) and of
most planners. What was measured is mostly less: instances share cores, caches, networks, keys.
capacity ∝ pᵉ has one number more, and is fitted on logarithms. An exponent holds for the machines
and the kind of placement that it was learned on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from streamgauge.models.capacity_fit import Fitted, student
from streamgauge.profile.observed import Scaling

LINEAR = 1.0
# Where the errors of two capacities are all that is known, observations are taken to be many.
MANY = 30


def learn_exponent(capacities: Mapping[int, Fitted]) -> Scaling | None:
    """The exponent of one operator, by least squares on logarithms; None with one parallelism.

    With two parallelisms its error is that of their capacities. With more it is that of the points
    about the line, which has in it that plans were different, too.

    Args:
        capacities: Of all executors together, by their number.
    """
    known = {p: one for p, one in sorted(capacities.items()) if p > 0 and one.value > 0.0}
    if len(known) < 2:
        return None
    x = np.log(np.asarray(list(known), dtype=np.float64))
    y = np.log(np.asarray([one.value for one in known.values()]))
    apart = x - x.mean()
    exponent = float(apart @ y / (apart @ apart))
    if len(known) > 2:
        residuals = y - y.mean() - exponent * apart
        variance = float(residuals @ residuals) / (len(known) - 2) / float(apart @ apart)
    else:
        errors = [_standard_error(one) / one.value for one in known.values()]
        variance = float(apart**2 @ np.square(errors)) / float(apart @ apart) ** 2
    return Scaling(
        exponent=exponent,
        standard_error=None if math.isnan(variance) else math.sqrt(variance),
        executors=tuple(known),
    )


def _standard_error(one: Fitted) -> float:
    return one.half_width / student(one.observations - 1)


def half_width(scaling: Scaling) -> float:
    """Of the exponent's 90 % interval; NaN where its error is not known."""
    if scaling.standard_error is None:
        return math.nan
    left = len(scaling.executors) - 2
    return scaling.standard_error * student(left if left > 0 else MANY)


def scale_linearly(capacity: Fitted, executors: int, wanted: int) -> Fitted:
    """Capacity of so many executors by the linear rule: γ = wanted/executors times as much."""
    return capacity.times(wanted / executors)


def scale_by_power(capacity: Fitted, executors: int, wanted: int, scaling: Scaling) -> Fitted:
    """Capacity of so many executors where it grows with a power of their number.

    The interval has both errors in it: of the capacity, and of the exponent over that distance.
    """
    growth = math.log(wanted / executors)
    value = capacity.value * math.exp(scaling.exponent * growth)
    of_growth = abs(growth) * half_width(scaling) if growth else 0.0
    return Fitted(
        value=value,
        half_width=value * math.hypot(capacity.half_width / capacity.value, of_growth),
        observations=capacity.observations,
    )
