"""``streamgauge profile``: look at what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.output import present
from streamgauge.errors import in_file

app = typer.Typer(help="Show what was measured.", no_args_is_help=True)


# Without this, a group of one command would be that command.
@app.callback()
def _group() -> None:
    """Show what was measured."""


@app.command()
def show(
    file: Annotated[str, typer.Argument(help="A profile in JSON or YAML; - reads standard input.")],
    operator: Annotated[str | None, typer.Option(help="Only this operator, task by task.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show a profile: rates, service times, routing, CPU; what is well measured and what is not."""
    from streamgauge.api.loading import load_profile
    from streamgauge.reports.profile import ProfileReport

    profile = load_profile(file)
    # Ackers are operators too where they were measured.
    if operator is not None and not profile.tasks_of(operator):
        with in_file(file):
            profile.topology.operator(operator)
    present(ProfileReport(profile=profile, operator=operator), as_json=as_json, html=html)
