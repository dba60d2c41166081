"""What a benchmark report is made of."""

from __future__ import annotations

import gc
import json
import math
import os
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

REPORT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """How long something took and what it needed, over several repetitions.

    Attributes:
        seconds: Median wall time of one repetition.
        spread_seconds: Distance between the quartiles of the repetitions.
        repetitions: How many there were.
        peak_bytes: Most memory that Python and numpy held at once, in a repetition of its own.
    """

    seconds: float
    spread_seconds: float
    repetitions: int
    peak_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One benchmark: what was measured, and the ratios that are its result."""

    name: str
    about: str
    cases: dict[str, dict[str, Any]] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)


def measure(work: Callable[[], object], *, repetitions: int) -> Measurement:
    """Time `work` several times, then run it once more to see its memory."""
    seconds = []
    for _ in range(repetitions):
        gc.collect()
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    gc.collect()
    tracemalloc.start()
    try:
        work()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    quartiles = statistics.quantiles(seconds, n=4)
    return Measurement(
        seconds=statistics.median(seconds),
        spread_seconds=quartiles[2] - quartiles[0],
        repetitions=repetitions,
        peak_bytes=peak,
    )


def growth(small: float, large: float, size_ratio: float) -> float:
    """Exponent p of cost ∝ sizeᵖ between two sizes; 1 is linear."""
    return math.log(large / small) / math.log(size_ratio)


def environment() -> dict[str, Any]:
    """The machine and versions that the figures hold for."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "packages": {name: version(name) for name in ("streamgauge", "numpy", "scipy", "numba")},
    }


def write_report(path: Path, entries: Sequence[Entry], seconds: float) -> None:
    """The report as one JSON document."""
    document = {
        "schema_version": REPORT_VERSION,
        "environment": environment(),
        "seconds": round(seconds, 1),
        "entries": [asdict(entry) for entry in entries],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
