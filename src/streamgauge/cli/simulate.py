"""``streamgauge simulate``: run a job in simulated time."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge.cli.output import counted, in_file, print_document, print_table, warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamgauge.profile.job import Job
    from streamgauge.simulation.topology_run import Latencies, SimulationResult
    from streamgauge.topology.workload import Workload

OVERLOADED = 3
QUANTILES = (0.5, 0.9, 0.95, 0.99)
BAR = 50
ROWS = 16


def simulate(
    file: Annotated[str, typer.Argument(help="A job in YAML or JSON; - reads standard input.")],
    step: Annotated[str | None, typer.Option(help="Configure the job as in this step.")] = None,
    seconds: Annotated[float, typer.Option(help="Simulated time to measure.")] = 60.0,
    warmup: Annotated[float, typer.Option(help="Simulated time to leave out before.")] = 5.0,
    rate: Annotated[
        float | None, typer.Option(help="Tuples per second of all sources together.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 1,
    replications: Annotated[
        int, typer.Option(help="Independent runs, on all cores; figures then have an interval.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Simulate a job tuple by tuple: throughput, latency with percentiles, utilisation."""
    from streamgauge.cli.topology import load_plan
    from streamgauge.errors import InvalidInput

    job, flow = load_plan(file, step)
    if job.workload is None:
        raise InvalidInput.single(
            ("workload",), file=file, seen="no workload", expected="what the sources emit"
        )
    workload = job.workload if rate is None else at_rate(job.workload, rate)
    run = simulator()
    with in_file(file):
        if replications == 1:
            results = [
                run(
                    flow.plan,
                    job.behaviours,
                    workload,
                    seconds=seconds,
                    warmup=warmup,
                    seed=seed,
                    progress=_progress(warmup + seconds),
                )
            ]
        else:
            from streamgauge.simulation.replications import replicate

            results = replicate(
                flow.plan,
                job.behaviours,
                workload,
                seconds=seconds,
                warmup=warmup,
                seed=seed,
                replications=replications,
            )
    if as_json:
        print_document({**result_document(job, results[0], seed), **_estimates(job, results)})
    else:
        print_result(job, results[0])
        if replications > 1:
            _print_estimates(job, results)
    if any(result.overloaded for result in results):
        warn(["queues grew beyond all bounds: the job is overloaded and the run ended early"])
        raise typer.Exit(OVERLOADED)


def simulator() -> Callable[..., SimulationResult]:
    """The simulator, or one line on what to install."""
    from streamgauge.errors import InvalidInput

    try:
        from streamgauge.simulation.topology_run import simulate as run
    except ModuleNotFoundError as error:
        raise InvalidInput.single(
            (),
            seen=f"no module {error.name!r}",
            expected="the extra that simulates",
            remedy="pip install 'streamgauge[simulation]'",
        ) from None
    return run


def at_rate(workload: Workload, rate: float) -> Workload:
    """The same workload with all rates scaled to `rate` in all."""
    from streamgauge.errors import InvalidInput

    total = sum(emission.per_second or 0.0 for emission in workload.emissions)
    if not rate > 0.0 or not total > 0.0:
        raise InvalidInput.single(
            ("--rate",), seen=f"{rate:g}", expected="a rate above zero for a job with a rate"
        )
    return replace(
        workload,
        emissions=tuple(
            emission
            if emission.per_second is None
            else replace(emission, per_second=emission.per_second * rate / total)
            for emission in workload.emissions
        ),
    )


def _progress(horizon: float) -> Callable[[float], None] | None:
    """A line on a terminal that says how far simulated time has come; nothing elsewhere."""
    if not sys.stderr.isatty():
        return None

    def show(reached: float) -> None:
        part = min(reached / horizon, 1.0)
        bar = "█" * round(30 * part)
        end = "\n" if part >= 1.0 else ""
        print(f"\r{bar:<30} {reached:.1f} of {horizon:g} s", end=end, file=sys.stderr, flush=True)

    return show


