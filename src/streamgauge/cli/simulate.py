"""``streamgauge simulate``: run a job in simulated time."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.output import in_file, print_document, say, warn, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamgauge.profile.job import Job
    from streamgauge.simulation.cores import Sharing
    from streamgauge.simulation.results import SimulationResult
    from streamgauge.topology.tuple_flow import TupleFlow

OVERLOADED = 3
BAR = 30
# Simulated time where none is given; windows may want more than one waits for unasked.
LONGEST = 60.0
# A bar that moves more often than this is only slower.
SECONDS_BETWEEN = 0.1


def simulate(
    file: Annotated[str, typer.Argument(help="A job in YAML or JSON; - reads standard input.")],
    step: Annotated[str | None, typer.Option(help="Configure the job as in this step.")] = None,
    seconds: Annotated[
        float | None,
        typer.Option(help="Simulated time to measure; as long as the job's rate makes sensible."),
    ] = None,
    warmup: Annotated[
        float | None,
        typer.Option(help="Simulated time to leave out before; found by itself when not given."),
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(help="Tuples per second of all sources together, or SOURCE=NUMBER."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 1,
    replications: Annotated[
        int, typer.Option(help="Independent runs, on all cores; figures then have an interval.")
    ] = 1,
    quantum: Annotated[
        float | None,
        typer.Option(help="Milliseconds a thread keeps its core; shared evenly when not given."),
    ] = None,
    switch: Annotated[
        float, typer.Option(help="Microseconds lost when a core changes to another thread.")
    ] = 0.0,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with pictures to this file.")
    ] = None,
    samples: Annotated[
        Path | None,
        typer.Option(help="Write what a cluster's agent would measure to this folder."),
    ] = None,
    bucket: Annotated[float, typer.Option(help="Seconds that one sample spans.")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Simulate a job tuple by tuple: throughput, latency with percentiles, back-pressure, CPU."""
    from streamgauge.cli.topology import load_plan

    job, flow = load_plan(file, step)
    simulate_job(
        file,
        job,
        flow,
        seconds=seconds,
        warmup=warmup,
        rate=rate or (),
        seed=seed,
        replications=replications,
        quantum=quantum,
        switch=switch,
        html=html,
        samples=samples,
        bucket=bucket,
        as_json=as_json,
    )


def simulate_job(
    file: str,
    job: Job,
    flow: TupleFlow,
    *,
    seconds: float | None,
    warmup: float | None,
    rate: Sequence[str],
    seed: int,
    replications: int = 1,
    quantum: float | None = None,
    switch: float = 0.0,
    html: Path | None = None,
    samples: Path | None = None,
    bucket: float = 10.0,
    as_json: bool = False,
) -> None:
    """Simulate a planned job and present what came of it; options as those of the command."""
    from streamgauge.api.rates import apply_rates as with_rates
    from streamgauge.cli.simulation_report import (
        estimates_document,
        print_estimates,
        print_result,
        result_document,
    )
    from streamgauge.cli.simulation_verdict import FINE, verdict
    from streamgauge.errors import InvalidInput
    from streamgauge.models.run_length import sensible_seconds

    if job.workload is None:
        raise InvalidInput.single(
            ("workload",), file=file, seen="no workload", expected="what the sources emit"
        )
    if samples is not None and replications != 1:
        raise InvalidInput.single(
            ("--samples",), seen=f"{replications} runs", expected="one run, which is written down"
        )
    workload = with_rates(job.workload, rate)
    job = replace(job, workload=workload)
    run = partial(
        simulator(),
        flow.plan,
        job.behaviours,
        workload,
        seconds=sensible_seconds(job.topology, workload, longest=LONGEST)
        if seconds is None
        else seconds,
        warmup=warmup,
        sharing=_sharing(quantum, switch),
    )
    with in_file(file):
        if samples is not None:
            from streamgauge.engines.emulator import emulate

            shown = partial(run, progress=progress_bar())
            results = [
                emulate(job, flow.plan, shown, folder=samples, bucket_seconds=bucket, seed=seed)
            ]
        elif replications != 1:
            from streamgauge.simulation.replications import replicate

            results = replicate(run, seed=seed, replications=replications)
        else:
            results = [run(seed=seed, progress=progress_bar())]
    result = results[0]
    # One run that outgrew all bounds outweighs those that did not.
    found = verdict(job, next((one for one in results if one.overloaded), result))
    if as_json:
        print_document({**result_document(job, result, seed), **estimates_document(job, results)})
    else:
        print_result(job, result)
        if replications > 1:
            print_estimates(job, results)
    if found.grade != FINE:
        warn([f"{found.word}: {found.reason}", *found.cautions])
    # Last, so that a page that cannot be written costs nothing but the page.
    if html is not None:
        from streamgauge.cli.simulation_page import simulation_page

        command = shlex.join(["streamgauge", *sys.argv[1:]])
        write_text(html, simulation_page(job, flow, result, seed=seed, command=command))
    if any(one.overloaded for one in results):
        raise typer.Exit(OVERLOADED)


def _sharing(quantum: float | None, switch: float) -> Sharing:
    """How threads share cores, from milliseconds and microseconds."""
    from streamgauge.simulation.cores import Sharing

    return Sharing(
        quantum_seconds=None if quantum is None else quantum / 1e3, switch_seconds=switch / 1e6
    )


def simulator() -> Callable[..., SimulationResult]:
    """The simulator, compiled where it was not yet."""
    from streamgauge.api.simulator import load_simulator

    return load_simulator(say)


def progress_bar() -> Callable[[float, float], None] | None:
    """A line on a terminal: how far simulated time has come, and how long it will take."""
    if not sys.stderr.isatty():
        return None
    began = time.monotonic()
    shown = -SECONDS_BETWEEN

    def show(reached: float, horizon: float) -> None:
        nonlocal shown
        passed = time.monotonic() - began
        part = min(reached / horizon, 1.0)
        if part < 1.0 and passed < shown + SECONDS_BETWEEN:
            return
        shown = passed
        left = f"{passed * (1.0 - part) / part:.0f} s left" if 0.0 < part < 1.0 else ""
        line = f"\r{'█' * round(BAR * part):<{BAR}} {reached:.1f} of {horizon:g} s  {left:<12}"
        # The bar makes room for the answer.
        end = f"\r{' ' * len(line)}\r" if part >= 1.0 else ""
        print(line, end=end, file=sys.stderr, flush=True)

    return show
