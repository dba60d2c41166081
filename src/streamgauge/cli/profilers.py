"""``streamgauge profile resources`` and ``router``: profilers that run what they measure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, Html, Rate, Step, Svg
from streamgauge.cli.output import check_outputs, present, say


def resources(
    file: Annotated[str, typer.Argument(help="A job file, or a profile; - reads standard input.")],
    profile: Annotated[
        str | None,
        typer.Option(help="A profile in JSON or YAML, used instead of the behaviours in FILE."),
    ] = None,
    rate: Rate = None,
    step: Step = None,
    cores: Annotated[float, typer.Option(help="Cores that an instance begins with.")] = 1.0,
    memory_mib: Annotated[float, typer.Option(help="MiB that an instance begins with.")] = 512.0,
    threshold: Annotated[
        float, typer.Option(help="Part in use above which a resource is short.")
    ] = 0.9,
    rounds: Annotated[int, typer.Option(help="Most rounds.")] = 8,
    seconds: Annotated[float, typer.Option(help="Simulated time of a round.")] = 10.0,
    seed: Annotated[int, typer.Option(help="Of the simulation.")] = 1,
    svg: Svg = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Find in simulated rounds what an instance of each operator needs, and how many to run."""
    from streamgauge.api.profilers import profile_resources

    check_outputs(svg, html)
    report = profile_resources(
        file,
        profile,
        rate=rate or None,
        step=step,
        cores=cores,
        memory_mib=memory_mib,
        threshold=threshold,
        rounds=rounds,
        seconds=seconds,
        seed=seed,
        say=say,
    )
    present(report, as_json=as_json, html=html, svg=svg)


def router(
    catalogue: Annotated[str, typer.Option(help="A file of machine types with their prices.")],
    tuple_us: Annotated[
        list[str],
        typer.Option(
            help="Microseconds that a router takes for a tuple, or TYPE=NUMBER for one machine"
            " type; may be repeated."
        ),
    ],
    source_rate: Annotated[
        float | None,
        typer.Option(help="Tuples per second of one source; 5 % of what the router could do."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also measure types that have a limit.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the simulation.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the catalogue with the limits to this file."),
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Find in simulated containers what a router carries on each machine type, and store it."""
    from streamgauge.api.profilers import profile_router

    check_outputs(output, html)
    report = profile_router(
        catalogue,
        _parse_times(tuple_us),
        source_rate=source_rate,
        again=again,
        seed=seed,
        say=say,
    )
    if output is not None:
        report.save_catalogue(output)
        say(f"wrote {output}")
    present(report, as_json=as_json, html=html)


def _parse_times(texts: Sequence[str]) -> float | dict[str, float]:
    """One number for all, or numbers by machine type."""
    from streamgauge.errors import InvalidInput

    times: dict[str, float] = {}
    for text in texts:
        name, _, amount = text.rpartition("=")
        try:
            times[name] = float(amount)
        except ValueError:
            raise InvalidInput.single(
                ("--tuple-us",), seen=repr(text), expected="a number, or TYPE=NUMBER"
            ) from None
    if "" in times:
        if len(times) > 1:
            raise InvalidInput.single(
                ("--tuple-us",),
                seen="a number for all types beside others",
                expected="one number, or TYPE=NUMBER for each",
            )
        return times[""]
    return times
