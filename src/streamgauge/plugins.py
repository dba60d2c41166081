"""Plug-ins that packages register: engines, models, schedulers, scalers, forecasters and policies.

A plug-in is found by its group and name, and imported when it is first asked for. What is unknown
is refused with the names that are known; what needs a package that is not installed is refused
with the extra that brings it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from streamgauge.errors import InvalidInput, Place, suggest_name
from streamgauge.extras import require_extra

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Group(NamedTuple):
    """A kind of plug-in.

    Attributes:
        entry_points: The group under which packages register them.
        kind: What messages call one.
    """

    entry_points: str
    kind: str


ENGINES = Group("streamgauge.engines", "engine")
MODELS = Group("streamgauge.models", "model")
SCHEDULERS = Group("streamgauge.schedulers", "scheduler")
SCALERS = Group("streamgauge.scalers", "planner")
FORECASTERS = Group("streamgauge.forecasters", "forecaster")
POLICIES = Group("streamgauge.policies", "policy")


def plugin_names(group: Group) -> tuple[str, ...]:
    """The names of all installed plug-ins of a group, sorted."""
    return tuple(sorted(_entries(tuple(sys.path))[group]))


@cache
def _entries(path: tuple[str, ...]) -> dict[Group, dict[str, EntryPoint]]:
    """By group and name: what packages on that path register; their metadata is read once."""
    from importlib.metadata import entry_points

    del path
    points = entry_points()
    return {
        group: {point.name: point for point in points.select(group=group.entry_points)}
        for group in (ENGINES, MODELS, SCHEDULERS, SCALERS, FORECASTERS, POLICIES)
    }


def load_plugin(group: Group, name: str, place: Place = ()) -> Any:
    """The object that a plug-in's entry names.

    Args:
        group: Which kind.
        name: What it is registered as.
        place: Where the name was given, for the message.

    Raises:
        InvalidInput: There is none of that name.
        MissingExtra: A package that it needs is not installed.
    """
    check_plugin(group, name, place)
    with _naming_package(f"{group.kind} {name!r}"):
        return _entries(tuple(sys.path))[group][name].load()


def check_plugin(group: Group, name: str, place: Place = ()) -> None:
    """Raise InvalidInput where a group has no plug-in of that name; nothing is imported."""
    names = plugin_names(group)
    if name not in names:
        raise unknown_name(group.kind, name, names, place)


def unknown_name(kind: str, name: str, known: Sequence[str], place: Place = ()) -> InvalidInput:
    """The error for a name that is not among the known ones."""
    return InvalidInput.single(
        place,
        seen=f"{kind} {name!r}",
        expected=f"one of {', '.join(known)}",
        remedy=suggest_name(name, known),
    )


def resolve(reference: str) -> Any:
    """The object that ``module:attribute`` names; the module is imported."""
    module, _, attribute = reference.partition(":")
    with _naming_package(reference):
        return getattr(import_module(module), attribute)


@contextmanager
def _naming_package(what: str) -> Iterator[None]:
    """Say what to install where an import inside the block fails."""
    try:
        with require_extra():
            yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise InvalidInput.single(
            (),
            seen=f"{what} without the module {error.name!r}",
            expected=f"an environment that has {package!r}",
            remedy="install the package that brings it",
        ) from None
