"""Cycles and CPU time: how long the loop that simulates work takes on a machine.

A load is a number of cycles of an empty loop. A cycle takes a different time on every machine, so
the loop is timed (Pagliari 2021, Fig. 4.9): cpu(cycles) = a + b * cycles. The constant a is what a
call costs in addition to its cycles; without it, loads of a few cycles would seem far too cheap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings, NotEnoughData
from streamgauge.topology.field_checks import check_number

# Loads of 0.1 to 2000, as far as NAMB's experiments go.
PROBED_CYCLES = (100, 1_000, 10_000, 100_000, 500_000, 1_000_000, 2_000_000)
LEAST_ROUNDS = 2
# Digits of a cycle's time that a platform file is given.
DIGITS = 4
# No core does a hundred cycles in a nanosecond: a loop that fast was optimised away.
LEAST_CYCLE_NS = 0.01
# Limits above which a remark is made; our choice, made before anything was measured.
MUCH_WAITING = 0.05
UNSTEADY = 0.03
CROOKED = 0.05
# The search for a load ends within this relative error, or after this many tries.
NEAR_ENOUGH = 0.01
TRIES = 4
# The longest CPU time per tuple to search a load for; thirty rounds of it take half a minute.
MOST_MS = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTiming:
    """The loop with one number of cycles: nanoseconds of a call, in several rounds."""

    cycles: int
    cpu_ns: tuple[float, ...]
    wall_ns: tuple[float, ...]

    @property
    def mean_ns(self) -> float:
        """CPU time of a call."""
        return float(np.mean(self.cpu_ns))

    @property
    def error_ns(self) -> float:
        """Its standard error, with independent rounds."""
        return _find_standard_error(np.asarray(self.cpu_ns))


# Times the loop with each of these numbers of cycles.
Probe = Callable[[Sequence[int]], Sequence[LoadTiming]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleTime:
    """What cycles take on a machine: cpu(cycles) = overhead + cycles * cycle.

    Attributes:
        overhead_ns: CPU nanoseconds of a call in addition to its cycles.
        spread: Standard deviation of a cycle's time over the rounds, as a part of it.
        waiting: Part of the time in which the loop had no core.
    """

    cycle_ns: float
    cycle_ns_error: float
    overhead_ns: float
    overhead_ns_error: float
    spread: float
    waiting: float
    timings: tuple[LoadTiming, ...]

    @property
    def rounded_ns(self) -> float:
        """A cycle's time, rounded for a platform file."""
        return float(f"{self.cycle_ns:.{DIGITS}g}")

    def cpu_ns(self, cycles: float) -> float:
        """CPU nanoseconds of a call of `cycles` cycles."""
        return self.overhead_ns + cycles * self.cycle_ns

    def cycles_for(self, cpu_ns: float) -> int:
        """Cycles of a call that takes `cpu_ns`; zero where an empty call already takes longer."""
        return max(0, round((cpu_ns - self.overhead_ns) / self.cycle_ns))

    def misfit(self, timing: LoadTiming) -> float:
        """Relative deviation of a timing from the fitted line."""
        return timing.mean_ns / self.cpu_ns(timing.cycles) - 1.0

    @property
    def remarks(self) -> tuple[str, ...]:
        """Why the figures may be inaccurate."""
        remarks = []
        if self.waiting > MUCH_WAITING:
            remarks.append(
                f"the loop waited {self.waiting:.0%} of the time for a core: the machine is busy; "
                "repeat the calibration when nothing else runs"
            )
        if self.spread > UNSTEADY:
            remarks.append(
                f"a cycle's time differs by {self.spread:.1%} from round to round: the cores "
                "change their speed or are shared; fix their frequency or use more rounds"
            )
        worst = max(self.timings, key=lambda timing: abs(self.misfit(timing)))
        if abs(self.misfit(worst)) > CROOKED:
            remarks.append(
                f"the time of {worst.cycles} cycles is {self.misfit(worst):+.0%} off the fitted "
                "line; the figures do not hold for loads of that size"
            )
        return tuple(remarks)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLoad:
    """The load found for a target CPU time, and the CPU time measured with it.

    Attributes:
        measured_ms: Measured CPU milliseconds, the engine's own included.
    """

    wanted_ms: float
    cycles: int
    measured_ms: float
    error_ms: float

    @property
    def processing(self) -> float:
        """In thousands of cycles, as application files give it."""
        return self.cycles / 1000.0

    @property
    def off(self) -> float:
        """Relative deviation of the measured time from the target."""
        return self.measured_ms / self.wanted_ms - 1.0

    @property
    def remarks(self) -> tuple[str, ...]:
        """Why the load may miss the target."""
        if self.cycles == 0:
            return (
                f"{self.wanted_ms:g} ms is less than an empty call and the engine take together",
            )
        if abs(self.off) > NEAR_ENOUGH:
            return (f"the best load found for {self.wanted_ms:g} ms is off by {self.off:+.1%}",)
        return ()


