"""Ranking: which of several plans models prefer, each for itself and all together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from streamgauge.errors import InvalidInput, suggest_name
from streamgauge.models.prediction import Prediction, Verdict

# Plans whose figures agree in so many digits are as good as each other.
DIGITS = 3

Cost = Callable[[Prediction], float]


def _quantile(level: float) -> Cost:
    return lambda one: one.latency.quantiles.get(level, math.inf)


# Smaller is better.
CRITERIA: Mapping[str, Cost] = {
    "mean": lambda one: one.latency.mean,
    "p50": _quantile(0.5),
    "p90": _quantile(0.9),
    "p95": _quantile(0.95),
    "p99": _quantile(0.99),
    "rate": lambda one: -one.limit.per_second,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What models make of several plans.

    Attributes:
        order: Plans, the best first, by the first model.
        votes: By model, the plan it prefers.
        preferred: The plan that most models prefer; the first model decides where as many prefer
            another.
        equals: Other plans that the first model takes to be as good.
    """

    by: str
    order: tuple[str, ...]
    votes: Mapping[str, str]
    preferred: str
    majority: int
    equals: tuple[str, ...]


def rank(plans: Mapping[str, Sequence[Prediction]], *, by: str) -> Ranking:
    """Order plans by what models say of them.

    A plan that does not carry its load is behind all that do; of those that do not, the one that
    would carry most is best. Plans that differ by next to nothing stay in the order given.

    Args:
        plans: By name, what models say, the first one the same for each. Who has nothing to say of
            one of the plans, or does not know what it is judged by, has no vote.
        by: One of `CRITERIA`.
    """
    if by not in CRITERIA:
        raise InvalidInput.single(
            ("--by",),
            seen=repr(by),
            expected=f"one of {', '.join(CRITERIA)}",
            remedy=suggest_name(by, list(CRITERIA)),
        )
    names = list(plans)
    judged = {name: {one.model: one for one in said} for name, said in plans.items()}
    orders = {
        model: _ordered({name: judged[name][model] for name in names}, by)
        for model in judged[names[0]]
        if all(model in said and _knows(said[model], by) for said in judged.values())
    }
    leader = plans[names[0]][0].model
    if leader not in orders:
        raise InvalidInput.single(
            ("--by",), seen=f"{by!r} of model {leader}", expected="a figure that this model knows"
        )
    votes = {model: order[0] for model, order in orders.items()}
    counts = Counter(votes.values())
    most = max(counts.values())
    first = orders[leader]
    preferred = min((name for name in names if counts[name] == most), key=first.index)
    costs = {name: _cost(plans[name][0], by) for name in names}
    return Ranking(
        by=by,
        order=tuple(first),
        votes=votes,
        preferred=preferred,
        majority=most,
        equals=tuple(
            name for name in names if name != preferred and costs[name] == costs[preferred]
        ),
    )


def _knows(one: Prediction, by: str) -> bool:
    """Whether a model has the figure that plans are judged by."""
    if one.verdict is Verdict.OVERLOADED or by == "rate":
        return True
    return math.isfinite(CRITERIA[by](one))


def _ordered(found: Mapping[str, Prediction], by: str) -> list[str]:
    """One model's order."""
    return sorted(found, key=lambda name: _cost(found[name], by))


def _cost(one: Prediction, by: str) -> tuple[bool, float]:
    overloaded = one.verdict is Verdict.OVERLOADED
    value = -one.limit.factor if overloaded else CRITERIA[by](one)
    return overloaded, _coarse(math.inf if math.isnan(value) else value)


def _coarse(value: float) -> float:
    """The value to the digits that count."""
    if value == 0.0 or not math.isfinite(value):
        return value
    return float(f"{value:.{DIGITS}g}")
