"""The contract of an expert: a cheap forecaster of one series, one value at a time.

An expert is made for a history, which grows before each `update`. It must not look at anything
else: what it forecasts follows from the values so far.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from streamgauge.plugins import FORECASTERS, load_plugin, plugin_names
from streamgauge.traffic.history import History
from streamgauge.traffic.series import Counts, Vector

# What stands for the names of the standard experts where some are named.
STANDARD = "standard"


class Expert(Protocol):
    """Forecasts a series.

    Attributes:
        name: As it is registered.
        is_standard: Whether it is part of the combination unless others are chosen; what is slow
            or needs an extra is not.
    """

    name: ClassVar[str]
    is_standard: ClassVar[bool]

    def __init__(self, history: History) -> None: ...

    @classmethod
    def describe(cls) -> str:
        """What it does, in one sentence."""

    def update(self) -> None:
        """Take the value that was just appended to the history."""

    def predict(self, steps: Counts) -> Vector:
        """The values expected so many steps ahead, each at least 1; NaN where it cannot tell."""


def load_expert(name: str) -> type[Expert]:
    """The class of an expert, by its name.

    Raises:
        InvalidInput: There is none of that name.
        MissingExtra: It needs a package that is not installed.
    """
    found: type[Expert] = load_plugin(FORECASTERS, name, ("method",))
    return found


def standard_experts() -> tuple[str, ...]:
    """The names of those that are combined unless others are chosen."""
    from streamgauge.errors import MissingExtra

    names = []
    for name in plugin_names(FORECASTERS):
        try:
            if load_expert(name).is_standard:
                names.append(name)
        except MissingExtra:
            continue
    return tuple(names)
