"""``streamgauge collect``: metrics from outside; every engine brings its own collectors."""

from __future__ import annotations

import typer

from streamgauge.cli.engine_commands import find_engine_commands

app = typer.Typer(
    help="Collect metrics of a cluster without installing anything there.", no_args_is_help=True
)


@app.callback()
def _collect() -> None:
    """Collect metrics of a cluster without installing anything there."""


for _name, _collector in find_engine_commands().collectors.items():
    app.command(name=_name)(_collector)
