"""What a simulation found, as tables on a terminal and as a JSON document."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from streamgauge.cli.output import counted, print_table
from streamgauge.cli.simulation_verdict import FINE, verdict

if TYPE_CHECKING:
    from streamgauge.profile.job import Job
    from streamgauge.simulation.estimates import Estimate
    from streamgauge.simulation.latencies import Latencies
    from streamgauge.simulation.results import (
        ExecutorFigures,
        OperatorFigures,
        QueueFigures,
        SimulationResult,
    )

QUANTILES = (0.5, 0.9, 0.95, 0.99)
BAR = 50
ROWS = 16
# More ways than this are for the document, not for a terminal.
MOST_WAYS = 12


def print_result(job: Job, result: SimulationResult) -> None:
    """The result in tables, and the latency of all tuples as a histogram."""
    left_out = f" after a warm-up of {result.warmup:.4g} s" if result.warmup else ""
    print(f"{job.topology.name}: {result.seconds:.4g} s simulated{left_out}")
    found = verdict(job, result)
    if found.grade == FINE:
        print(f"{found.word}: {found.reason}.")
    _print_operators(result)
    _print_latencies(job, result)
    _print_pressure(result)
    cores = ", ".join(
        f"{one.name} {one.busy:.2f} of {one.cores:g}"
        + (f" (idle threads polling: {one.polling:.2f})" if one.polling > 0.005 else "")
        for one in result.machines
    )
    print(f"cores in use: {cores}")
    if result.latency.count:
        print()
        print(_histogram("from source to sink", result.latency))


def _print_operators(result: SimulationResult) -> None:
    rows = [
        (
            name,
            one.executors,
            _short(one.executed_per_second),
            _short(one.emitted_per_second),
            f"{one.utilisation:.1%}",
            f"{one.busiest:.1%}",
            _short(one.queue_length),
            "saturated" if one.saturated else "",
        )
        for name, one in result.operators.items()
    ]
    columns = ("operator", "executors", "executed/s", "emitted/s", "busy", "busiest", "waiting", "")
    print_table("Operators, all executors together", columns, rows)


def _print_latencies(job: Job, result: SimulationResult) -> None:
    named = named_latencies(job, result)
    if len(result.ways) > len(job.topology.sinks):
        shown = sorted(result.ways, key=lambda way: -way.latency.count)[:MOST_WAYS]
        named.update({" > ".join(way.operators): way.latency for way in shown if way.latency.count})
    if not named:
        print("no tuple came to the end of its way")
        return
    print_table(
        "Latency in ms, ± 95 % confidence",
        ("", "tuples", "mean", *(f"p{100 * one:g}" for one in QUANTILES)),
        [
            (
                name,
                one.count,
                _with_interval(one.mean_estimate()),
                # Two intervals are enough for a terminal's width; the document has them all.
                *(_short(1000 * one.quantile(q)) for q in QUANTILES[:-1]),
                _with_interval(one.quantile_estimate(QUANTILES[-1])),
            )
            for name, one in named.items()
        ],
    )


def _print_pressure(result: SimulationResult) -> None:
    """Who could not deliver, who stood in the way, what was lost; nothing where all is well."""
    rows = [
        (
            name,
            f"{one.blocked:.1%}",
            f"{one.throttled:.1%}",
            _short(one.blocking),
            _short(one.dropped_per_second),
            _short(one.failed_per_second),
            _short(one.timed_out_per_second),
            _short(one.replayed_per_second),
        )
        for name, one in result.operators.items()
        if one.blocked
        or one.throttled
        or one.blocking
        or one.dropped_per_second
        or one.failed_per_second
    ]
    if rows:
        columns = (
            "operator",
            "blocked",
            "held back",
            "threads it blocks",
            "dropped/s",
            "failed/s",
            "timed out/s",
            "replayed/s",
        )
        print_table("Back-pressure and failures", columns, rows)


def named_latencies(job: Job, result: SimulationResult) -> dict[str, Latencies]:
    """The latencies that have names of their own, and some tuples."""
    named = {"source to sink": result.latency, "since it was due": result.since_due}
    if len(job.topology.sinks) > 1:
        named.update(
            {f"to {sink.name}": result.operators[sink.name].latency for sink in job.topology.sinks}
        )
    if len(result.by_source) > 1:
        named.update({f"from {name}": one for name, one in result.by_source.items()})
    named["complete (acker)"] = result.complete
    named["complete (source)"] = result.seen_by_source
    return {name: one for name, one in named.items() if one.count}


def estimates_document(job: Job, results: list[SimulationResult]) -> dict[str, Any]:
    """Throughput and latency of each sink over several runs; the rest is of the first."""
    from streamgauge.simulation.replications import estimate_of

    figures: dict[str, Any] = {}
    for operator in job.topology.sinks:
        for what in ("executed_per_second", "mean_ms", "p99_ms"):
            found = estimate_of(results, partial(_sink_figure, operator.name, what))
            if found.runs > 1:
                figures.setdefault(operator.name, {})[what] = {
                    "mean": found.mean,
                    "half_width_95": found.half_width,
                    "runs": found.runs,
                }
    return {"estimates": figures} if figures else {}


def _sink_figure(sink: str, what: str, result: SimulationResult) -> float:
    figures = result.operators[sink]
    if what == "executed_per_second":
        return figures.executed_per_second
    seconds = figures.latency.mean if what == "mean_ms" else figures.latency.quantile(0.99)
    return 1000 * seconds


def print_estimates(job: Job, results: list[SimulationResult]) -> None:
    """The means over several runs."""
    print()
    rows = [
        (name, what, float(f"{one['mean']:.5g}"), float(f"{one['half_width_95']:.2g}"))
        for name, figures in estimates_document(job, results).get("estimates", {}).items()
        for what, one in figures.items()
    ]
    title = f"Means over {len(results)} independent runs (the tables above are the first)"
    print_table(title, ("sink", "", "mean", "± (95 %)"), rows)


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _with_interval(estimate: Estimate) -> str:
    """Milliseconds, rounded to what the interval lets one know."""
    value, half = 1000 * estimate.mean, 1000 * estimate.half_width
    if math.isnan(half) or half <= 0.0:
        return f"{value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(half)))
    return f"{value:.{digits}f} ± {half:.{digits}f}"


def _histogram(name: str, latencies: Latencies) -> str:
    """Bars over ranges of equal ratio, from the first to the last percentile."""
    low, high = latencies.quantile(0.005), latencies.quantile(0.995)
    if not high > low:
        return f"{name}: every latency about {1000 * low:.4g} ms"
    edges = [low * (high / low) ** (row / ROWS) for row in range(ROWS + 1)]
    counts = latencies.between(edges)
    largest = max(counts) or 1
    lines = [f"{name}, {counted(latencies.count, 'tuple')}; ms"]
    for begin, end, count in zip(edges, edges[1:], counts, strict=False):
        bar = "█" * math.ceil(BAR * count / largest)
        lines.append(f"{1000 * begin:9.3f} – {1000 * end:9.3f} {bar} {count}")
    return "\n".join(lines)


def result_document(job: Job, result: SimulationResult, seed: int) -> dict[str, Any]:
    """The result for ``--json``; what is not known is null."""
    return {
        "topology": job.topology.name,
        "seconds": result.seconds,
        "warmup": result.warmup,
        "settled": result.settled,
        "seed": seed,
        "verdict": _verdict(job, result),
        "overloaded": result.overloaded,
        "hops": result.hops,
        "roots": {
            "emitted": result.roots_emitted,
            "acked": result.roots_acked,
            "failed": result.roots_failed,
            "open": result.open_roots,
        },
        "operators": {name: _operator(one) for name, one in result.operators.items()},
        "latencies": {name: _latencies(one) for name, one in named_latencies(job, result).items()},
        "ways": [
            {"operators": list(way.operators), **_latencies(way.latency)}
            for way in result.ways
            if way.latency.count
        ],
        "executors": [_executor(one) for one in result.executors],
        "workers": [
            {
                "name": one.name,
                "node": one.node,
                "cores": one.cores,
                "transfer_utilisation": one.transfer_utilisation,
                "transfer": _queue(one.transfer),
            }
            for one in result.workers
        ],
        "machines": [
            {
                "name": one.name,
                "cores": one.cores,
                "background": one.background,
                "busy": one.busy,
                "polling": one.polling,
            }
            for one in result.machines
        ],
        "timeline": _timeline(result),
    }


def _verdict(job: Job, result: SimulationResult) -> dict[str, Any]:
    found = verdict(job, result)
    return {
        "grade": found.grade,
        "word": found.word,
        "reason": found.reason,
        "cautions": list(found.cautions),
    }


def _operator(one: OperatorFigures) -> dict[str, Any]:
    names = [name for name in one.__slots__ if name not in ("latency",)]
    return {name: _known(getattr(one, name)) for name in names}


def _executor(one: ExecutorFigures) -> dict[str, Any]:
    plain = {
        name: _known(getattr(one, name))
        for name in one.__slots__
        if name not in ("receive", "send")
    }
    queues = {"receive": _queue(one.receive)}
    if one.send is not None:
        queues["send"] = _queue(one.send)
    return {**plain, **queues}


def _queue(one: QueueFigures) -> dict[str, Any]:
    return {name: _known(getattr(one, name)) for name in one.__slots__}


def _latencies(one: Latencies) -> dict[str, Any]:
    figures = {"mean": one.mean_estimate()}
    figures.update({f"p{100 * q:g}": one.quantile_estimate(q) for q in QUANTILES})
    document: dict[str, Any] = {"tuples": one.count}
    for name, found in figures.items():
        document[f"{name}_ms"] = _known(1000 * found.mean)
        document[f"{name}_half_width_95_ms"] = _known(1000 * found.half_width)
    return document


def _timeline(result: SimulationResult) -> dict[str, Any]:
    t = result.timeline
    return {
        "ends": t.ends.tolist(),
        "emitted_per_second": t.emitted_per_second.tolist(),
        "arrived_per_second": t.arrived_per_second.tolist(),
        "mean_ms": [_known(1000 * float(one)) for one in t.mean_seconds],
        "p50_ms": [_known(1000 * float(one)) for one in t.median_seconds],
        "p99_ms": [_known(1000 * float(one)) for one in t.p99_seconds],
        "queued": {name: one.tolist() for name, one in t.queued.items()},
        "cores": {name: one.tolist() for name, one in t.cores.items()},
    }


def _known(value: Any) -> Any:
    """The value, or nothing where there is no number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
