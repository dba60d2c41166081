"""How long a prediction by formulas takes: one plan, a thousand plans, and plans of many executors.

A line of four operators, shuffled and dealt by keys in turn, acknowledged, on Storm 2.x: as many
executors as tasks, 32 of them in a worker and 64 on a machine of 16 cores, as large as it is wide.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from benchmarks.report import Entry, measure
from streamgauge.models.analytic import AnalyticModel
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    OutputFigures,
    Shares,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.profile import Profile
from streamgauge.topology import (
    Cluster,
    Configuration,
    Emission,
    Fields,
    LogicalPlan,
    Operator,
    OperatorKind,
    PhysicalPlan,
    Shuffle,
    Stream,
    Topology,
    TupleFlow,
    Workload,
)
from streamgauge.topology.topology import DEFAULT_STREAM, StreamKey
from streamgauge.transport.engine import load_engine

# Executors of one operator: 64 with four ackers are the 68 of the largest step of the thesis.
USUAL = 16
SIZES, LARGE_SIZES = (16, 64, 256, 800), (16, 32, 64, 128, 256, 400, 800)
PLANS, MANY_PLANS = 100, 1000
EXECUTORS_PER_NODE, WORKERS_PER_NODE = 16, 2
PER_TASK = 20.0
REPETITIONS = 5


def run(*, large: bool) -> list[Entry]:
    """One plan by size, and many plans of the usual size."""
    model, brief = AnalyticModel(), AnalyticModel(brief=True)
    cases = {}
    for size in LARGE_SIZES if large else SIZES:
        profile, plan, workload = line_of(size)
        model.predict(profile, plan, workload)
        found = measure(partial(model.predict, profile, plan, workload), repetitions=REPETITIONS)
        flow = TupleFlow.of(plan, load_engine("storm-2").hops)
        cases[f"{len(plan.logical.executors)} executors"] = {
            "seconds": found.seconds,
            "spread_seconds": found.spread_seconds,
            "peak_bytes": found.peak_bytes,
            "connections": sum(flow.count_types(data_only=False).values()),
        }
    smallest, *_, largest = cases.values()
    more = largest["connections"] / smallest["connections"]
    longer = largest["seconds"] / smallest["seconds"]
    profile, plan, workload = line_of(USUAL)
    count = MANY_PLANS if large else PLANS
    candidates = _shuffled(plan, count)
    many = measure(
        lambda: [brief.predict(profile, one, workload) for one in candidates], repetitions=2
    )
    cases[f"{count} plans, brief"] = {"seconds": many.seconds, "peak_bytes": many.peak_bytes}
    return [
        Entry(
            name="prediction_speed",
            about="time of a prediction by formulas",
            cases=cases,
            ratios={
                "times as many connections, largest against smallest": more,
                "times as long": longer,
                "power of connections by which time grows": math.log(longer) / math.log(more),
                "seconds of the smallest": smallest["seconds"],
                "seconds of the largest": largest["seconds"],
                "seconds for a thousand plans": many.seconds * MANY_PLANS / count,
            },
        )
    ]


def line_of(size: int) -> tuple[Profile, PhysicalPlan, Workload]:
    """A profile, the plan it is of, and a load of about a third of what that carries."""
    names = ("source", "parse", "count", "store")
    operators = tuple(
        Operator(
            name=name,
            kind=OperatorKind.SOURCE if name == "source" else OperatorKind.PROCESSOR,
            tasks=size,
        )
        for name in names
    )
    groupings = (Shuffle(), Fields(keys=("word",)), Shuffle())
    streams = tuple(
        Stream(source=names[index], target=names[index + 1], grouping=grouping)
        for index, grouping in enumerate(groupings)
    )
    topology = Topology(name="line", operators=operators, streams=streams, acked=True)
    nodes = max(size // EXECUTORS_PER_NODE, 2)
    workers = WORKERS_PER_NODE * nodes
    configuration = Configuration(
        engine="storm-2", executors=dict.fromkeys(names, size), workers=workers, ackers=workers
    )
    cluster = Cluster.uniform(nodes=nodes, slots=WORKERS_PER_NODE, cores=16.0, latency_ms=0.2)
    logical = LogicalPlan.of(topology, configuration)
    dealt = [index % workers for index in range(len(logical.executors))]
    plan = PhysicalPlan.dealt(logical, cluster, cluster.slots, dealt)
    profile = Profile(
        topology=topology, configuration=configuration, cluster=cluster, tasks=_tasks(names, size)
    )
    return (
        profile,
        plan,
        Workload(emissions=(Emission(source="source", per_second=PER_TASK * size),)),
    )


def _tasks(names: tuple[str, ...], size: int) -> dict[TaskId, TaskProfile]:
    keyed = np.random.default_rng(1).dirichlet(np.full(size, 20.0)).tolist()
    found = {}
    for place in range(size):
        emitted = OutputFigures(per_second=Figure(value=PER_TASK), cpu=_time(0.05))
        found[TaskId(names[0], place)] = TaskProfile(outputs={DEFAULT_STREAM: emitted})
        for before, name in pairwise(names):
            key = StreamKey(before, DEFAULT_STREAM)
            part = keyed[place] if name == "count" else 1.0 / size
            figures = InputFigures(share=Figure(value=part), wall=_time(2.0), cpu=_time(1.0))
            shares = {"count": Shares(parts=keyed)} if name == "parse" else {}
            output = OutputFigures(coefficients={key: Figure(value=1.0)}, shares=shares)
            found[TaskId(name, place)] = TaskProfile(
                inputs={key: figures}, outputs={} if name == "store" else {DEFAULT_STREAM: output}
            )
    return found


def _time(ms: float) -> TimeFigures:
    return TimeFigures(mean_ms=Figure(value=ms), scv=Figure(value=1.0))


def _shuffled(plan: PhysicalPlan, count: int) -> list[PhysicalPlan]:
    """The same executors in other workers."""
    random_places = random.Random(1)
    found = []
    for _ in range(count):
        placement = list(plan.placement)
        random_places.shuffle(placement)
        found.append(replace(plan, placement=tuple(placement)))
    return found
