"""Saturation of random jobs: predicted from a light load or another plan, measured by a sweep.

A cell is a random acyclic job on a random placement. It is measured for some minutes, by way of the
lake, at 20 to 60 % of its saturation rate, or at such a load on other executors of it. Predicted
are its saturation rate, what is full there, and what sinks get at loads up to twice as high. The
simulator is the truth: a sweep finds the highest load of which 99 % is processed. Operators wait
off the cores, as sharing them is measured on real threads (`core_sharing`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.jobs import simulate_job
from benchmarks.prediction_cells import at_rate
from benchmarks.profiles import measured_profiles
from benchmarks.report import Entry, say
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.throughput import Throughput, predict_throughput
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.profile.job import Job
from streamgauge.simulation.results import SimulationResult

SEED = 2121
CELLS, FEW_CELLS = 20, 2
ENGINES: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("storm-1", {}),
    ("storm-2", {}),
    ("storm-1", {"topology.backpressure.enable": True}),
    ("storm-2", {"topology.disable.loadaware.messaging": True}),
)
# Queues that fill soon, so that runs need not be long.
ROOM = {"topology.executor.receive.buffer.size": 512}
OPERATORS, EXECUTORS, WORKERS = (3, 8), (1, 5), (1, 4)
MEANS_MS, VARIATIONS = (0.5, 10.0), (0.25, 2.0)
OUTPUTS = (0.5, 1.0, 1.0, 2.0)
MEASURED_LOADS, MEASURED_SECONDS = (0.2, 0.6), 180.0
# Tuples that sources emit in a run, and the shortest run; as much goes before.
TUPLES, SHORTEST = 60_000, 60.0
PROCESSED, NEAR = 0.99, 0.004
OVERLOADS = (1.3, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A job, the executors it was measured on, and at which part of its saturation rate."""

    name: str
    document: Mapping[str, Any]
    measured: Mapping[str, int]
    load: float

    def make(self, executors: Mapping[str, int] | None = None) -> Job:
        """The job, on its own executors or on others."""
        data = json.loads(json.dumps(self.document))
        if executors is not None:
            data["configuration"]["executors"] = dict(executors)
        return parse_job(json.dumps(data))


def draw_cells(count: int, seed: int = SEED) -> list[Cell]:
    """So many cells: engines in turn, every second one measured on other executors."""
    return [_draw_cell(number, np.random.default_rng((seed, number))) for number in range(count)]


def _draw_cell(number: int, random: np.random.Generator) -> Cell:
    engine, settings = ENGINES[number % len(ENGINES)]
    operators = int(random.integers(*OPERATORS, endpoint=True))
    sources = 2 if random.random() < 0.3 else 1
    names = [f"source-{index}" for index in range(sources)]
    names += [f"operator-{index}" for index in range(operators)]
    executors = {name: int(random.integers(*EXECUTORS, endpoint=True)) for name in names}
    streams, behaviours = [], {}
    for index, name in enumerate(names):
        mean = float(np.exp(random.uniform(*np.log(MEANS_MS))))
        service: dict[str, Any] = {
            "wait_ms": {"gamma": {"mean": mean, "scv": float(random.uniform(*VARIATIONS))}}
        }
        if index < sources:
            service = {"cpu_ms": 0.02}
        behaviours[name] = {
            "service": service,
            "outputs": {"out": float(random.choice(OUTPUTS))} if index >= sources else {},
            "keys": {"out": {"zipf": {"count": 200, "exponent": 0.6}}},
        }
    # Every source has a subscriber, every operator somebody who feeds it.
    for index in range(sources, len(names)):
        inputs = 1 + int(random.random() < 0.3)
        near = list(range(max(0, index - 3), index))
        senders = set(random.choice(near, size=min(inputs, len(near)), replace=False).tolist())
        if index == sources:
            senders |= set(range(sources))
        for sender in sorted(senders):
            keyed = random.random() < 0.4 and index > sources
            grouping: Any = {"fields": ["key"]} if keyed else "shuffle"
            streams.append(
                {"from": names[sender], "stream": "out", "to": names[index], "grouping": grouping}
            )
    senders = {one["from"] for one in streams}
    for name in names[sources:]:
        if name not in senders:
            behaviours[name] = {"service": behaviours[name]["service"]}
    workers = int(random.integers(*WORKERS, endpoint=True))
    measured = dict(executors)
    if number % 2:
        measured = {name: max(1, int(random.integers(*EXECUTORS, endpoint=True))) for name in names}
    tasks = dict.fromkeys(names, EXECUTORS[1])
    tasks = {name: max(executors[name], measured[name]) for name in tasks}
    return Cell(
        name=f"{number}: {engine}{' '.join(['', *settings])}, {len(names)} operators",
        document={
            "streamgauge": 1,
            "topology": {
                "name": f"random-{number}",
                "operators": {
                    name: {
                        "tasks": tasks[name],
                        "kind": "source" if name in names[:sources] else "processor",
                    }
                    for name in names
                },
                "streams": streams,
            },
            "behaviours": behaviours,
            "configuration": {
                "engine": engine,
                "executors": executors,
                "workers": workers,
                "settings": {**ROOM, **settings},
            },
            "cluster": {"uniform": {"nodes": workers, "cores": 64}},
            "workload": [
                {
                    "source": name,
                    "stream": "out",
                    "per_second": 100.0 * float(random.uniform(0.5, 1.5)),
                }
                for name in names[:sources]
            ],
        },
        measured=measured,
        load=float(random.uniform(*MEASURED_LOADS)),
    )


