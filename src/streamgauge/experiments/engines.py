"""Which engines are installed."""

from __future__ import annotations

from importlib.metadata import entry_points

from streamgauge.engines.contract import Engine
from streamgauge.errors import InvalidInput, guess

ENTRY_POINTS = "streamgauge.engines"


def engine_names() -> tuple[str, ...]:
    """The names of all installed engines."""
    return tuple(sorted(point.name for point in entry_points(group=ENTRY_POINTS)))


def load_engine(name: str) -> Engine:
    """The engine of that name; entry points name a class that needs nothing.

    Raises:
        InvalidInput: There is none, or what it is built on is not installed.
    """
    for point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            engine: Engine = point.load()()
        except ModuleNotFoundError as error:
            raise InvalidInput.single(
                (),
                seen=f"engine {name!r} without the module {error.name!r}",
                expected="the extra that brings it",
                remedy="pip install 'streamgauge[simulation,lake]'",
            ) from None
        return engine
    names = engine_names()
    raise InvalidInput.single(
        (),
        seen=f"engine {name!r}",
        expected=f"one of {', '.join(names)}",
        remedy=guess(name, names),
    )
