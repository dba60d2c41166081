"""Programs compared: whether a running topology can become another by a rebalance alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

Program = Mapping[str, Any]
_WORKERS = "topology.workers"


def rate_ratio(running: Program, wanted: Program) -> float | None:
    """By how much the rates of a running program must rise to become those of another.

    None where the programs differ in more than executors, workers and one factor to all rates:
    tasks, behaviours and settings are fixed when a topology is submitted.
    """
    if _fixed(running) != _fixed(wanted):
        return None
    pairs = [pair for pair in zip(_rates(running), _rates(wanted), strict=True) if any(pair)]
    if not pairs:
        return 1.0
    if not all(old > 0.0 for old, _ in pairs):
        return None
    ratios = [new / old for old, new in pairs]
    same = all(math.isclose(ratio, ratios[0], rel_tol=1e-9) for ratio in ratios)
    return ratios[0] if same else None


def _fixed(program: Program) -> dict[str, Any]:
    """What a rebalance cannot change, and the seed and traces that need no change."""
    fixed = deepcopy(dict(program))
    for name in ("seed", "trace_every"):
        fixed.pop(name, None)
    fixed.get("configuration", {}).pop(_WORKERS, None)
    for component in (*fixed["sources"], *fixed["bolts"]):
        component.pop("executors", None)
        for emission in component.get("emissions", ()):
            emission["per_second"] = len(emission.get("per_second", ()))
    return fixed


def _rates(program: Program) -> Iterator[float]:
    for source in program["sources"]:
        for emission in source["emissions"]:
            yield from emission.get("per_second", ())
