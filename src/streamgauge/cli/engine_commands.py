"""The commands that engines bring: groups of their own, and what collects from them."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, NamedTuple

from streamgauge.errors import StreamgaugeError
from streamgauge.plugins import resolve
from streamgauge.transport.engine import engine_names, load_engine


class EngineCommands(NamedTuple):
    """Commands by name; several engines may bring the same.

    Attributes:
        groups: Groups of commands below ``streamgauge``.
        collectors: Commands below ``streamgauge collect``.
    """

    groups: dict[str, Any]
    collectors: dict[str, Any]


@cache
def find_engine_commands() -> EngineCommands:
    """The commands of all installed engines; it is said of which they cannot be loaded."""
    found = EngineCommands({}, {})
    for name in engine_names():
        try:
            engine = load_engine(name)
            groups = {one: resolve(named) for one, named in engine.commands.items()}
            collectors = {one: resolve(named) for one, named in engine.collectors.items()}
        except StreamgaugeError as error:
            print(f"the commands of engine {name!r} are not available: {error}", file=sys.stderr)
            continue
        found.groups.update(groups)
        found.collectors.update(collectors)
    return found
