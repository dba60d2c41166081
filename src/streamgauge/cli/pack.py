"""``streamgauge pack``: which machines to buy for a job, and what runs on each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, Html, Rate, Step
from streamgauge.cli.output import check_outputs, present, say


def pack(
    catalogue: Annotated[str, typer.Option(help="A file of machine types with their prices.")],
    file: Annotated[
        str | None, typer.Argument(help="A job file; a profile's file is a job too.")
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="A profile in JSON or YAML; its own job is packed if no FILE is given."),
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(help="What to meet, such as 'p99<50ms'. By default: carry the load."),
    ] = None,
    rate: Rate = None,
    step: Step = None,
    options: Annotated[int, typer.Option(help="Points of the spectrum.")] = 5,
    sources: Annotated[
        int | None,
        typer.Option(
            help="Choose the option with so many executors of the source that has most; by default"
            " the one that carries all of the load."
        ),
    ] = None,
    copies: Annotated[
        int | None,
        typer.Option(help="Machines of each type that the exact program may buy; no limit."),
    ] = None,
    tuple_bytes: Annotated[
        float | None, typer.Option(help="Size of a tuple of streams of which it is not known.")
    ] = None,
    latency_ms: Annotated[
        float | None,
        typer.Option(help="One way between machines, in milliseconds; as FILE's cluster, or 0.25."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the job, placed on the machines, to this file."),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Write the picture of the spectrum.")
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Choose the machines to buy: cost against throughput, what runs where, and a lower bound."""
    from streamgauge.api.pack import pack as choose
    from streamgauge.errors import InvalidInput

    check_outputs(output, svg, html)
    job = file if file is not None else profile
    if job is None:
        raise InvalidInput.single(
            ("--profile",), seen="neither FILE nor --profile", expected="a job or a profile"
        )
    report = choose(
        job,
        catalogue,
        None if file is None else profile,
        rate,
        objective,
        step=step,
        options=options,
        sources=sources,
        copies=copies,
        tuple_bytes=tuple_bytes,
        latency_ms=latency_ms,
    )
    if output is not None:
        report = replace(report, written=str(output))
        report.save_job(output)
        say(f"wrote {output}")
    present(report, as_json=as_json, html=html, svg=svg)
