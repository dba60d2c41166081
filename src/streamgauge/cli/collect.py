"""``streamgauge collect``: metrics of clusters on which nothing of ours is installed.

Every engine brings the commands that collect from it (`Engine.collectors`).
"""

from __future__ import annotations

import typer

app = typer.Typer(
    help="Collect metrics of a cluster without installing anything there.", no_args_is_help=True
)


@app.callback()
def _collect() -> None:
    """Collect metrics of a cluster without installing anything there."""
