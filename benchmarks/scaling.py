"""Scalers: how fast they are, and how far from the best allocation there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from itertools import pairwise

import numpy as np

from benchmarks.report import Entry, Measurement, growth, measure
from streamgauge.planning.scaling.combined import CombinedScaler
from streamgauge.planning.scaling.contract import Scaler, load_scaler
from streamgauge.planning.scaling.exact import ExactScaler
from streamgauge.planning.scaling.graph import ScalingGraph
from streamgauge.planning.scaling.mutators import (
    with_fixed_sources,
    with_stepped_capacity,
    with_swapped_shares,
)
from streamgauge.planning.scaling.predictive import PredictiveScaler, Selection
from streamgauge.planning.scaling.random_graphs import MEAN_RATE, RandomGraphs
from streamgauge.planning.scaling.residual import ResidualScaler

PUBLISHED = ("stela", "predictive", "residual", "combined")
COMPONENTS, UNITS = 50, 100
EXACT_COMPONENTS, EXACT_UNITS = 10, 10
# Some congested; all of them; all and so much that no package fits.
SPEED_GRAPHS = {
    "some congested": RandomGraphs(components=COMPONENTS),
    "all congested": RandomGraphs(components=COMPONENTS, tightest=0.9, widest=0.99),
    "all heavily": RandomGraphs(components=COMPONENTS, tightest=0.005, widest=0.02),
    "many joins, half of the laws fade": RandomGraphs(components=COMPONENTS, joins=2.0, tables=0.5),
}
SMALL_SEEDS, LARGE_SEEDS = 15, 150
GAP_UNITS = (3, 10)
STEP = MEAN_RATE / 10.0
# Less than this part below the best is as good as the best.
SAME = 1e-6

Mutator = Callable[[ScalingGraph], ScalingGraph]
VARIANTS: Mapping[str, Mutator] = {
    "as made": lambda graph: graph,
    "swapped": with_swapped_shares,
    "stepped": lambda graph: with_stepped_capacity(graph, STEP),
    "stepped and swapped": lambda graph: with_swapped_shares(with_stepped_capacity(graph, STEP)),
}
SOURCES: Mapping[str, Mutator] = {
    "sources grow": lambda graph: graph,
    "sources fixed": with_fixed_sources,
}


def run(*, large: bool) -> list[Entry]:
    """The entries of this module."""
    seeds = LARGE_SEEDS if large else SMALL_SEEDS
    return [_speed(), _growth(), *(_gap(name, fix, seeds) for name, fix in SOURCES.items())]


def _speed() -> Entry:
    cases = {}
    ratios = {}
    for name in (*PUBLISHED, "exact"):
        for kind, graphs in SPEED_GRAPHS.items():
            graph = graphs.make(1)
            cases[f"{name}, {kind}"] = asdict(_timed(load_scaler(name), graph, UNITS))
        slowest = max(cases[f"{name}, {kind}"]["seconds"] for kind in SPEED_GRAPHS)
        ratios[f"part of the 1 s allowed: {name}, slowest graph"] = slowest
    seconds = []
    for tables in (0.0, 0.5):
        for seed in range(10):
            graph = RandomGraphs(components=EXACT_COMPONENTS, tables=tables).make(seed)
            figures = _timed(ExactScaler(), graph, EXACT_UNITS)
            seconds.append(figures.seconds)
            cases[f"exact, 10 by 10, seed {seed}, {tables:.0%} of the laws fade"] = asdict(figures)
    ratios["part of the 10 s allowed: exact, 10 components by 10 units, slowest of 20"] = (
        max(seconds) / 10.0
    )
    return Entry(
        name="scaling: speed",
        about=f"{COMPONENTS} components by {UNITS} units, and the exact optimum of smaller graphs",
        cases=cases,
        ratios=ratios,
    )


def _timed(scaler: Scaler, graph: ScalingGraph, units: int) -> Measurement:
    return measure(lambda: scaler.scale(graph, units), repetitions=5)


def _growth() -> Entry:
    """Against components at the same units, and against units at the same components."""
    cases = {}
    ratios = {}
    steps = {
        "components": [(50, 100), (100, 100), (200, 100)],
        "units": [(50, 100), (50, 200), (50, 400)],
    }
    for name in PUBLISHED:
        for what, sizes in steps.items():
            for components, units in sizes:
                graph = RandomGraphs(components=components, tightest=0.9, widest=0.99).make(1)
                figures = _timed(load_scaler(name), graph, units)
                cases[f"{name}, {components} by {units}"] = asdict(figures)
            for small, big in pairwise(sizes):
                before, after = (cases[f"{name}, {a} by {b}"] for a, b in (small, big))
                ratios[f"growth exponent in {what}: {name}, {small} → {big}"] = round(
                    growth(before["seconds"], after["seconds"], 2.0), 2
                )
    return Entry(
        name="scaling: growth",
        about="seconds as components or units double; 1 is linear",
        cases=cases,
        ratios=ratios,
    )


def _scalers() -> dict[str, Scaler]:
    """The published ones, and the combined one with what was added to packages here."""
    own = {
        "rechecked": PredictiveScaler(recheck=True),
        "best sets": PredictiveScaler(selection=Selection.KNAPSACK),
        "best sets, rechecked": PredictiveScaler(selection=Selection.KNAPSACK, recheck=True),
    }
    return {name: load_scaler(name) for name in PUBLISHED} | {
        f"combined, {name}": CombinedScaler(residual=ResidualScaler(predictive=predictive))
        for name, predictive in own.items()
    }


def _graphs(seeds: int, fix: Mutator) -> Iterator[ScalingGraph]:
    for seed in range(seeds):
        tables = 0.5 if seed % 3 == 2 else 0.0
        graph = RandomGraphs(components=6 + seed % 7, tables=tables).make(seed)
        for variant in VARIANTS.values():
            yield fix(variant(graph))


def _gap(name: str, fix: Mutator, seeds: int) -> Entry:
    """How far below the best throughput, and how much of the best gain."""
    scalers = _scalers()
    gaps: dict[str, list[float]] = {scaler: [] for scaler in scalers}
    gains: dict[str, list[float]] = {scaler: [] for scaler in scalers}
    unproven = 0
    for graph in _graphs(seeds, fix):
        for units in GAP_UNITS:
            best = ExactScaler().scale(graph, units)
            unproven += best.bound != best.expected
            for scaler, scales in scalers.items():
                scaling = scales.scale(graph, units)
                gaps[scaler].append(1.0 - scaling.expected / best.expected)
                if best.increase > SAME * best.expected:
                    gains[scaler].append(scaling.increase / best.increase)
    cases = {scaler: _summary(gaps[scaler], gains[scaler]) for scaler in scalers}
    ratios = {
        f"{scaler}: {figure}": value
        for scaler, figures in cases.items()
        for figure, value in figures.items()
        if figure != "cases"
    }
    return Entry(
        name=f"scaling: gap to the best, {name}",
        about=f"{seeds} random graphs of 6 to 12 components in {len(VARIANTS)} variants, "
        f"{' and '.join(map(str, GAP_UNITS))} units; {unproven} optima unproven",
        cases=cases,
        ratios=ratios,
    )


def _summary(gaps: list[float], gains: list[float]) -> dict[str, float]:
    below = np.array(gaps)
    return {
        "cases": float(below.size),
        "median part below the best throughput": float(np.median(below)),
        "part below it, 90 % quantile": float(np.quantile(below, 0.9)),
        "part below it, worst": float(below.max()),
        "share of cases as good as the best": float(np.mean(below < SAME)),
        "median part of the best gain": float(np.median(gains)),
    }
