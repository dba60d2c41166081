"""Whether 90 % intervals hold nine of ten measured truths: jobs, plans and loads drawn at random.

Cells are those of `prediction_cells`: measured in one step of a topology at a low load, predicted
in another at 20 to 90 % of the highest rate. The truth is one simulated window, as somebody would
measure it. Errors of the model are learned from the cells of all other topologies. How wide
intervals are stands beside, as wide ones hold everything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.jobs import predict_job, simulate_job
from benchmarks.prediction_cells import (
    Cell,
    at_low_load,
    at_rate,
    draw_cells,
    find_highest_rate,
)
from benchmarks.profiles import measured_replicas
from benchmarks.report import Entry
from streamgauge.api.intervals import ParameterNoise, PlanDraws
from streamgauge.models.intervals import LEVEL, Intervals, Key, find_regime
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.model_error import Kind, ModelErrors, Regime, Residual
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.profile import Profile
from streamgauge.profile.resampled import Resampled

SEED = 20
CASES, FEW_CASES = 200, 10
# By name, seconds of metrics that profiles are made of, the minute of warm-up included.
LENGTHS = {"3 minutes": 180.0, "15 minutes": 900.0}
# A window is a minute long, unless that were too many tuples to simulate.
WINDOW_SECONDS, MOST_TUPLES, SHORTEST = 60.0, 200_000, 5.0
HALF_LOAD = (0.4, 0.6)
FIGURES = {
    "mean": (Key("latency", "source to sink", "mean"), Kind.MEAN),
    "p99": (Key("latency", "source to sink", "p99"), Kind.PERCENTILE),
    "complete": (Key("latency", "complete (engine)", "mean"), Kind.COMPLETE),
}
NO_ERRORS = ModelErrors(
    origin="none",
    residuals=tuple(Residual(job="none", kind=kind, error=0.0) for kind in Kind),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A predicted cell and its truth.

    Attributes:
        chance: Intervals without errors of the model.
        truths: By name of the figure.
    """

    cell: Cell
    regime: Regime
    predicted: Mapping[str, float]
    chance: Intervals
    truths: Mapping[str, float]

    def list_residuals(self) -> Iterable[Residual]:
        """What models got wrong here."""
        for name, (key, kind) in FIGURES.items():
            interval = self.chance.of(*key)
            if interval is None or not math.isfinite(self.predicted[name]):
                continue
            yield Residual(
                job=self.cell.topology,
                kind=kind,
                error=math.log(self.truths[name] / self.predicted[name]),
                noise=math.hypot(interval.parameters, interval.sampling),
                regime=self.regime,
            )


def run(*, large: bool) -> list[Entry]:
    """How many truths intervals hold, and how wide they are, by length of the metrics."""
    return [
        _study(name, seconds, CASES if large else FEW_CASES)
        for name, seconds in LENGTHS.items()
        if large or name == "3 minutes"
    ]


def _study(name: str, seconds: float, count: int) -> Entry:
    entry = Entry(f"coverage {name}", f"truths within {LEVEL:.0%} intervals, {name} of metrics")
    cells = {cell.name: cell for cell in draw_cells(count, SEED)}
    measured = {
        name: at_low_load(cell.make().at_step(cell.measured)) for name, cell in cells.items()
    }
    cases = [
        _make_case(cells[name], profile, replicas)
        for name, profile, replicas in measured_replicas(measured, seconds=seconds)
        if replicas is not None
    ]
    errors = ModelErrors(
        origin="the other topologies",
        residuals=tuple(one for case in cases for one in case.list_residuals()),
    )
    for case in cases:
        entry.cases[case.cell.name] = dict(_judge(case, errors))
    judged = list(entry.cases.values())
    entry.ratios["cases"] = len(judged)
    for figure in FIGURES:
        known = [case for case in judged if f"{figure}_inside" in case]
        entry.ratios[f"inside, {figure}"] = _mean([case[f"{figure}_inside"] for case in known])
        entry.ratios[f"inside without the model's errors, {figure}"] = _mean(
            [case[f"{figure}_by_chance"] for case in known]
        )
        entry.ratios[f"endless, {figure}"] = _mean([case[f"{figure}_endless"] for case in known])
        entry.ratios[f"median half-width, {figure}"] = _median(known, f"{figure}_reach")
        half = [case for case in known if HALF_LOAD[0] <= case["load"] <= HALF_LOAD[1]]
        entry.ratios[f"median half-width at half load, {figure}"] = _median(half, f"{figure}_reach")
    return entry


def _make_case(cell: Cell, profile: Profile, replicas: Resampled) -> Case:
    job = cell.make().at_step(cell.predicted)
    plan, rate = place_job(job).plan, cell.load * find_highest_rate(job)
    job = at_rate(job, rate)
    assert job.workload is not None
    seconds = float(np.clip(MOST_TUPLES / rate, SHORTEST, WINDOW_SECONDS))
    truth = simulate_job(job, plan, seconds=seconds, warmup=seconds / 2.0, seed=1)
    prediction = predict_job(job, plan, JobBehaviour.from_profile(profile))
    assert prediction.complete is not None
    drawn = PlanDraws(
        prediction=prediction,
        plan=plan,
        workload=job.workload,
        noise=ParameterNoise.from_replicas(profile, replicas),
        errors=NO_ERRORS,
        window_seconds=seconds,
    )
    operators = plan.logical.topology.operators
    return Case(
        cell=cell,
        regime=find_regime(prediction, windowed=any(one.window is not None for one in operators)),
        predicted={
            "mean": prediction.latency.mean,
            "p99": prediction.latency.quantiles.get(0.99, math.inf),
            "complete": prediction.complete.mean,
        },
        chance=drawn.find_intervals(),
        truths={
            "mean": truth.latency.mean,
            "p99": truth.latency.quantile(0.99),
            "complete": truth.complete.mean,
        },
    )


def _judge(case: Case, errors: ModelErrors) -> Iterable[tuple[str, Any]]:
    yield "load", case.cell.load
    yield "topology", case.cell.topology
    yield "regime", asdict(case.regime)
    for name, (key, kind) in FIGURES.items():
        interval, predicted = case.chance.of(*key), case.predicted[name]
        if interval is None or not math.isfinite(predicted):
            continue
        model = errors.half_width(kind, case.regime, case.cell.topology, LEVEL)
        chance = math.hypot(interval.parameters, interval.sampling)
        endless = math.isinf(interval.high)
        error = math.log(case.truths[name] / predicted)
        for word, reach in (("inside", math.hypot(chance, model)), ("by_chance", chance)):
            yield f"{name}_{word}", -reach <= error and (endless or error <= reach)
        yield f"{name}_endless", endless
        yield f"{name}_reach", math.expm1(math.hypot(chance, model))
        yield f"{name}_parameters", interval.parameters
        yield f"{name}_sampling", interval.sampling
        yield f"{name}_model", model
        yield f"{name}_error", error


def _mean(flags: list[bool]) -> float:
    return sum(flags) / len(flags) if flags else math.nan


def _median(cases: list[dict[str, Any]], name: str) -> float:
    return float(np.median([case[name] for case in cases])) if cases else math.nan
