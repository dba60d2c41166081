"""The fluid world beside the simulator, tuple by tuple: an hour of the same jobs, plans and load.

Both begin with what jobs declare: nothing is drawn, so that what differs is the fluid's doing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.jobs import simulate_job
from benchmarks.report import Entry, say
from streamgauge.planning.sharing.fluid_job import FluidJob
from streamgauge.planning.sharing.fluid_world import FluidWorld
from streamgauge.planning.sharing.offered import Diurnal
from streamgauge.planning.sharing.shared_cluster import SharedJob
from streamgauge.planning.sharing.slo import Slo, Statistic
from streamgauge.profile.files.jobs import load_job, parse_job
from streamgauge.profile.job import Job
from streamgauge.simulation.results import Timeline
from streamgauge.topology.workload import Recorded

Vector = NDArray[np.float64]
EXAMPLES = Path(__file__).parents[1] / "examples"
SECONDS = 3600
# Loads change this often.
MINUTE = 60
FLUID_STEP = 6
SEEDS = (1, 2, 3)
# Mean rates at which the peaks and the spike of an hour are too much for some minutes.
RATES = {"henge-linear": 1000.0, "henge-diamond": 1000.0, "henge-page-load": 320.0}
PAIR = {"first": 60.0, "second": 90.0}
# A bucket with less backlog than this, in seconds of input, is one without.
SOME_BACKLOG = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """Figures by bucket of time.

    Attributes:
        processed: Tuples per second that came to ends of ways.
        backlog: Tuples that wait at its end: in the simulator in any queue, in the fluid world
            what is left over at sources, as the tuples that it will be at the slowest operator.
        latency_seconds: Mean; NaN where nothing came.
    """

    processed: Vector
    backlog: Vector
    latency_seconds: Vector


def run(*, large: bool) -> list[Entry]:
    """An hour of each job, and of two that share cores."""
    entry = Entry(
        "fluid against tuples",
        "an hour with a wave and a spike in the fluid world and in the simulator: what differs, as"
        " parts of the simulator's figures",
    )
    for name, rate in RATES.items():
        job = load_job(EXAMPLES / f"{name}.yaml")
        _compare(entry, name, {name: job}, job, {name: rate}, large=large)
    jobs = {name: parse_job(json.dumps(_document({name: rate}))) for name, rate in PAIR.items()}
    both = parse_job(json.dumps(_document(PAIR)))
    _compare(entry, "two on three cores", jobs, both, PAIR, large=large)
    return [entry]


def course(rate: float, shift: float = 0.0) -> Vector:
    """Tuples per second by minute: a wave, and twice as much for five minutes."""
    wave = Diurnal(mean=rate, swing=0.4, peak_hour=0.4 + shift, period_hours=1.0)
    spiked = replace(wave, spikes=((0.65, 0.65 + 5 / 60, 2.0),))
    return spiked.at(np.arange(0.0, SECONDS, MINUTE))


def _compare(
    entry: Entry,
    name: str,
    jobs: Mapping[str, Job],
    whole: Job,
    rates: Mapping[str, float],
    *,
    large: bool,
) -> None:
    """One case: figures of both, and how far apart they are."""
    loads = {one: course(rate, 0.1 * place) for place, (one, rate) in enumerate(rates.items())}
    begin = time.perf_counter()
    assert whole.cluster is not None
    fluid = _run_fluid(jobs, loads, sum(one.cores for one in whole.cluster.machines))
    fluid_seconds = time.perf_counter() - begin
    seeds = range(1, 11) if large else SEEDS
    begin = time.perf_counter()
    tuples = [_run_tuples(whole, loads, seed) for seed in seeds]
    tuple_seconds = (time.perf_counter() - begin) / len(tuples)
    offered = np.sum(list(loads.values()), axis=0)
    buckets = _average(np.repeat(offered, MINUTE // FLUID_STEP), len(fluid.processed))
    mean = Hour(
        processed=np.mean([one.processed for one in tuples], axis=0),
        backlog=np.mean([one.backlog for one in tuples], axis=0),
        latency_seconds=np.nanmean([one.latency_seconds for one in tuples], axis=0),
    )
    gain = float(mean.processed.sum() / fluid.processed.sum())
    calm = (mean.backlog < SOME_BACKLOG * buckets) & (fluid.backlog < SOME_BACKLOG * buckets)
    figures = {
        "processed in all": gain,
        "processed, mean difference of a bucket": _apart(fluid.processed, mean.processed),
        "juice, mean difference": float(
            np.abs(fluid.processed - mean.processed).mean() / fluid.processed.mean()
        ),
        "largest backlog": float(fluid.backlog.max() / max(mean.backlog.max(), 1.0)),
        "backlog, mean": float(fluid.backlog.mean() / max(mean.backlog.mean(), 1.0)),
        "latency without backlog, median": float(
            np.nanmedian(fluid.latency_seconds[calm] / mean.latency_seconds[calm])
        )
        if calm.any()
        else float("nan"),
        "latency with backlog, median": float(
            np.nanmedian(fluid.latency_seconds[~calm] / mean.latency_seconds[~calm])
        )
        if (~calm).any()
        else float("nan"),
        "latency without backlog, ms less": float(
            np.nanmedian(mean.latency_seconds[calm] - fluid.latency_seconds[calm]) * 1e3
        )
        if calm.any()
        else float("nan"),
        "times faster": tuple_seconds / fluid_seconds,
    }
    entry.cases[name] = {
        **figures,
        "fluid backlog": fluid.backlog.tolist(),
        "simulated backlog": mean.backlog.tolist(),
        "simulated seconds": tuple_seconds,
    }
    entry.ratios.update({f"{name}: {figure}": value for figure, value in figures.items()})
    say(f"{name}: {tuple_seconds:.0f} s for an hour, tuple by tuple")


def _apart(one: Vector, other: Vector) -> float:
    return float(np.abs(one - other).sum() / other.sum())


def _run_fluid(jobs: Mapping[str, Job], loads: Mapping[str, Vector], cores: float) -> Hour:
    """Steps of six seconds, averaged to a hundredth of the hour."""
    shared = [
        SharedJob(name=name, job=job, slo=Slo(juice=1.0), offered=Diurnal(mean=1.0)).as_fluid()
        for name, job in jobs.items()
    ]
    ends = {job.name: _gain_of_ends(job) for job in shared}
    world = FluidWorld(shared, downtime_seconds=0.0)
    rows = []
    for step in range(SECONDS // FLUID_STEP):
        minute = step * FLUID_STEP // MINUTE
        due = {name: float(load[minute]) for name, load in loads.items()}
        flows = world.take_step(FLUID_STEP, due, cores)
        arrived = [
            ends[job.name] * flow.processed_per_second
            for job, flow in zip(shared, flows, strict=True)
        ]
        latency = [flow.quality.latency_seconds[Statistic.MEAN] for flow in flows]
        rows.append(
            (
                sum(arrived),
                sum(
                    flow.lag * float(job.gains()[flow.bottleneck])
                    for job, flow in zip(shared, flows, strict=True)
                ),
                float(np.average(latency, weights=np.maximum(arrived, 1e-9))),
            )
        )
    processed, backlog, mean_latency = np.asarray(rows).T
    width = len(rows) // 100
    return Hour(
        processed=_average(processed, 100),
        backlog=backlog[width - 1 :: width],
        latency_seconds=_average(mean_latency, 100),
    )


def _gain_of_ends(job: FluidJob) -> float:
    """Tuples that come to operators without children, for one of the input."""
    parents = {parent for one in job.operators for parent in one.inputs}
    return float(
        sum(
            gain
            for one, gain in zip(job.operators, job.gains(), strict=True)
            if one.name not in parents
        )
    )


def _run_tuples(job: Job, loads: Mapping[str, Vector], seed: int) -> Hour:
    """The simulator's time line of a hundred buckets."""
    assert job.workload is not None
    total = {name: float(load.mean()) for name, load in loads.items()}
    emissions = []
    for one in job.workload.emissions:
        name = one.source.partition("/")[0] if len(loads) > 1 else next(iter(loads))
        whole = sum(
            other.per_second or 0.0
            for other in job.workload.emissions
            if len(loads) == 1 or other.source.partition("/")[0] == name
        )
        shape = Recorded(bucket_seconds=MINUTE, values=tuple(loads[name].tolist()))
        part = (one.per_second or 0.0) / whole
        emissions.append(replace(one, per_second=part * total[name], shape=shape))
    loaded = replace(job, workload=replace(job.workload, emissions=tuple(emissions)))
    line: Timeline = simulate_job(loaded, seconds=float(SECONDS), seed=seed).timeline
    return Hour(
        processed=line.arrived_per_second,
        backlog=np.sum(list(line.queued.values()), axis=0),
        latency_seconds=line.mean_seconds,
    )


