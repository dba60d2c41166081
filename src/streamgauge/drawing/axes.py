"""Axes of charts: from numbers to positions, and round numbers for their ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

_STEPS = (1, 2, 5)
_FEWER_STEPS = (1, 3)
_LEAST_TICKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A range of numbers along a line.

    Attributes:
        low: Number at its beginning; above zero on a logarithmic axis.
        high: Number at its end, above `low`.
        log: Whether equal ratios, not equal differences, are equally long.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not -math.inf < self.low < self.high < math.inf or (self.log and self.low <= 0.0):
            raise ValueError(f"no axis from {self.low!r} to {self.high!r}")

    def part(self, value: float) -> float:
        """Position of a number on the axis: 0 at its beginning, 1 at its end."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[float]:
        """Round numbers on the axis, ascending, at most `most`."""
        return (
            log_ticks(self.low, self.high, most) if self.log else ticks(self.low, self.high, most)
        )


def ticks(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from `low` to `high`, at most `most`."""
    power = math.floor(math.log10((high - low) / max(most, 1)))
    while True:
        for factor in _STEPS:
            # Dividing by a whole number keeps 0.3 what it is; multiplying by 0.1 does not.
            up, down = factor * 10 ** max(power, 0), 10 ** max(-power, 0)
            first, last = math.ceil(low * down / up), math.floor(high * down / up)
            if last - first < most:
                numbers = [count * up / down for count in range(first, last + 1)]
                return [number for number in numbers if low <= number <= high]
        power += 1


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Powers of ten, with 2 and 5 or 3 times them where there is room, or others as round."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    sparse = [((1,), every) for every in (1, 2, 3, 5, 10, 30, 100, 300)]
    for factors, every in ((_STEPS, 1), (_FEWER_STEPS, 1), *sparse):
        powers = [power for power in range(first, last + 1) if power % every == 0]
        numbers = [_times_ten(factor, power) for power in powers for factor in factors]
        numbers = [number for number in numbers if low <= number <= high]
        if len(numbers) < _LEAST_TICKS and factors is _STEPS:
            break
        if len(numbers) <= most:
            return numbers
    return ticks(low, high, most)


def _times_ten(factor: int, power: int) -> float:
    return float(factor * 10**power) if power >= 0 else factor / 10**-power


def linear_axis(values: list[float]) -> Axis:
    """From zero to a little above the largest; from zero to one where there is none."""
    largest = max((value for value in values if math.isfinite(value)), default=0.0)
    return Axis(low=0.0, high=largest * 1.06 if largest > 0.0 else 1.0)


def log_axis(values: list[float], least_ratio: float = 3.0) -> Axis:
    """An axis around all numbers above zero, at least `least_ratio` wide."""
    above = [value for value in values if math.isfinite(value) and value > 0.0]
    low, high = min(above, default=1.0), max(above, default=1.0)
    spread = max(math.sqrt(least_ratio / (high / low)), 1.08)
    return Axis(low=low / spread, high=high * spread, log=True)
