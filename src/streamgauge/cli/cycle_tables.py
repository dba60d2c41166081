"""``streamgauge app calibrate``: what cycles take, as a document and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamgauge.applications.cycles import CycleTime, FoundLoad
from streamgauge.cli.output import print_table

# Digits of a cycle's time that a platform file is given.
DIGITS = 4


def cycle_document(time: CycleTime, java: str, loads: Sequence[FoundLoad]) -> dict[str, Any]:
    """All that was found."""
    return {
        "java": java,
        "rounds": len(time.timings[0].cpu_ns),
        "cycle_ns": time.cycle_ns,
        "cycle_ns_error": time.cycle_ns_error,
        "overhead_ns": time.overhead_ns,
        "overhead_ns_error": time.overhead_ns_error,
        "spread": time.spread,
        "waiting": time.waiting,
        "timings": [
            {
                "cycles": one.cycles,
                "cpu_ns": one.mean_ns,
                "cpu_ns_error": one.error_ns,
                "off": time.misfit(one),
            }
            for one in time.timings
        ],
        "loads": [
            {
                "wanted_ms": one.wanted_ms,
                "cycles": one.cycles,
                "processing": one.processing,
                "measured_ms": one.measured_ms,
                "measured_ms_error": one.error_ms,
                "off": one.off,
            }
            for one in loads
        ],
    }


def print_cycles(time: CycleTime, java: str, loads: Sequence[FoundLoad]) -> None:
    """The line, the timings it follows from, and the loads that were wanted."""
    rounds = len(time.timings[0].cpu_ns)
    print(
        f"CPU time of a call = {time.overhead_ns:.3g} ± {time.overhead_ns_error:.1g} ns"
        f" + cycles × {time.cycle_ns:.{DIGITS}g} ± {time.cycle_ns_error:.1g} ns"
        f" (Java {java}, {rounds} rounds)"
    )
    print(f"cycle_ns: {rounded(time.cycle_ns):g}")
    print_table(
        "",
        ("processing", "cycles", "CPU ms", "± ms", "off the line"),
        [
            (
                one.cycles / 1000.0,
                one.cycles,
                _short(one.mean_ns / 1e6),
                _short(one.error_ns / 1e6, 1),
                f"{time.misfit(one):+.1%}",
            )
            for one in time.timings
        ],
    )
    if loads:
        print_table(
            "Loads for wanted times, as tried",
            ("wanted ms", "processing", "CPU ms", "± ms", "off"),
            [
                (
                    one.wanted_ms,
                    one.processing,
                    _short(one.measured_ms),
                    _short(one.error_ms, 1),
                    f"{one.off:+.1%}",
                )
                for one in loads
            ],
        )


def rounded(cycle_ns: float) -> float:
    """To the digits that a platform file is given."""
    return float(f"{cycle_ns:.{DIGITS}g}")


def _short(value: float, digits: int = DIGITS) -> float:
    return float(f"{value:.{digits}g}")
