"""``streamgauge recommend``: the cheapest plan that meets an objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

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
        str,
        typer.Option(
            help="What is to be as little as possible: executors, workers, machines, or money,"
            " which needs --catalogue."
        ),
    ] = "executors",
    catalogue: Annotated[
        str | None,
        typer.Option(
            help="A file of machine types with their prices: what the machines cost now, and the"
            " cheapest that hold the plan."
        ),
    ] = None,
    tuple_bytes: Annotated[
        float | None,
        typer.Option(help="With --catalogue: size of a tuple of streams of which it is not known."),
    ] = None,
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
    horizon: Annotated[
        str | None,
        typer.Option(help="A timetable of plans for the forecast load so far ahead: 24h."),
    ] = None,
    series: Annotated[
        str | None,
        typer.Option(
            help="With --horizon: a CSV file of source rates; the history of --lake or of the"
            " profile when not given."
        ),
    ] = None,
    lake: Annotated[
        str | None,
        typer.Option(
            help="With --horizon: a lake with the history of the sources, and how long rebalances"
            " took."
        ),
    ] = None,
    forecast_step: Annotated[
        str | None, typer.Option(help="With --horizon: length of a step of the forecast: 15m.")
    ] = None,
    rescaling: Annotated[
        str | None,
        typer.Option(
            help="With --horizon: for how long a change stops the job; as rebalances took in the"
            " lake by default."
        ),
    ] = None,
    miss_weight: Annotated[
        float | None,
        typer.Option(
            help="With --horizon: how many times the plan's cost a time counts in which a change"
            " misses the objective; 10 when not given."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the job with the plan to this file; with --horizon, one for each plan.",
        ),
    ] = None,
    svg: Svg = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Find the cheapest plan that meets an objective, or a timetable of plans, and the odds."""
    check_outputs(output, svg, html)
    shared: dict[str, Any] = {
        "step": step,
        "minimise": minimise,
        "catalogue": catalogue,
        "tuple_bytes": tuple_bytes,
        "keep": keep or (),
        "at_most": _parse_counts(at_most or ()),
        "max_change": max_change,
        "max_workers": max_workers,
        "utilisation": utilisation,
        "sure": sure,
        "intervals": intervals,
        "residuals": residuals,
        "window": window,
        "say": say,
    }
    ahead = {
        "series": series,
        "lake": lake,
        "forecast_step": forecast_step,
        "rescaling": rescaling,
        "miss_weight": miss_weight,
    }
    given: dict[str, Any] = {name: value for name, value in ahead.items() if value is not None}
    if horizon is None:
        _refuse(given, "a timetable, which takes --horizon as well")
        from streamgauge.api.recommend import recommend as ask

        one = ask(
            file,
            objective,
            profile,
            rate=rate or None,
            tasks=tasks,
            confirm=confirm,
            vote=vote,
            **shared,
        )
        if output is not None:
            one = replace(one, written=str(output))
            one.save_job(output)
            say(f"wrote {output}")
        present(one, as_json=as_json, html=html, svg=svg)
        return
    not_ahead = {"rate": rate, "tasks": tasks, "confirm": confirm, "vote": vote}
    _refuse(
        {name: value for name, value in not_ahead.items() if value},
        "nothing of the kind with --horizon: the load is forecast, and tasks stay as they are",
    )
    from streamgauge.api.timetable import timetable

    table = timetable(file, objective, profile, horizon=horizon, **shared, **given)
    if output is not None:
        table = replace(table, written=str(output))
        for written in table.save_plans(output):
            say(f"wrote {written}")
    present(table, as_json=as_json, html=html, svg=svg)


def _refuse(given: Mapping[str, object], expected: str) -> None:
    """Refuse options that do not go with the others."""
    from streamgauge.errors import Findings

    with Findings() as findings:
        for name in given:
            option = "--" + name.replace("_", "-")
            findings.add(option, seen=option, expected=expected)


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
