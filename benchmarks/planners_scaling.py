"""Every scaler on the same graphs, each allocation simulated as a job that really has it.

A unit is an executor with a task, a worker and a core of its own, as scalers take it; a job is
submitted anew with as many tasks as executors. What the world sends is fixed. Storm 2.x throws
nothing away, so throughput is what leaves execute per second, in three settings:

* `queues`: the beginning of an overload, before any queue is full. Whoever has too much to do works
  as fast as it can and feeds the rest, as in the scalers' model, where the excess is dropped.
* `held back`: the job is acked and sources have a limit of pending tuples, as is usual on Storm.
  What is slowest for its load then sets the pace of all.
* `nearness`: as the first, with Storm 2.x's locality-aware shuffle on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.graph_variants import with_fixed_sources
from benchmarks.jobs import make_operators, simulate_job
from benchmarks.planners_jobs import ENGINE, LOAD_AWARE_OFF
from benchmarks.planners_statistics import noise, quartiles
from benchmarks.random_graphs import RandomGraphs
from streamgauge.cli.examples import example_path
from streamgauge.planning.scaling.contract import load_scaler, scaler_names
from streamgauge.planning.scaling.files.scale_out_file import load_scale_out
from streamgauge.planning.scaling.from_profile import graph_of_job
from streamgauge.planning.scaling.graph import Allocation, Component, ScalingGraph
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.behaviour import Behaviour, Service
from streamgauge.profile.distribution import Constant, Fixed
from streamgauge.profile.job import Job
from streamgauge.topology import (
    Cluster,
    Configuration,
    Emission,
    Shuffle,
    Stream,
    Topology,
    Workload,
)
from streamgauge.topology.configuration import Setting
from streamgauge.topology.workload import Regular

EXACT = "exact"
PUBLISHED = ("linear", "diamond", "simple-tree", "topology-10", "topology-17", "test-mix")
BUDGETS = (2, 5)
# What all sources send together; scaling all rates alike changes no allocation.
PER_SECOND = 300.0
SECONDS, WARM_UP = 40.0, 40.0
SEED, OTHER_SEED = 1, 1001
SLOTS, CORES = 4, 8.0
HELD_BACK = "held back"
SETTINGS: Mapping[str, Mapping[str, Setting]] = {
    "queues": {LOAD_AWARE_OFF: True},
    HELD_BACK: {LOAD_AWARE_OFF: True, "topology.max.spout.pending": 50},
    "nearness": {LOAD_AWARE_OFF: False},
}
# Increases below this part of the throughput are lost in what a simulation can tell.
NOTEWORTHY = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingFigures:
    """What a scaler's allocation did.

    Attributes:
        scaler: Whose choice it is.
        budget: Units there were.
        allocation: Units handed out.
        predicted: Increase of throughput that it expected, as a part of the throughput before.
        realised: The same as simulated, by setting.
        agreement: Throughput in the first setting, as a part of what it expected.
    """

    scaler: str
    budget: int
    allocation: Allocation
    predicted: float
    realised: Mapping[str, float]
    agreement: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFigures:
    """All allocations of one graph, and throughputs that were measured twice."""

    name: str
    allocations: tuple[ScalingFigures, ...]
    repeated: tuple[tuple[float, float], ...]


def random_graph(seed: int) -> ScalingGraph:
    """Of 4 to 12 components with one or several bottlenecks."""
    return RandomGraphs(components=4 + seed % 9).make(seed)


def published_graph(name: str) -> ScalingGraph:
    """One of the published ones."""
    return load_scale_out(example_path(f"scale-out/{name}.json")).graph


def job_of_graph(graph: ScalingGraph, allocation: Allocation | None = None) -> Job:
    """A job that does what a graph says; with units added where some are given.

    Sources emit as much as before, whatever their units; all rates are scaled to `PER_SECOND`.
    """
    more = allocation or {}
    units = {one.name: one.units + more.get(one.name, 0) for one in graph.components}
    sources = {one.name: one.law.rate(one.units) for one in graph.components if one.source}
    scale = PER_SECOND / sum(sources.values())
    # A worker for each unit, and one for the acker where there is one.
    total = sum(units.values())
    return Job(
        topology=Topology(
            name="scaled",
            operators=make_operators(units, sources),
            streams=tuple(
                Stream(source=edge.source, target=edge.target, name=edge.target, grouping=Shuffle())
                for edge in graph.edges
            ),
        ),
        behaviours={one.name: _behaviour(graph, one, scale) for one in graph.components},
        configuration=Configuration(engine=ENGINE, executors=units, workers=total + 1),
        cluster=Cluster.uniform(
            nodes=-(-(total + 1) // SLOTS), slots=SLOTS, cores=CORES, latency_ms=0.1
        ),
        workload=Workload(
            emissions=tuple(
                Emission(
                    source=edge.source,
                    stream=edge.target,
                    per_second=sources[edge.source] * scale * edge.share,
                    shape=Regular(),
                )
                for name in sources
                for edge in graph.children[name]
            )
        ),
    )


def _behaviour(graph: ScalingGraph, one: Component, scale: float) -> Behaviour:
    if one.source:
        return Behaviour()
    return Behaviour(
        service=Service(cpu_ms=Constant(value=1e3 / (one.law.rate(1) * scale))),
        outputs={
            edge.target: Fixed(mean=one.out_per_in * edge.share)
            for edge in graph.children[one.name]
        },
    )


def scale_graph(name: str, graph: ScalingGraph, *, again: bool) -> GraphFigures:
    """All scalers on one graph, as it is derived from the job that runs it."""
    derived = with_fixed_sources(graph_of_job(job_of_graph(graph)).graph)
    # Equal allocations behave the same: each is simulated once.
    measured: dict[tuple[tuple[tuple[str, int], ...], str], float] = {}

    def measure(allocation: Allocation, setting: str) -> float:
        key = (tuple(sorted(allocation.items())), setting)
        if key not in measured:
            measured[key] = throughput(graph, allocation, setting, SEED)
        return measured[key]

    figures = []
    for budget in BUDGETS:
        for scaler in scaler_names():
            scaling = load_scaler(scaler).scale(derived, budget)
            allocation = scaling.allocation
            figures.append(
                ScalingFigures(
                    scaler=scaler,
                    budget=budget,
                    allocation=allocation,
                    predicted=scaling.increase / scaling.throughput,
                    realised={
                        setting: measure(allocation, setting) / measure({}, setting) - 1.0
                        for setting in SETTINGS
                    },
                    agreement=measure(allocation, "queues") / scaling.expected,
                )
            )
    repeated = [
        (first, throughput(graph, dict(allocation), setting, OTHER_SEED))
        for (allocation, setting), first in measured.items()
        if again
    ]
    return GraphFigures(name=name, allocations=tuple(figures), repeated=tuple(repeated))


def throughput(graph: ScalingGraph, allocation: Allocation, setting: str, seed: int) -> float:
    """Tuples per second that leaves execute."""
    job = job_of_graph(graph, allocation)
    settings = {
        # Units have a core: nobody is in anybody's way, and idle threads need not poll.
        "topology.bolt.wait.progressive.level2.count": 0,
        **SETTINGS[setting],
    }
    job = replace(
        job,
        topology=replace(job.topology, acked=setting == HELD_BACK),
        configuration=replace(job.configuration, ackers=1, settings=settings),
    )
    plan = place_job(job, "isolation").plan
    result = simulate_job(job, plan, seconds=SECONDS, warmup=WARM_UP, seed=seed)
    return sum(result.operators[name].executed_per_second for name in graph.leaves)


def summarise(graphs: Sequence[GraphFigures], budget: int) -> dict[str, Any]:
    """By scaler: what was predicted and realised, and how near it comes to the exact optimum."""
    rows = [row for graph in graphs for row in graph.allocations if row.budget == budget]
    by_scaler = {name: [row for row in rows if row.scaler == name] for name in scaler_names()}
    return {name: _summarise(ours, by_scaler[EXACT]) for name, ours in by_scaler.items()}


def _summarise(ours: Sequence[ScalingFigures], exact: Sequence[ScalingFigures]) -> dict[str, Any]:
    agreements = [row.agreement for row in ours]
    figures: dict[str, Any] = {
        "units used": sum(sum(row.allocation.values()) for row in ours) / len(ours),
        "predicted": quartiles(row.predicted for row in ours),
        "agreement": quartiles(agreements),
        "within 10 %": sum(abs(part - 1.0) <= 0.1 for part in agreements) / len(ours),
    }
    for setting in SETTINGS:
        realised = [row.realised[setting] for row in ours]
        best = [row.realised[setting] for row in exact]
        figures[setting] = {
            "realised": quartiles(realised),
            "realised over exact": quartiles(
                one / other for one, other in zip(realised, best, strict=True) if other > NOTEWORTHY
            ),
        }
    return figures


def find_noise(graphs: Sequence[GraphFigures]) -> dict[str, Any]:
    """How far throughputs move with another seed."""
    pairs = [pair for graph in graphs for pair in graph.repeated]
    return {"throughputs": len(pairs), "moved": noise(*zip(*pairs, strict=True))}