def run(*, large: bool) -> list[Entry]:
    """Errors of saturation rates and of rates beyond them, and how often the first is named."""
    entry = Entry("saturation", "random jobs swept to saturation in the simulator")
    entry.cases.update(judge_cells(draw_cells(CELLS if large else FEW_CELLS)))
    cases = list(entry.cases.values())
    errors = [abs(case["error"]) for case in cases]
    beyond = [abs(case[f"error_at_{load:g}"]) for case in cases for load in OVERLOADS]
    entry.ratios["median error of the saturation rate"] = float(np.median(errors))
    entry.ratios["largest error of the saturation rate"] = max(errors)
    entry.ratios["first bottleneck named rightly"] = float(
        np.mean([case["named"] for case in cases])
    )
    entry.ratios["median error of what is processed beyond it"] = float(np.median(beyond))
    entry.ratios["largest error of what is processed beyond it"] = max(beyond)
    return [entry]


def judge_cells(cells: list[Cell]) -> dict[str, dict[str, Any]]:
    """Each cell measured, predicted and swept, by its name."""
    by_name = {cell.name: cell for cell in cells}
    measured = {}
    for cell in cells:
        job = cell.make(cell.measured)
        measured[cell.name] = at_rate(job, cell.load * _declared(job).saturation.per_second)
    cases = {}
    for name, profile in measured_profiles(measured, seconds=MEASURED_SECONDS):
        cases[name] = judge_cell(by_name[name], JobBehaviour.from_profile(profile))
        say(f"{name}: {cases[name]}")
    return cases


def judge_cell(cell: Cell, behaviour: JobBehaviour) -> dict[str, Any]:
    """What was predicted of a cell from a behaviour, beside what a sweep showed."""
    job = cell.make()
    predicted = _predict(job, behaviour)
    found = sweep(job, _declared(job).saturation.per_second)
    first = predicted.bottlenecks[0]
    case: dict[str, Any] = {
        "per_second": found.per_second,
        "predicted": predicted.saturation.per_second,
        "error": predicted.saturation.per_second / found.per_second - 1.0,
        "first": found.first,
        "predicted_first": first.name,
        "named": (first.operator or first.name) == found.first,
    }
    for load in OVERLOADS:
        overloaded = at_rate(job, load * found.per_second)
        seen, real = _simulate(overloaded), _predict(overloaded, behaviour)
        sinks = sum(seen.operators[name].executed_per_second for name in real.sinks)
        case[f"error_at_{load:g}"] = sum(real.sinks.values()) / sinks - 1.0
    return case


def _declared(job: Job) -> Throughput:
    return _predict(job, JobBehaviour.from_job(job))


def _predict(job: Job, behaviour: JobBehaviour) -> Throughput:
    assert job.workload is not None
    return predict_throughput(behaviour, place_job(job).plan, job.workload)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """The highest load of which all is processed, and whose executors are the busiest there."""

    per_second: float
    first: str


def sweep(job: Job, about: float) -> Swept:
    """Loads between a third and three times `about`, halved until they are near each other."""
    low, high = about / 3.0, 3.0 * about
    while high / low > 1.0 + NEAR:
        middle = (low * high) ** 0.5
        if _processed_part(at_rate(job, middle)) >= PROCESSED:
            low = middle
        else:
            high = middle
    per_second = PROCESSED * (low * high) ** 0.5
    result = _simulate(at_rate(job, 1.05 * per_second))
    plan = place_job(job).plan
    busiest = max(
        range(len(result.executors)), key=lambda place: result.executors[place].utilisation
    )
    return Swept(per_second=per_second, first=plan.logical.executors[busiest].operator)


def _processed_part(job: Job) -> float:
    """The smallest part that a source emits of what is due, or an executor serves of what comes."""
    assert job.workload is not None
    result = _simulate(job)
    due: dict[str, float] = {}
    for emission in job.workload.emissions:
        due[emission.source] = due.get(emission.source, 0.0) + (emission.per_second or 0.0)
    parts = [result.operators[name].emitted_per_second / rate for name, rate in due.items()]
    parts += [
        one.executed_per_second / one.receive.arrived_per_second
        for one in result.executors
        if one.receive.arrived_per_second > 0.0
    ]
    return min(parts)


def _simulate(job: Job) -> SimulationResult:
    assert job.workload is not None
    total = sum(one.per_second or 0.0 for one in job.workload.emissions)
    seconds = max(TUPLES / total, SHORTEST)
    # Regular sources, so that chance does not decide what is due.
    return simulate_job(_regular(job), seconds=seconds, warmup=seconds, seed=1)


def _regular(job: Job) -> Job:
    from streamgauge.topology.workload import Regular, Workload

    assert job.workload is not None
    emissions = tuple(replace(one, shape=Regular()) for one in job.workload.emissions)
    return replace(job, workload=Workload(emissions=emissions))
