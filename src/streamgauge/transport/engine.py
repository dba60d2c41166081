"""Engines: one registered record per engine that names all its parts.

Parts are in packages that this one may not import: formulas in `models`, sessions in `engines`,
commands in `cli`. A record therefore names them as ``module:attribute``, and they are imported on
first use. Records themselves import nothing heavy, as commands read them at start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from streamgauge.plugins import ENGINES, load_plugin, plugin_names, resolve

if TYPE_CHECKING:
    from streamgauge.topology.configuration import Setting
    from streamgauge.topology.logical_plan import TaskOrder
    from streamgauge.topology.tuple_flow import Hops
    from streamgauge.transport.mechanics import Mechanics, Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The parts of an engine, each named ``module:attribute``; empty where it has no such part.

    Attributes:
        name: What a configuration calls it.
        transport: A `Transport`: hops, numbering of tasks, routing of keys, mechanics by settings.
        delays: A `models.delays.DelayFormulas`: the delays in a plan's elements by formula.
        chaining: A function (topology, configuration) to chains: tuples of the names of operators
            that run in one thread (`transport.chaining`).
        rebalance: A function (topology, executors=, workers=) to the command, as a list of words,
            that changes the executors of a running topology.
        apply: A function from a plan's file to the command that applies it.
        busy_waits: A function (cycles, rounds=) that times loads of these cycles in the engine.
        runners: By name: a class of `engines.runner.Runner`, which runs jobs on the engine.
        collectors: By name: a command below ``streamgauge collect``.
        commands: By name: a group of commands below ``streamgauge``.
    """

    name: str
    transport: str
    delays: str = ""
    chaining: str = ""
    rebalance: str = ""
    apply: str = ""
    busy_waits: str = ""
    runners: Mapping[str, str] = field(default_factory=dict)
    collectors: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)

    def load(self, part: str) -> Any:
        """What the part of that name refers to; None where the engine has no such part."""
        reference = getattr(self, part)
        return resolve(reference) if reference else None

    def load_transport(self) -> Transport:
        """How it moves tuples."""
        transport: Transport = resolve(self.transport)
        return transport

    @property
    def hops(self) -> Hops:
        """What lies on a connection of each type."""
        return self.load_transport().hops

    @property
    def task_order(self) -> TaskOrder:
        """How it numbers tasks."""
        return self.load_transport().task_order

    def mechanics(self, settings: Mapping[str, Setting]) -> Mechanics:
        """The figures of its queues, threads and limits under those settings."""
        return self.load_transport().mechanics(settings)

    def rebalance_command(
        self, topology: str, *, executors: Mapping[str, int], workers: int | None = None
    ) -> tuple[str, ...]:
        """The command that changes the executors of a running topology; empty where none exists."""
        command = self.load("rebalance")
        return () if command is None else command(topology, executors=executors, workers=workers)

    def apply_command(self, plan_file: str) -> tuple[str, ...]:
        """The command that applies a plan's file to a running topology; empty where none exists."""
        command = self.load("apply")
        return () if command is None else command(plan_file)


def engine_names() -> tuple[str, ...]:
    """The names of all installed engines."""
    return plugin_names(ENGINES)


@cache
def load_engine(name: str) -> Engine:
    """The engine of that name, or InvalidInput with the known names."""
    engine: Engine = load_plugin(ENGINES, name, ("configuration", "engine"))
    return engine
