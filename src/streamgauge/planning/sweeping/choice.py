"""The best of what was swept: conditions, the best case by a figure, and the Pareto front."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InvalidInput, suggest_name
from streamgauge.planning.sweeping.evaluation import FIGURES, MORE_IS_BETTER

Columns = Mapping[str, NDArray[Any]]

# Beside figures, conditions may be about these.
COUNTS = ("nodes", "workers", "rate", "replica")
_CONDITION = re.compile(r"\s*([a-z_0-9]+)\s*(<=|>=|<|>|=)\s*([-+0-9.eE]+)\s*")
_COMPARISONS: Mapping[str, Callable[[Any, float], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}


class Condition(NamedTuple):
    """``cost<8``."""

    figure: str
    comparison: str
    value: float

    def __str__(self) -> str:
        return f"{self.figure}{self.comparison}{self.value:g}"


def read_conditions(text: str) -> tuple[Condition, ...]:
    """The conditions of a text, which are joined by ``and`` or by commas.

    Raises:
        InvalidInput: A part is none.
    """
    conditions = []
    for part in re.split(r"\band\b|,", text) if text.strip() else ():
        found = _CONDITION.fullmatch(part)
        try:
            value = float(found[3]) if found else None
        except ValueError:
            value = None
        if found is None or value is None:
            raise InvalidInput.single(
                ("--where",),
                seen=repr(part.strip()),
                expected="conditions such as 'cost<8 and p99<0.02'",
            )
        check_figure(found[1], "--where", (*FIGURES, *COUNTS))
        conditions.append(Condition(found[1], found[2], value))
    return tuple(conditions)


def check_figure(name: str, place: str, known: Sequence[str] = FIGURES) -> None:
    """Raise InvalidInput where there is no such figure."""
    if name not in known:
        raise InvalidInput.single(
            (place,),
            seen=repr(name),
            expected=f"one of {', '.join(known)}",
            remedy=suggest_name(name, list(known)),
        )


def find_feasible(columns: Columns, conditions: Sequence[Condition]) -> NDArray[np.bool_]:
    """Which cases carry their load and meet all conditions; what is not known meets none."""
    feasible = np.asarray(columns["fits"], dtype=np.bool_).copy()
    for one in conditions:
        feasible &= np.asarray(_COMPARISONS[one.comparison](columns[one.figure], one.value))
    return feasible


def order_by(columns: Columns, by: str, among: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Places of the cases among some, the best first; those without the figure left out.

    Equal ones by their cost, then in the order of the sweep.
    """
    values = np.asarray(columns[by], dtype=np.float64)
    places = np.flatnonzero(among & ~np.isnan(values))
    sign = -1.0 if by in MORE_IS_BETTER else 1.0
    return places[np.lexsort((columns["cost"][places], sign * values[places]))]


def find_front(objectives: Sequence[NDArray[np.float64]]) -> NDArray[np.intp]:
    """Places that no other is at least as good as in everything and better in something.

    The smaller the better. Of equal ones the first stays. Those with NaN are left out.
    """
    points = np.stack(objectives, axis=1)
    order = [place for place in np.lexsort(points.T[::-1]) if not np.isnan(points[place]).any()]
    kept: list[int] = []
    front = np.empty((0, points.shape[1]))
    for place in order:
        # Whoever dominates a point comes before it in this order.
        if not (front <= points[place]).all(axis=1).any():
            kept.append(int(place))
            front = np.vstack([front, points[place]])
    return np.asarray(kept, dtype=np.intp)
