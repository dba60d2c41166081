"""What a topology's configuration in Storm says about how it moves and counts tuples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from streamgauge.engines.storm.collection.snapshot import HEARTBEAT_SECONDS, SAMPLING
from streamgauge.topology.configuration import Setting
from streamgauge.transport.engine import load_engine


def engine_of(version: str) -> str:
    """Whose transport a version of Storm has."""
    return "storm-1" if version.startswith(("0.", "1.")) else "storm-2"


def known_settings(engine: str, configuration: Mapping[str, Any]) -> dict[str, Setting]:
    """The settings that our models know, where they are set."""
    return {
        name: configuration[name]
        for name in load_engine(engine).load_transport().settings
        if isinstance(configuration.get(name), bool | int | float)
    }


def sampling_of(configuration: Mapping[str, Any]) -> int:
    """How many tuples the engine counts for each that it looks at."""
    rate = number(configuration.get("topology.stats.sample.rate"))
    return max(int(1.0 / rate), 1) if rate else SAMPLING


def heartbeat_of(configuration: Mapping[str, Any]) -> float:
    """Seconds between two reports of a worker's counters."""
    # Versions before 2 sent them with every heartbeat of their tasks.
    for name in ("executor.metrics.frequency.secs", "task.heartbeat.frequency.secs"):
        seconds = number(configuration.get(name))
        if seconds:
            return seconds
    return float(HEARTBEAT_SECONDS)


def number(value: object) -> float | None:
    """A finite number that is not negative, also where it is written as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and found >= 0 else None