def _average(values: Vector, parts: int) -> Vector:
    return np.asarray(values.reshape(parts, -1).mean(axis=1))


def _document(rates: Mapping[str, float]) -> dict[str, object]:
    """Lines of a source and two operators, side by side on one machine with three cores."""
    operators: dict[str, object] = {}
    behaviours: dict[str, object] = {}
    executors: dict[str, int] = {}
    streams: list[object] = []
    for name in rates:
        source, work, end = (f"{name}/{part}" for part in ("source", "work", "end"))
        operators |= {source: {"kind": "source", "tasks": 1}, work: {"tasks": 8}, end: {"tasks": 8}}
        streams += [
            {"from": source, "to": work, "grouping": "shuffle"},
            {"from": work, "to": end, "grouping": "shuffle"},
        ]
        behaviours |= {
            source: {"service": {"cpu_ms": 0.05}},
            work: {"service": {"cpu_ms": {"exponential": 12.0}}, "outputs": {"default": 1}},
            end: {"service": {"cpu_ms": 2.0, "wait_ms": 5.0}},
        }
        executors |= {source: 1, work: 3, end: 2}
    return {
        "streamgauge": 1,
        "topology": {"name": "side-by-side", "operators": operators, "streams": streams},
        "behaviours": behaviours,
        "configuration": {"executors": executors, "workers": 1, "engine": "storm-1"},
        "cluster": {"uniform": {"nodes": 1, "slots": 1, "cores": 3}},
        "workload": [
            {"source": f"{name}/source", "per_second": rate} for name, rate in rates.items()
        ],
    }
