"""The command tree: each command is imported when it is called, or when help lists it."""

from __future__ import annotations

import sys
from collections import UserDict
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from streamgauge.cli.exit_codes import INTERRUPTED
from streamgauge.plugins import resolve

# In the order in which help lists them; those of engines follow.
COMMANDS = {
    "ingest": "streamgauge.cli.ingest:ingest",
    "calibrate": "streamgauge.cli.profile:calibrate",
    "predict": "streamgauge.cli.predict:predict",
    "compare": "streamgauge.cli.predict:compare",
    "cost": "streamgauge.cli.cost:cost",
    "sweep": "streamgauge.cli.sweep:sweep",
    "recommend": "streamgauge.cli.recommend:recommend",
    "forecast": "streamgauge.cli.forecast:forecast",
    "outlook": "streamgauge.cli.outlook:outlook",
    "update": "streamgauge.cli.update:update",
    "simulate": "streamgauge.cli.simulate:simulate",
    "replay": "streamgauge.cli.replay:replay",
    "slo": "streamgauge.cli.slo:app",
    "pack": "streamgauge.cli.pack:pack",
    "demo": "streamgauge.cli.demo:demo",
    "examples": "streamgauge.cli.examples:examples",
    "topology": "streamgauge.cli.topology:app",
    "app": "streamgauge.cli.applications:app",
    "collect": "streamgauge.cli.collect:app",
    "experiment": "streamgauge.cli.experiment:app",
    "profile": "streamgauge.cli.profile:app",
    "lake": "streamgauge.cli.lake:app",
    "plan": "streamgauge.cli.plan:app",
}


class _Commands(UserDict[str, Any]):
    """Commands by name, put in as references, functions or groups; got as typer's commands."""

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if isinstance(found, str):
            found = resolve(found)
        if not hasattr(found, "make_context"):
            found = self.data[name] = _build(name, found)
        return found


def _build(name: str, called: Any) -> Any:
    """A function, or a group of commands, as typer's command."""
    alone = typer.Typer()
    if isinstance(called, typer.Typer):
        alone.add_typer(called, name=name)
    else:
        alone.command(name=name)(called)
    return typer.main.get_group(alone).commands[name]


class _Tree(TyperGroup):
    """The command tree; an interrupt leaves with 130, where typer would take it for a failure."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Commands(COMMANDS)

    def list_commands(self, ctx: Any) -> list[str]:
        self._add_engines()
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            self._add_engines()
        return super().get_command(ctx, cmd_name)

    def _add_engines(self) -> None:
        from streamgauge.cli.engine_commands import find_engine_commands

        for name, group in find_engine_commands().groups.items():
            self.commands.setdefault(name, group)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="streamgauge",
    cls=_Tree,
    help="Predict how a streaming job would behave under a plan that has never been deployed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
