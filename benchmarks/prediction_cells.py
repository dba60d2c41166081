"""Prediction in cells drawn at random: topologies, sizes, engines, loads and services.

A cell is measured in one step of its topology at a low load, three minutes by way of the lake, and
predicted in another step at 20 to 90 % of the highest rate that fits. Operators wait 0.1 to 20 ms
off the cores: what sharing cores does is measured on real threads (`core_sharing`), of which the
simulator is no truth. Every cell is simulated twice; half the difference is its floor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.jobs import predict_job, simulate_job
from benchmarks.prediction import ENGINES, TOPOLOGIES
from benchmarks.profiles import measured_profiles
from benchmarks.report import Entry
from streamgauge.cli.examples import example_path
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import job_to_data, load_job, parse_job
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile

SEED = 2026
CELLS, FEW_CELLS = 60, 4
STEPS = ("step-0", "step-1", "step-2", "step-3", "step-4")
LOADS = (0.2, 0.9)
MEANS_MS = (0.1, 20.0)
VARIATIONS = (0.25, 4.0)
# Plenty, so that no two threads share one.
CORES = 64
MEASURED_SECONDS, MEASURED_LOAD, MEASURED_RATE = 180.0, 0.2, 300.0
TUPLES, SHORTEST, LONGEST = 150_000, 30.0, 3000.0
# Storm 2.x's shuffle takes weights away for ten refreshes of up to 1.5 s (docs/storm-rules.md).
SETTLED = 20.0
FIGURES = ("mean", "p50", "p99", "complete")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What is measured and predicted.

    Attributes:
        measured: The step that a profile is made of.
        predicted: The step that is predicted.
        load: Part of the highest rate that fits.
        means_ms: By operator.
        variation: Squared coefficient of variation of all services.
    """

    topology: str
    engine: str
    measured: str
    predicted: str
    load: float
    means_ms: Mapping[str, float]
    variation: float

    @property
    def name(self) -> str:
        """What tells it from the others."""
        return (
            f"{self.topology} on {self.engine}, {self.measured} → {self.predicted},"
            f" {self.load:.0%}, scv {self.variation:.2f}"
        )

    def make(self) -> Job:
        """Its job, in no step yet."""
        data = job_to_data(load_job(example_path(f"{self.topology}.yaml")))
        for name, mean in self.means_ms.items():
            service = {"wait_ms": {"gamma": {"mean": mean, "scv": self.variation}}}
            behaviour = data["behaviours"][name]
            if "window" in behaviour:
                behaviour["window"] |= {"service": service, "per_tuple_ms": 0.0}
            else:
                behaviour["service"] = service
        for machine in data["cluster"]["machines"].values():
            machine["cores"] = CORES
        data["configuration"]["engine"] = self.engine
        return parse_job(json.dumps(data))


def draw_cells(count: int, seed: int = SEED) -> list[Cell]:
    """So many cells: topologies and engines in turn, all else at random."""
    random = np.random.default_rng(seed)

    def spread(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    cells = []
    for number in range(count):
        topology = TOPOLOGIES[number % len(TOPOLOGIES)]
        measured, predicted = random.choice(STEPS, size=2, replace=False).tolist()
        job = load_job(example_path(f"{topology}.yaml"))
        sources = {one.name for one in job.topology.sources}
        cells.append(
            Cell(
                topology=topology,
                engine=ENGINES[number // len(TOPOLOGIES) % len(ENGINES)],
                measured=measured,
                predicted=predicted,
                load=float(random.uniform(*LOADS)),
                means_ms={
                    name: spread(*MEANS_MS) for name in job.behaviours if name not in sources
                },
                variation=spread(*VARIATIONS),
            )
        )
    return cells


def run(*, large: bool) -> list[Entry]:
    """The errors of mean, median, 99th percentile and complete latency of the analytic model."""
    entry = Entry("prediction_cells", "plans, loads and services at random, against the simulator")
    entry.cases.update(judge_cells(draw_cells(CELLS if large else FEW_CELLS)))
    for figure in FIGURES:
        errors = [abs(case[f"{figure}_error"]) for case in entry.cases.values()]
        floors = [case[f"{figure}_floor"] for case in entry.cases.values()]
        entry.ratios[f"median error, {figure}"] = float(np.median(errors))
        entry.ratios[f"largest error, {figure}"] = max(errors)
        entry.ratios[f"median floor, {figure}"] = float(np.median(floors))
    return [entry]


def judge_cells(cells: list[Cell]) -> dict[str, dict[str, Any]]:
    """Each cell measured, predicted and simulated, by its name."""
    measured = {cell.name: at_low_load(cell.make().at_step(cell.measured)) for cell in cells}
    by_name = {cell.name: cell for cell in cells}
    cases = {}
    for name, profile in measured_profiles(measured, seconds=MEASURED_SECONDS):
        cases[name] = _compare(by_name[name], profile)
    return cases


def at_low_load(job: Job) -> Job:
    """The job at the low load that it is measured at."""
    return at_rate(job, min(MEASURED_LOAD * find_highest_rate(job), MEASURED_RATE))


def find_highest_rate(job: Job) -> float:
    """What its plan carries by what it declares."""
    return predict_job(job, place_job(job).plan, JobBehaviour.from_job(job)).limit.per_second


def at_rate(job: Job, rate: float) -> Job:
    """The job with sources that emit so much together."""
    assert job.workload is not None
    return replace(job, workload=job.workload.at_rate(rate))


def _compare(cell: Cell, profile: Profile) -> dict[str, Any]:
    job = cell.make().at_step(cell.predicted)
    plan, rate = place_job(job).plan, cell.load * find_highest_rate(job)
    job = at_rate(job, rate)
    seconds = float(np.clip(TUPLES / rate, SHORTEST, LONGEST))
    warmup = max(seconds / 4.0, SETTLED)
    truths = [simulate_job(job, plan, seconds=seconds, warmup=warmup, seed=seed) for seed in (1, 2)]
    predicted = predict_job(job, plan, JobBehaviour.from_profile(profile))
    assert predicted.complete is not None
    latency, complete = predicted.latency, predicted.complete
    values = {
        "mean": (latency.mean, [one.latency.mean for one in truths]),
        "p50": (latency.quantiles[0.5], [one.latency.quantile(0.5) for one in truths]),
        "p99": (latency.quantiles[0.99], [one.latency.quantile(0.99) for one in truths]),
        "complete": (complete.mean, [one.complete.mean for one in truths]),
    }
    case: dict[str, Any] = {"per_second": rate, "seconds": seconds}
    for figure, (value, seen) in values.items():
        truth = sum(seen) / len(seen)
        case[f"{figure}_ms"] = truth * 1e3
        case[f"{figure}_error"] = value / truth - 1.0
        case[f"{figure}_floor"] = abs(seen[0] - seen[1]) / 2.0 / truth
    return case
