"""Series: how a workflow's instances and its load are distributed over its tasks."""

from __future__ import annotations

import math
from enum import StrEnum

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number, check_whole

DEFAULT_VARIABILITY = 0.5
# With each component of a series, the variability of those after it falls to this part.
FADING = 0.7
# Section 4.6.2: each load is 20 % above, or below, that of the task before.
GROWTH, DECAY = 1.2, 0.8


class Balancing(StrEnum):
    """How something is distributed over tasks in their order."""

    BALANCED = "balanced"
    INCREASING = "increasing"
    DECREASING = "decreasing"
    PYRAMID = "pyramid"


def spread_parallelism(
    total: int,
    components: int,
    balancing: Balancing = Balancing.BALANCED,
    variability: float = DEFAULT_VARIABILITY,
) -> tuple[int, ...]:
    """Instances of every component, sources first: each at least one, `total` in all.

    The thesis shows the increasing series only in a picture (Figure 4.11); its numbers are those of
    the author's own software.

    Args:
        total: Instances in all.
        components: How many components share them.
        balancing: Equal shares, or rising, falling, or rising to the middle and falling after.
        variability: From 0 to 1: how steep the series is.
    """
    findings = Findings()
    if check_whole(findings, components, "components"):
        check_whole(findings, total, "total", least=components)
    check_number(findings, variability, "variability", most=1.0)
    findings.raise_if_any()
    match balancing:
        case Balancing.BALANCED:
            base, rest = divmod(total, components)
            return (base + 1,) * rest + (base,) * (components - rest)
        case Balancing.INCREASING:
            return tuple(_increase(total, components, variability))
        case Balancing.DECREASING:
            return tuple(reversed(_increase(total, components, variability)))
        case Balancing.PYRAMID:
            return tuple(_build_pyramid(total, components, variability))


def spread_load(
    first: float, tasks: int, balancing: Balancing = Balancing.BALANCED
) -> tuple[float, ...]:
    """The load of every task in order; `first` is that of the first, not a total (section 4.6.2).

    The highest load of a pyramid is in the middle, the earlier of two middles.
    """
    rising = {
        Balancing.BALANCED: None,
        Balancing.INCREASING: tasks,
        Balancing.DECREASING: 0,
        Balancing.PYRAMID: (tasks - 1) // 2,
    }[balancing]
    if rising is None:
        return (first,) * tasks
    return tuple(
        first * GROWTH ** min(index, rising) * DECAY ** max(index - rising, 0)
        for index in range(tasks)
    )


def _increase(total: int, components: int, variability: float) -> list[int]:
    """From equal shares, each component in turn gives a part of its share to those after it."""
    series = [total // components] * components
    share = 0
    for place in range(components):
        for index in range(place, components):
            series[index] = max(1, math.ceil((series[index] + share) * (1.0 - variability)))
        left = components - place - 1
        share = math.trunc((total - sum(series)) / left) if left else 0
        variability *= FADING
    series[-1] += max(total - sum(series), 0)
    return series


def _build_pyramid(total: int, components: int, variability: float) -> list[int]:
    """An increasing series up to the middle, followed by the mirror image of another one."""
    middle = components // 2
    before, after = middle + 1, components - middle - 1
    if after == 0:
        return _increase(total, components, variability)
    rising = total // components * before
    falling = total - rising
    if falling > rising:
        rising, falling = falling, rising
    elif falling == rising:
        rising, falling = rising + 1, falling - 1
    tail = reversed(_increase(falling, after, variability))
    series = [*_increase(rising, before, variability), *tail]
    # The tail's highest may top the middle's: it changes places until the series falls.
    for index in range(middle, components - 1):
        if series[index] >= series[index + 1]:
            break
        series[index], series[index + 1] = series[index + 1], series[index]
    return series
