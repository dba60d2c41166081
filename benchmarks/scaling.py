"""Scalers: how fast they are, and how far from the best allocation there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from benchmarks.graph_variants import (
    with_fixed_sources,
    with_stepped_capacity,
    with_swapped_shares,
)
from benchmarks.random_graphs import MEAN_RATE, RandomGraphs
from benchmarks.report import Entry
from streamgauge.planning.scaling.contract import Scaler, load_scaler
from streamgauge.planning.scaling.exact import ExactScaler
from streamgauge.planning.scaling.graph import ScalingGraph

PUBLISHED = ("stela", "predictive", "residual", "combined")
COMPONENTS, UNITS = 50, 100
EXACT_COMPONENTS, EXACT_UNITS, EXACT_SECONDS = 10, 10, 10.0
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
VARIANTS: tuple[Mutator, ...] = (
    lambda graph: graph,
    with_swapped_shares,
    lambda graph: with_stepped_capacity(graph, STEP),
    lambda graph: with_swapped_shares(with_stepped_capacity(graph, STEP)),
)
SOURCES: Mapping[str, Mutator] = {
    "sources grow": lambda graph: graph,
    "sources fixed": with_fixed_sources,
}


def run(*, large: bool) -> list[Entry]:
    """Speed, and the gap to the best with and without growing sources."""
    seeds = LARGE_SEEDS if large else SMALL_SEEDS
    gaps = [_measure_gap(name, change, seeds) for name, change in SOURCES.items()]
    return [_measure_speed(), *gaps]


def _time_scaler(entry: Entry, case: str, scaler: Scaler, graph: ScalingGraph, units: int) -> float:
    return entry.time(case, partial(scaler.scale, graph, units), repetitions=5).seconds


def _measure_speed() -> Entry:
    entry = Entry(
        "scaling: speed",
        f"{COMPONENTS} components by {UNITS} units, and the exact optimum of smaller graphs",
    )
    for name in (*PUBLISHED, "exact"):
        slowest = max(
            _time_scaler(entry, f"{name}, {kind}", load_scaler(name), graphs.make(1), UNITS)
            for kind, graphs in SPEED_GRAPHS.items()
        )
        entry.ratios[f"part of the 1 s allowed: {name}, slowest graph"] = slowest
    slowest = max(
        _time_scaler(
            entry,
            f"exact, 10 by 10, seed {seed}, {tables:.0%} of the laws fade",
            ExactScaler(),
            RandomGraphs(components=EXACT_COMPONENTS, tables=tables).make(seed),
            EXACT_UNITS,
        )
        for tables in (0.0, 0.5)
        for seed in range(10)
    )
    label = "part of the 10 s allowed: exact, 10 components by 10 units, slowest of 20"
    entry.ratios[label] = slowest / EXACT_SECONDS
    return entry


def _graphs(seeds: int, change: Mutator) -> Iterator[ScalingGraph]:
    for seed in range(seeds):
        tables = 0.5 if seed % 3 == 2 else 0.0
        graph = RandomGraphs(components=6 + seed % 7, tables=tables).make(seed)
        for variant in VARIANTS:
            yield change(variant(graph))


def _measure_gap(name: str, change: Mutator, seeds: int) -> Entry:
    """How far below the best throughput."""
    scalers = {scaler: load_scaler(scaler) for scaler in PUBLISHED}
    gaps: dict[str, list[float]] = {scaler: [] for scaler in scalers}
    unproven = 0
    for graph in _graphs(seeds, change):
        for units in GAP_UNITS:
            best = ExactScaler().scale(graph, units)
            unproven += best.bound != best.expected
            for label, scaler in scalers.items():
                scaling = scaler.scale(graph, units)
                gaps[label].append(1.0 - scaling.expected / best.expected)
    entry = Entry(
        f"scaling: gap to the best, {name}",
        f"{seeds} random graphs of 6 to 12 components in {len(VARIANTS)} variants, "
        f"{' and '.join(map(str, GAP_UNITS))} units; {unproven} optima unproven",
    )
    for label in scalers:
        below = np.array(gaps[label])
        entry.cases[label] = {"cases": below.size}
        figures = {
            "median part below the best throughput": float(np.median(below)),
            "part below it, 90 % quantile": float(np.quantile(below, 0.9)),
            "part below it, worst": float(below.max()),
            "share of cases as good as the best": float(np.mean(below < SAME)),
        }
        entry.ratios.update({f"{label}: {figure}": value for figure, value in figures.items()})
    return entry
