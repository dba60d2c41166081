"""What a benchmark report is made of, and how work is timed for it."""

from __future__ import annotations

import gc
import json
import math
import os
import platform
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """How long something took and what it needed, over several repetitions.

    Attributes:
        seconds: Median wall-clock time of one repetition.
        spread_seconds: Distance between the quartiles of the repetitions.
        peak_bytes: Most memory that Python and numpy held at once, in a repetition of its own.
    """

    seconds: float
    spread_seconds: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One benchmark: what was measured, and the ratios that are its result."""

    name: str
    about: str
    cases: dict[str, dict[str, Any]] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)

    def time(self, case: str, work: Callable[[], object], *, repetitions: int) -> Measurement:
        """Measure `work` and keep the measurement as a case."""
        measurement = measure(work, repetitions=repetitions)
        self.cases[case] = asdict(measurement)
        return measurement


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
    first, median, third = statistics.quantiles(seconds, n=4)
    return Measurement(seconds=median, spread_seconds=third - first, peak_bytes=peak)


def say(text: str) -> None:
    """A line of progress on standard error."""
    print(f"  {text}", file=sys.stderr)


def progress(items: Sequence[Item], what: str) -> Iterator[Item]:
    """The items one by one, with a line of progress when the work on one is done."""
    begin = time.perf_counter()
    for number, item in enumerate(items, start=1):
        yield item
        say(f"{number} of {len(items)} {what}, {time.perf_counter() - begin:.0f} s")


def growth(small: float, large: float, size_ratio: float) -> float:
    """Exponent p of cost ∝ sizeᵖ between two sizes; 1 is linear."""
    return math.log(large / small) / math.log(size_ratio)


def read_report(path: Path, *, large: bool) -> list[Entry]:
    """The entries of a report that was written before; none where there is no report.

    Raises:
        ValueError: It was measured at the other size.
    """
    if not path.exists():
        return []
    document = json.loads(path.read_text(encoding="utf-8"))
    if document.get("large") != large:
        raise ValueError(
            f"{path}: not measured at the same size; name another --output or leave out --resume"
        )
    return [Entry(**entry) for entry in document["entries"]]


def write_report(path: Path, entries: Sequence[Entry], seconds: float, *, large: bool) -> None:
    """The report as one JSON document, with the machine and versions that its figures hold for."""
    document = {
        "schema_version": 1,
        "large": large,
        "environment": {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "system": platform.system(),
            "cores": os.cpu_count(),
            "packages": {
                name: version(name) for name in ("streamgauge", "numpy", "scipy", "numba")
            },
        },
        "seconds": round(seconds, 1),
        "entries": [_finite(asdict(entry)) for entry in entries],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _finite(value: Any) -> Any:
    """The same with null for infinite and missing figures, which JSON has no numbers for."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