def print_result(job: Job, result: SimulationResult) -> None:
    """The result in tables, and the latency to the first sink as a histogram."""
    print(f"{job.topology.name}: {result.seconds:g} s simulated")
    rows = [
        (
            name,
            round(figures.executed_per_second, 3),
            round(figures.emitted_per_second, 3),
            f"{figures.utilisation:.1%}",
            round(figures.queue_length, 3),
        )
        for name, figures in result.operators.items()
    ]
    columns = ("operator", "executed/s", "emitted/s", "busy", "waiting")
    print_table("Operators, all executors together", columns, rows)
    latencies = _named_latencies(job, result)
    print_table(
        "Latency in ms",
        ("", "tuples", "mean", *(f"p{100 * one:g}" for one in QUANTILES)),
        [
            (name, one.count, *(_ms(value) for value in (one.mean, *map(one.quantile, QUANTILES))))
            for name, one in latencies.items()
        ],
    )
    cores = ", ".join(f"{name} {busy:.2f}" for name, busy in result.cores_busy.items())
    print(f"cores in use: {cores}")
    for name, one in list(latencies.items())[:1]:
        print()
        print(_histogram(name, one))


def _named_latencies(job: Job, result: SimulationResult) -> dict[str, Latencies]:
    named = {
        f"to {operator.name}": result.operators[operator.name].latency
        for operator in job.topology.sinks
    }
    if result.complete.count:
        named["complete (acker's clock)"] = result.complete
        named["complete (seen by source)"] = result.seen_by_source
    return {name: one for name, one in named.items() if one.count}


def _estimates(job: Job, results: list[SimulationResult]) -> dict[str, Any]:
    """Throughput and latency of each sink over all runs; the rest of the document is the first."""
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


def _print_estimates(job: Job, results: list[SimulationResult]) -> None:
    print()
    rows = [
        (name, what, float(f"{one['mean']:.5g}"), float(f"{one['half_width_95']:.2g}"))
        for name, figures in _estimates(job, results).get("estimates", {}).items()
        for what, one in figures.items()
    ]
    title = f"Means over {len(results)} independent runs (the tables above are the first)"
    print_table(title, ("sink", "", "mean", "± (95 %)"), rows)


def _ms(seconds: float) -> float:
    return float(f"{1000 * seconds:.4g}")


def _histogram(name: str, latencies: Latencies) -> str:
    """Bars over ranges of equal ratio, from the first to the last percentile."""
    import math

    low, high = latencies.quantile(0.005), latencies.quantile(0.995)
    if not high > low:
        return f"{name}: every latency about {_ms(low):g} ms"
    edges = [low * (high / low) ** (row / ROWS) for row in range(ROWS + 1)]
    counts = latencies.between(edges)
    largest = max(counts) or 1
    lines = [f"{name}, {counted(latencies.count, 'tuple')}; ms"]
    for begin, end, count in zip(edges, edges[1:], counts, strict=False):
        bar = "█" * math.ceil(BAR * count / largest)
        lines.append(f"{1000 * begin:9.3f} – {1000 * end:9.3f} {bar} {count}")
    return "\n".join(lines)


def result_document(job: Job, result: SimulationResult, seed: int) -> dict[str, Any]:
    """The result for ``--json``."""
    return {
        "topology": job.topology.name,
        "seconds": result.seconds,
        "seed": seed,
        "overloaded": result.overloaded,
        "open_roots": result.open_roots,
        "operators": {
            name: {
                "executed_per_second": figures.executed_per_second,
                "emitted_per_second": figures.emitted_per_second,
                "utilisation": figures.utilisation,
                "queue_length": figures.queue_length,
            }
            for name, figures in result.operators.items()
        },
        "latencies": {
            name: {
                "tuples": one.count,
                "mean_ms": 1000 * one.mean,
                **{f"p{100 * q:g}_ms": 1000 * one.quantile(q) for q in QUANTILES},
            }
            for name, one in _named_latencies(job, result).items()
        },
        "cores_busy": dict(result.cores_busy),
    }
