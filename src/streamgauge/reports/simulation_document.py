"""A simulation's result as a JSON document."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from streamgauge.reports.simulation_tables import QUANTILES, name_latencies
from streamgauge.reports.wording import name_percentile

if TYPE_CHECKING:
    from streamgauge.profile.job import Job
    from streamgauge.simulation.latencies import Latencies
    from streamgauge.simulation.results import SimulationResult

MS_PER_SECOND = 1000.0


def write_result(job: Job, result: SimulationResult) -> dict[str, Any]:
    """All figures of one run."""
    return {
        "topology": job.topology.name,
        "seconds": result.seconds,
        "warmup": result.warmup,
        "settled": result.settled,
        "overloaded": result.overloaded,
        "hops": result.hops,
        "roots": {
            "emitted": result.roots_emitted,
            "acked": result.roots_acked,
            "failed": result.roots_failed,
            "open": result.open_roots,
        },
        "operators": {
            name: _write_figures(operator) for name, operator in result.operators.items()
        },
        "latencies": {
            name: _write_latencies(latencies)
            for name, latencies in name_latencies(job, result).items()
        },
        "ways": [
            {"operators": list(way.operators), **_write_latencies(way.latency)}
            for way in result.ways
            if way.latency.count
        ],
        "executors": [_write_figures(executor) for executor in result.executors],
        "workers": [_write_figures(worker) for worker in result.workers],
        "machines": [_write_figures(machine) for machine in result.machines],
        "timeline": _write_timeline(result),
    }


def _write_figures(figures: Any) -> dict[str, Any]:
    """A record of figures, with its queues; latencies are written elsewhere."""
    written = {}
    for field in fields(figures):
        value = getattr(figures, field.name)
        if field.name in ("receive", "send", "transfer"):
            if value is not None:
                written[field.name] = _write_figures(value)
        elif field.name != "latency":
            written[field.name] = value
    return written


def _write_latencies(latencies: Latencies) -> dict[str, Any]:
    estimates = {"mean": latencies.mean_estimate()}
    estimates |= {name_percentile(level): latencies.quantile_estimate(level) for level in QUANTILES}
    document: dict[str, Any] = {"tuples": latencies.count}
    for name, estimate in estimates.items():
        document[f"{name}_ms"] = MS_PER_SECOND * estimate.mean
        document[f"{name}_half_width_95_ms"] = MS_PER_SECOND * estimate.half_width
    return document


def _write_timeline(result: SimulationResult) -> dict[str, Any]:
    line = result.timeline
    return {
        "ends": line.ends.tolist(),
        "emitted_per_second": line.emitted_per_second.tolist(),
        "arrived_per_second": line.arrived_per_second.tolist(),
        "mean_ms": (MS_PER_SECOND * line.mean_seconds).tolist(),
        "p50_ms": (MS_PER_SECOND * line.median_seconds).tolist(),
        "p99_ms": (MS_PER_SECOND * line.p99_seconds).tolist(),
        "queued": {name: queued.tolist() for name, queued in line.queued.items()},
        "cores": {name: cores.tolist() for name, cores in line.cores.items()},
    }
