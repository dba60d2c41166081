"""Whether 90 % intervals hold nine of ten measured truths: jobs, plans and loads drawn at random.

Cells are those of `prediction_cells`: measured in one step of a topology at a low load, predicted
in another at 20 to 90 % of the highest rate. The truth is one simulated window, as somebody would
measure it. Errors of the model are learned from the cells of all other topologies. How wide
intervals are stands beside, as wide ones hold everything.

What was measured is kept in `build/coverage` (`coverage_cases`). `--only "coverage cases"` measures
what is not there yet; the other parts judge what is there by the present formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.coverage_cases import LENGTHS, Measured, measure, read
from benchmarks.jobs import predict_job
from benchmarks.prediction_cells import Cell, draw_cells
from benchmarks.report import Entry, say
from streamgauge.api.intervals import ParameterNoise, PlanDraws
from streamgauge.models.intervals import LEVEL, Intervals, Key, find_regime
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.model_error import Kind, ModelErrors, Regime, Residual
from streamgauge.planning.scheduling.job_placement import place_job

SEED = 20
CASES, FEW_CASES = 200, 10
FOLDER = Path("build", "coverage")
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


def _measure(done: Mapping[str, Entry], *, large: bool) -> Entry:
    cells = draw_cells(CASES if large else FEW_CASES, SEED)
    measure(cells, FOLDER)
    return Entry("coverage cases", f"measured in {FOLDER}", ratios={"cases": len(cells)})


def _study(done: Mapping[str, Entry], *, large: bool, length: str) -> Entry:
    entry = Entry(f"coverage {length}", f"truths within {LEVEL:.0%} intervals, {length} of metrics")
    cells = draw_cells(CASES if large else FEW_CASES, SEED)
    cases = [_make_case(measured) for measured in read(cells, length, FOLDER)]
    say(f"{len(cases)} of {len(cells)} cells were measured")
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
        entry.ratios.update(_sum_up(known, figure))
    return entry


def _sum_up(known: list[dict[str, Any]], figure: str) -> Iterable[tuple[str, float]]:
    yield f"inside, {figure}", _mean([case[f"{figure}_inside"] for case in known])
    for topology in dict.fromkeys(case["topology"] for case in known):
        own = [case[f"{figure}_inside"] for case in known if case["topology"] == topology]
        yield f"inside, {figure}, {topology} ({len(own)})", _mean(own)
    yield (
        f"inside without the model's errors, {figure}",
        _mean([case[f"{figure}_by_chance"] for case in known]),
    )
    yield f"endless, {figure}", _mean([case[f"{figure}_endless"] for case in known])
    yield f"median half-width, {figure}", _median(known, f"{figure}_reach")
    half = [case for case in known if HALF_LOAD[0] <= case["load"] <= HALF_LOAD[1]]
    yield f"median half-width at half load, {figure}", _median(half, f"{figure}_reach")


# Measured first; then judged, by length of the metrics.
PARTS: Mapping[str, Callable[..., Entry]] = {
    "coverage cases": _measure,
    **{f"coverage {length}": partial(_study, length=length) for length in LENGTHS},
}


def _make_case(measured: Measured) -> Case:
    cell, job, profile = measured.cell, measured.job, measured.profile
    assert job.workload is not None
    plan = place_job(job).plan
    prediction = predict_job(job, plan, JobBehaviour.from_profile(profile))
    assert prediction.complete is not None
    drawn = PlanDraws(
        prediction=prediction,
        plan=plan,
        workload=job.workload,
        noise=ParameterNoise.from_replicas(profile, measured.replicas),
        errors=NO_ERRORS,
        window_seconds=measured.seconds,
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
        truths=measured.truths,
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
