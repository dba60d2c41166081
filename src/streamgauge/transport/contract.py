"""What an engine's transport is, and which ones are installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

from streamgauge.errors import InvalidInput, guess
from streamgauge.topology.configuration import Setting
from streamgauge.topology.logical_plan import TaskOrder
from streamgauge.topology.tuple_flow import Hops
from streamgauge.transport.mechanics import Mechanics

ENTRY_POINTS = "streamgauge.transports"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """How one engine moves tuples.

    Attributes:
        name: What a configuration calls the engine.
        hops: What lies on a connection of each type.
        task_order: How the engine numbers tasks.
        mechanics: The figures of its queues, threads and limits under given settings.
    """

    name: str
    hops: Hops
    task_order: TaskOrder
    mechanics: Callable[[Mapping[str, Setting]], Mechanics]


def transport_names() -> tuple[str, ...]:
    """The engines whose transport is known."""
    return tuple(sorted(point.name for point in entry_points(group=ENTRY_POINTS)))


@cache
def load_transport(engine: str) -> Transport:
    """The transport of that engine, or InvalidInput with the known names."""
    for point in entry_points(group=ENTRY_POINTS, name=engine):
        transport: Transport = point.load()
        return transport
    names = transport_names()
    raise InvalidInput.single(
        ("configuration", "engine"),
        seen=f"engine {engine!r}",
        expected=f"one of {', '.join(names)}",
        remedy=guess(engine, names),
    )
