"""``streamgauge slo``: objectives of jobs by the metrics that their agents are writing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.exit_codes import NOT_ENOUGH_DATA
from streamgauge.cli.options import AsJson, Html
from streamgauge.cli.output import check_outputs, present, say, terminal_width, warn
from streamgauge.cli.progress import interrupted
from streamgauge.errors import InvalidInput

if TYPE_CHECKING:
    from streamgauge.api.slo_status import SloWatch

app = typer.Typer(help="Objectives of jobs by live metrics.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Objectives of jobs by live metrics."""


@app.command()
def status(
    metrics: Annotated[
        Path, typer.Option(help="A folder of raw metrics; files in writing are read too.")
    ],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Clusters that jobs share, or jobs with an objective among their settings;"
            " the plans in the metrics when not given."
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Look again and again, until Ctrl-C.")
    ] = False,
    every: Annotated[float, typer.Option(help="With --follow: seconds between two looks.")] = 10.0,
    congestion: Annotated[
        str, typer.Option(help="What makes an operator congested: capacity, queue or etp.")
    ] = "capacity",
    policy: Annotated[
        str | None,
        typer.Option(help="Say what this policy would do; nothing is done. Names as in `replay`."),
    ] = None,
    gate: Annotated[
        Path | None,
        typer.Option(
            help="Folder of plans of a Storm cluster with our scheduler: new topologies wait there"
            " while those that run do not all meet their objectives."
        ),
    ] = None,
    window: Annotated[float, typer.Option(help="Seconds that figures are of.")] = 60.0,
    subwindow: Annotated[
        float, typer.Option(help="Seconds by which the window moves; metrics must come as often.")
    ] = 10.0,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Say which jobs meet their objectives by the last minute; exit code 3 if one does not."""
    from streamgauge.api.slo_status import SloWatch

    if follow and html is not None:
        raise InvalidInput.single(
            ("--html",), seen="--html with --follow", expected="a page of one look"
        )
    if not 0.0 < every <= 3600.0:
        raise InvalidInput.single(("--every",), seen=f"{every:g}", expected="above 0, at most 3600")
    check_outputs(html)
    watch = SloWatch(
        files or (),
        metrics=metrics,
        congestion=congestion,
        policy=policy,
        gate=gate,
        window=window,
        subwindow=subwindow,
    )
    if follow:
        _follow(watch, every, as_json=as_json)
        return
    report = watch.look_back()
    present(report, as_json=as_json, html=html)
    if not report.is_known:
        raise typer.Exit(NOT_ENOUGH_DATA)


def _follow(watch: SloWatch, every: float, *, as_json: bool) -> None:
    """Look until somebody interrupts; documents are one a line."""
    import json

    say(f"following {watch.metrics}; stop with Ctrl-C")
    with interrupted("stopping") as stop:
        while True:
            report = watch.look()
            if as_json:
                print(json.dumps(report.to_dict(), ensure_ascii=False), flush=True)
            else:
                warn(report.warnings)
                print(report.to_text(terminal_width()), flush=True)
            if stop.wait(every):
                return
