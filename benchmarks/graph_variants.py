"""Variants of a graph: the same job with its shares swapped, or with more capacity further down.

Puttaswamy 2018, section 6.2.1, where they show that it cannot be told from a graph which scaler
serves it best.
"""

from __future__ import annotations

from dataclasses import replace

from streamgauge.errors import InvalidInput
from streamgauge.planning.scaling.graph import (
    LinearLaw,
    ScalingGraph,
    ScalingLaw,
    TableLaw,
)


def with_swapped_shares(graph: ScalingGraph) -> ScalingGraph:
    """The first child of every component gets the share of its last one, and so on."""
    swapped = []
    for edge in graph.edges:
        siblings = graph.children[edge.source]
        mirrored = siblings[-1 - siblings.index(edge)]
        swapped.append(replace(edge, share=mirrored.share))
    return replace(graph, name=f"{graph.name}, swapped", edges=tuple(swapped))


def with_stepped_capacity(graph: ScalingGraph, step: float) -> ScalingGraph:
    """Every unit does `step` tuples per second more for each level below the second.

    Sources are on level 1, and others one further than the nearest of their parents.
    """
    levels: dict[str, int] = {}
    for name in graph.order:
        parents = [levels[edge.source] for edge in graph.parents[name]]
        levels[name] = min(parents, default=0) + 1
    components = [
        one
        if one.source or levels[one.name] <= 2
        else replace(one, law=_raised(one.law, step * (levels[one.name] - 2)))
        for one in graph.components
    ]
    return replace(graph, name=f"{graph.name}, stepped", components=tuple(components))


def with_fixed_sources(graph: ScalingGraph) -> ScalingGraph:
    """Sources emit what they emit now, whatever their units: the load comes from outside."""
    components = []
    for one in graph.components:
        now = one.law.rate(one.units)
        fixed = replace(one, law=TableLaw(rates=(now, now)))
        components.append(fixed if one.source else one)
    return replace(graph, name=f"{graph.name}, fixed sources", components=tuple(components))


def _raised(law: ScalingLaw, step: float) -> ScalingLaw:
    if isinstance(law, LinearLaw):
        return LinearLaw(per_unit=law.per_unit + step)
    if isinstance(law, TableLaw):
        return TableLaw(
            rates=tuple(rate + step * units for units, rate in enumerate(law.rates, start=1))
        )
    raise InvalidInput.single(
        ("law",), seen=type(law).__name__, expected="a linear law or a table, to be raised"
    )
