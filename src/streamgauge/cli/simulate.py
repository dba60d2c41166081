"""``streamgauge simulate``: run a job in simulated time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, Html, JobFile, Rate, Step
from streamgauge.cli.output import check_outputs, present, say
from streamgauge.cli.progress import watch_simulated_time

Seconds = Annotated[
    float | None,
    typer.Option(
        help="Simulated time to measure; as long as rates and windows need unless given. The"
        " warm-up is simulated in addition."
    ),
]
Warmup = Annotated[
    float | None,
    typer.Option(
        help="Simulated time to leave out before. Unless given, a quarter of --seconds is"
        " simulated in addition, and what is not steady of it is left out."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of the random numbers.")]


def simulate(
    file: JobFile,
    step: Step = None,
    seconds: Seconds = None,
    warmup: Warmup = None,
    rate: Rate = None,
    seed: Seed = 1,
    replications: Annotated[
        int, typer.Option(help="Independent runs, on all cores; figures then have an interval.")
    ] = 1,
    html: Html = None,
    samples: Annotated[
        Path | None,
        typer.Option(help="Write what a cluster's agent would measure to this folder."),
    ] = None,
    bucket: Annotated[float, typer.Option(help="Seconds that one sample spans.")] = 10.0,
    as_json: AsJson = False,
) -> None:
    """Simulate a job tuple by tuple: throughput, latency with percentiles, back-pressure, CPU.

    Exit code 3 says that the job is overloaded.
    """
    from streamgauge.api.simulate import simulate as ask

    check_outputs(html)
    report = ask(
        file,
        step=step,
        rate=rate,
        seconds=seconds,
        warmup=warmup,
        seed=seed,
        replications=replications,
        samples=samples,
        bucket_seconds=bucket,
        progress=watch_simulated_time(),
        say=say,
    )
    present(report, as_json=as_json, html=html)
