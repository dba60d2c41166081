"""Runners: the emulator, which runs jobs of any engine, and those that installed engines bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamgauge.plugins import resolve, unknown_name
from streamgauge.transport.engine import engine_names, load_engine

if TYPE_CHECKING:
    from streamgauge.engines.runner import Runner

_OF_EVERY_ENGINE = {"emulator": "streamgauge.engines.emulator.session:EmulatorRunner"}


def runner_names() -> tuple[str, ...]:
    """The names of all runners."""
    return tuple(sorted(_references()))


def load_runner(name: str) -> Runner:
    """The runner of that name.

    Raises:
        InvalidInput: There is none.
        MissingExtra: What it is built on is not installed.
    """
    references = _references()
    if name not in references:
        raise unknown_name("engine", name, sorted(references))
    runner: Runner = resolve(references[name])()
    return runner


def _references() -> dict[str, str]:
    references = dict(_OF_EVERY_ENGINE)
    for name in engine_names():
        references |= load_engine(name).runners
    return references