def fit_cycle_time(timings: Sequence[LoadTiming]) -> CycleTime:
    """Fit a line in every round; the spread over rounds gives the standard errors.

    Raises:
        NotEnoughData: Fewer than two numbers of cycles or two rounds, or a loop that takes no time.
    """
    rounds = min((len(timing.cpu_ns) for timing in timings), default=0)
    if rounds < LEAST_ROUNDS or len({timing.cycles for timing in timings}) < 2:
        raise NotEnoughData(
            f"timings of {len(timings)} cycle counts in {rounds} rounds; expected at least two "
            "cycle counts and two rounds"
        )
    cycles = [float(timing.cycles) for timing in timings]
    lines = np.array(
        [fit_line(cycles, [timing.cpu_ns[turn] for timing in timings]) for turn in range(rounds)]
    )
    overheads, slopes = lines[:, 0], lines[:, 1]
    cycle_ns = float(slopes.mean())
    if not cycle_ns > LEAST_CYCLE_NS:
        raise NotEnoughData(
            f"a cycle time of {cycle_ns:g} ns; expected more than {LEAST_CYCLE_NS:g} ns: "
            "the compiler may have optimised the loop away"
        )
    running = [np.asarray(timing.cpu_ns) / np.asarray(timing.wall_ns) for timing in timings]
    return CycleTime(
        cycle_ns=cycle_ns,
        cycle_ns_error=_find_standard_error(slopes),
        overhead_ns=float(overheads.mean()),
        overhead_ns_error=_find_standard_error(overheads),
        spread=float(slopes.std(ddof=1)) / cycle_ns,
        waiting=max(0.0, 1.0 - float(np.mean(running))),
        timings=tuple(timings),
    )


def fit_line(cycles: Sequence[float], cpu: Sequence[float]) -> tuple[float, float]:
    """Constant and slope of the line through these points, by least squares of relative errors.

    Disturbances grow in proportion to the length of a loop.
    """
    times = np.maximum(np.asarray(cpu, dtype=float), np.finfo(float).tiny)
    matrix = np.stack([np.ones(len(times)), np.asarray(cycles, dtype=float)], axis=1)
    # Scaled columns, so that the constant is not lost next to millions of cycles.
    scale = np.abs(matrix / times[:, None]).max(axis=0)
    fit, *_ = np.linalg.lstsq(matrix / times[:, None] / scale, np.ones(len(times)), rcond=None)
    constant, slope = fit / scale
    return float(constant), float(slope)


def find_load(
    wanted_ms: float, time: CycleTime, probe: Probe, *, engine_ms: float = 0.0
) -> FoundLoad:
    """Find the load whose tuples take `wanted_ms` of CPU time, and measure it.

    The fitted line gives the first guess; where a try is not close enough, the number of cycles is
    corrected in proportion, which on a line converges faster than bisection.

    The engine's own CPU time on a tuple counts, if `wanted_ms` includes it.

    Raises:
        InvalidInput: See `check_cpu_times`.
    """
    check_cpu_times([wanted_ms], engine_ms)
    left_ns = (wanted_ms - engine_ms) * 1e6
    cycles = time.cycles_for(left_ns)
    tries: list[FoundLoad] = []
    for _ in range(TRIES):
        (timing,) = probe([cycles])
        tried = FoundLoad(
            wanted_ms=wanted_ms,
            cycles=cycles,
            measured_ms=engine_ms + timing.mean_ns / 1e6,
            error_ms=timing.error_ns / 1e6,
        )
        tries.append(tried)
        taken_ns = timing.mean_ns - time.overhead_ns
        if cycles == 0 or abs(tried.off) <= NEAR_ENOUGH or not taken_ns > 0.0:
            break
        cycles = max(0, round(cycles * (left_ns - time.overhead_ns) / taken_ns))
    return min(tries, key=lambda load: abs(load.off))


def check_cpu_times(wanted_ms: Iterable[float], engine_ms: float) -> None:
    """Check the target CPU times of loads.

    Raises:
        InvalidInput: A time is not above zero and at most a second, or the engine's is negative.
    """
    findings = Findings()
    for cpu_ms in wanted_ms:
        check_number(findings, cpu_ms, "ms", above=0.0, most=MOST_MS)
    check_number(findings, engine_ms, "engine_ms", most=MOST_MS)
    findings.raise_if_any()


def _find_standard_error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
