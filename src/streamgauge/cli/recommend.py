"""``streamgauge recommend``: the cheapest plan that meets an objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import AsJson, Html, Rate, Step, Svg
from streamgauge.cli.output import check_outputs, present, say
from streamgauge.cli.predict import Residuals, Window, WithIntervals


def recommend(
    file: Annotated[str, typer.Argument(help="A job file, or a profile; - reads standard input.")],
    objective: Annotated[
        list[str] | None,
        typer.Option(
            help="p99<50ms, mean<2s, 'complete p95<1s', 'due p99<80ms', rate>=5000 or share>=95%;"
            " several with commas. When not given: that the job carries its load."
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="A profile in JSON or YAML, used instead of the behaviours in FILE."),
    ] = None,
    rate: Rate = None,
    step: Step = None,
    minimise: Annotated[
        str, typer.Option(help="What is to be as little as possible: executors, workers, machines.")
    ] = "executors",
    keep: Annotated[
        list[str] | None,
        typer.Option(help="An operator whose executors stay as they are; may be repeated."),
    ] = None,
    at_most: Annotated[
        list[str] | None,
        typer.Option(help="OPERATOR=NUMBER: executors it may have, such as a source's partitions."),
    ] = None,
    max_change: Annotated[
        int | None, typer.Option(help="By how many executors an operator may change at most.")
    ] = None,
    max_workers: Annotated[
        int | None, typer.Option(help="Workers that there may be at most.")
    ] = None,
    utilisation: Annotated[
        float | None,
        typer.Option(help="Part of a machine's cores that may be busy; 0.8 when not given."),
    ] = None,
    sure: Annotated[
        float, typer.Option(help="Odds of meeting the objective that are aimed at.")
    ] = 0.8,
    tasks: Annotated[
        bool | None,
        typer.Option(
            "--tasks/--no-tasks",
            help="Choose numbers of tasks too, as before a first submit; when not given, if nothing"
            " was measured.",
        ),
    ] = None,
    confirm: Annotated[
        bool | None,
        typer.Option(
            "--confirm/--no-confirm",
            help="Simulate the plan; when not given, if the simulator is installed.",
        ),
    ] = None,
    vote: Annotated[
        bool, typer.Option("--vote", help="Ask all schedulers and models which placement is best.")
    ] = False,
    intervals: WithIntervals = True,
    residuals: Residuals = None,
    window: Window = 60.0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the job with the plan to this file."),
    ] = None,
    svg: Svg = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Find the cheapest plan that meets an objective, and say how likely it does."""
    from streamgauge.api.recommend import recommend as ask

    check_outputs(output, svg, html)
    report = ask(
        file,
        objective,
        profile,
        rate=rate or None,
        step=step,
        minimise=minimise,
        keep=keep or (),
        at_most=_parse_counts(at_most or ()),
        max_change=max_change,
        max_workers=max_workers,
        utilisation=utilisation,
        sure=sure,
        tasks=tasks,
        confirm=confirm,
        vote=vote,
        intervals=intervals,
        residuals=residuals,
        window=window,
        say=say,
    )
    if output is not None:
        report = replace(report, written=str(output))
        report.save_job(output)
        say(f"wrote {output}")
    present(report, as_json=as_json, html=html, svg=svg)


def _parse_counts(texts: Sequence[str]) -> dict[str, int]:
    from streamgauge.errors import InvalidInput

    counts = {}
    for text in texts:
        operator, _, amount = text.rpartition("=")
        if not operator or not amount.isdecimal():
            raise InvalidInput.single(
                ("--at-most",), seen=repr(text), expected="OPERATOR=NUMBER, such as spout=8"
            )
        counts[operator] = int(amount)
    return counts
