"""``streamgauge plan``: where to place a job's executors, and which operators to give more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, HistoryLake, Html, Load, Rate, Series, Step
from streamgauge.cli.output import check_outputs, present, say, write_text

app = typer.Typer(
    help="Place a job's executors, and choose the operators that get more.",
    no_args_is_help=True,
)

Profile = Annotated[
    str | None,
    typer.Option(help="A profile in JSON or YAML, used instead of the behaviours in FILE."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the job with the plan to this file.")
]
SvgPath = Annotated[Path | None, typer.Option("--svg", help="Write a picture, before and after.")]

# The second picture of a scaling, after that of components.
CURVE = 1


@app.command()
def place(
    file: Annotated[str, typer.Argument(help="A job file; - reads standard input.")],
    scheduler: Annotated[
        str, typer.Option(help="The scheduler to use; all: every one, side by side.")
    ] = "all",
    profile: Profile = None,
    step: Step = None,
    rate: Rate = None,
    load: Load = None,
    series: Series = None,
    lake: HistoryLake = None,
    by: Annotated[
        str,
        typer.Option(
            help="Choose the best by: mean, p50, p90, p95, p99, rate, or remote (traffic)."
        ),
    ] = "p99",
    utilisation: Annotated[
        float | None,
        typer.Option(help="traffic-aware: part of a machine's cores to fill; 0.8 by default."),
    ] = None,
    ackers: Annotated[
        bool, typer.Option("--ackers", help="Draw ackers and their streams too.")
    ] = False,
    output: Output = None,
    svg: SvgPath = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Place a job by one scheduler or all: traffic between nodes, ackers, predicted latency."""
    from streamgauge.api.rank_placements import rank_placements

    check_outputs(output, svg, html)
    report = replace(
        rank_placements(
            file,
            profile,
            rate,
            step,
            scheduler,
            by,
            utilisation,
            load=load,
            series=series,
            lake=lake,
        ),
        written="" if output is None else str(output),
        ackers=ackers,
    )
    if output is not None:
        report.save_job(output)
        say(f"wrote {output}")
    present(report, as_json=as_json, html=html, svg=svg)


@app.command()
def scale(
    file: Annotated[
        str, typer.Argument(help="A job file, or components with rates in the published form.")
    ],
    units: Annotated[
        int | None,
        typer.Option(help="How many units to hand out. By default as FILE says."),
    ] = None,
    planner: Annotated[
        str, typer.Option(help="The planner to use; all: every one, side by side.")
    ] = "combined",
    profile: Profile = None,
    step: Step = None,
    rate: Rate = None,
    load: Load = None,
    series: Series = None,
    lake: HistoryLake = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Also show what 1, 2 … units would gain.")
    ] = False,
    unit: Annotated[
        str,
        typer.Option(
            help="What a unit is: an executor, or an isolated-worker: a worker of its own for"
            " every executor."
        ),
    ] = "executor",
    unit_cores: Annotated[
        float, typer.Option(help="Cores that a unit may keep busy, where something limits it.")
    ] = 1.0,
    ties: Annotated[
        str,
        typer.Option(
            help="Stela: which of equal components gets the unit: the first or last declared,"
            " or most-dropped."
        ),
    ] = "first",
    packages: Annotated[
        str,
        typer.Option(help="How packages are chosen: greedy (by gain per unit) or knapsack."),
    ] = "greedy",
    recheck: Annotated[
        bool, typer.Option("--recheck", help="Check packages together that share components.")
    ] = False,
    tolerate_drops: Annotated[
        float,
        typer.Option(help="Tuples per second a component may drop before it is congested."),
    ] = 0.0,
    sink_weight: Annotated[
        list[str] | None,
        typer.Option(help="SINK=NUMBER: what a tuple of that sink counts; 1 by default."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="A profile of a run: compare its rates with the estimated ones."),
    ] = None,
    components: Annotated[
        Path | None,
        typer.Option(help="Write the graph of components, with the rates of --against, as JSON."),
    ] = None,
    output: Output = None,
    svg: SvgPath = None,
    curve: Annotated[
        Path | None,
        typer.Option(help="Write a picture of what units deliver; implies --sweep."),
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Say which operators get more executors, what that would bring, and what is full next."""
    from streamgauge.api.rank_scalings import rank_scalings

    check_outputs(components, output, svg, curve, html)
    report = rank_scalings(
        file,
        units,
        profile,
        rate,
        step,
        planner,
        sweep=sweep or curve is not None or html is not None,
        unit=unit,
        unit_cores=unit_cores,
        ties=ties,
        packages=packages,
        recheck=recheck,
        tolerate_drops=tolerate_drops,
        sink_weights=_parse_weights(sink_weight or ()),
        against=against,
        load=load,
        series=series,
        lake=lake,
    )
    if output is not None:
        report = replace(report, written=str(output))
        report.save_job(output)
        say(f"wrote {output}")
    if components is not None:
        report.save_components(components)
        say(f"wrote {components}")
    if curve is not None:
        write_text(curve, report.plot(CURVE).svg)
    present(report, as_json=as_json, html=html, svg=svg)


def _parse_weights(texts: Sequence[str]) -> dict[str, float]:
    from streamgauge.errors import InvalidInput

    weights = {}
    for text in texts:
        sink, _, amount = text.rpartition("=")
        try:
            weights[sink] = float(amount)
        except ValueError:
            sink = ""
        if not sink:
            raise InvalidInput.single(
                ("--sink-weight",), seen=repr(text), expected="SINK=NUMBER, such as counter=2"
            )
    return weights
