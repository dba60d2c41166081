"""The command tree."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from streamgauge.cli import (
    applications,
    demo,
    examples,
    experiment,
    ingest,
    lake,
    lake_quarantine,
    lake_query,
    plan,
    predict,
    profile,
    simulate,
    topology,
)
from streamgauge.cli.exit_codes import INTERRUPTED
from streamgauge.errors import StreamgaugeError
from streamgauge.plugins import resolve
from streamgauge.transport.engine import Engine, engine_names, load_engine


class _Commands(TyperGroup):
    """The command tree; an interrupt leaves with 130, where typer would take it for a failure."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="streamgauge",
    cls=_Commands,
    help="Predict how a streaming job would behave under a plan that has never been deployed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Every engine brings the commands that collect from it (`Engine.collectors`).
collect = typer.Typer(
    help="Collect metrics of a cluster without installing anything there.", no_args_is_help=True
)


@collect.callback()
def _collect() -> None:
    """Collect metrics of a cluster without installing anything there."""


app.add_typer(topology.app, name="topology")
app.add_typer(applications.app, name="app")
app.add_typer(collect, name="collect")
app.add_typer(experiment.app, name="experiment")
app.add_typer(profile.app, name="profile")
lake.app.command(name="query")(lake_query.query)
lake.app.command(name="quarantine")(lake_quarantine.quarantine)
app.add_typer(lake.app, name="lake")
app.command(name="ingest")(ingest.ingest)
app.command(name="calibrate")(profile.calibrate)
app.command(name="predict")(predict.predict)
app.command(name="compare")(predict.compare)
app.add_typer(plan.app, name="plan")
app.command(name="simulate")(simulate.simulate)
app.command(name="demo")(demo.demo)
app.command(name="examples")(examples.examples)


def _add_commands(engine: Engine) -> None:
    """The commands that an engine brings; several engines may bring the same."""
    for name, reference in engine.commands.items():
        app.add_typer(resolve(reference), name=name)
    for name, reference in engine.collectors.items():
        collect.command(name=name)(resolve(reference))


for _name in engine_names():
    try:
        _add_commands(load_engine(_name))
    except StreamgaugeError as error:
        print(f"the commands of engine {_name!r} are not available: {error}", file=sys.stderr)


def _version(wanted: bool) -> None:
    if wanted:
        from streamgauge import __version__

        print(f"streamgauge {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """Predict how a streaming job would behave under a plan that has never been deployed."""
