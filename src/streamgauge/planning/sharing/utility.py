"""What a job is worth that misses its objective, as a part of what it is worth when it meets it.

A utility is all of it if and only if the threshold is met, and never rises as the job gets worse
(Henge, section 2.3); jumps are allowed. Shapes are functions of the *shortfall*: by which part of
the threshold a job is off, (L − L_slo) / L_slo of a latency and (M_slo − M) / M_slo of juice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, runtime_checkable

from streamgauge.errors import Findings, InvalidInput
from streamgauge.plugins import resolve
from streamgauge.topology.field_checks import check_number

# Shortfalls at which a utility is looked at: just missed, to a thousand times too slow.
SAMPLED = (0.0, *(10.0 ** (power / 10.0) for power in range(-60, 31)))


@runtime_checkable
class Shape(Protocol):
    """The part of its utility that a job keeps."""

    def of(self, shortfall: float, *, is_latency: bool) -> float:
        """From 1 at a shortfall of zero to 0.

        Args:
            shortfall: Zero where the threshold is met.
            is_latency: Whether it is of a latency, and so has no largest value; else of juice.
        """
        ...


@dataclass(frozen=True, slots=True)
class Knee:
    """min(1, L_slo / L) and min(1, M / M_slo) (eq. 2.2 and 2.1)."""

    def of(self, shortfall: float, *, is_latency: bool) -> float:
        """A hyperbola of latency, a straight line of juice."""
        return 1.0 / (1.0 + shortfall) if is_latency else 1.0 - shortfall


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """A straight line that reaches zero at the shortfall `zero_at`."""

    zero_at: float = 1.0

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.zero_at, "zero_at", above=0.0)
        findings.raise_if_any()

    def of(self, shortfall: float, *, is_latency: bool) -> float:
        """Falling evenly."""
        del is_latency
        return max(0.0, 1.0 - shortfall / self.zero_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piecewise:
    """Straight lines between points (shortfall, part); the first is (0, 1), the last part stays."""

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        _check_points(self.points, first=(0.0, 1.0))

    def of(self, shortfall: float, *, is_latency: bool) -> float:
        """Between the two points around it."""
        del is_latency
        for (left, high), (right, low) in pairwise(self.points):
            if shortfall <= right:
                return high + (low - high) * (shortfall - left) / (right - left)
        return self.points[-1][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The part of the first step (shortfall, part) that the shortfall does not exceed, else zero.

    Without steps whatever misses its objective is worth nothing.
    """

    steps: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        _check_points(self.steps)

    def of(self, shortfall: float, *, is_latency: bool) -> float:
        """Constant up to the next step."""
        del is_latency
        if shortfall <= 0.0:
            return 1.0
        return next((part for most, part in self.steps if shortfall <= most), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lognormal:
    """1 − Φ(ln(shortfall / median) / sigma): slow at first, half of it at `median`."""

    median: float = 0.5
    sigma: float = 0.5

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.median, "median", above=0.0)
        check_number(findings, self.sigma, "sigma", above=0.0)
        findings.raise_if_any()

    def of(self, shortfall: float, *, is_latency: bool) -> float:
        """The tail of a lognormal distribution."""
        del is_latency
        if shortfall <= 0.0:
            return 1.0
        at = math.log(shortfall / self.median) / (self.sigma * math.sqrt(2.0))
        # Never all of it, as rounding would have it just off the threshold.
        return min(0.5 * math.erfc(at), math.nextafter(1.0, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Custom:
    """A function of the user's own, ``module:attribute``, of the shortfall."""

    function: str

    def of(self, shortfall: float, *, is_latency: bool) -> float:
        """What the function says."""
        del is_latency
        return float(resolve(self.function)(shortfall))


def check_shape(shape: Shape, *, is_latency: bool, place: str = "utility") -> None:
    """Refuse a shape that rises as a job gets worse, or is not worth all just where it is met.

    Raises:
        InvalidInput: Says where the first fault is.
    """
    # Juice can fall short by all of it, and no more.
    sampled = [one for one in SAMPLED if is_latency or one <= 1.0]
    parts = [shape.of(one, is_latency=is_latency) for one in sampled]
    if parts[0] != 1.0:
        raise InvalidInput.single(
            (place,), seen=f"{parts[0]:g} of the utility where the threshold is met", expected="1"
        )
    for (before, higher), (after, part) in pairwise(zip(sampled, parts, strict=True)):
        if not 0.0 <= part <= 1.0 or part > higher:
            raise InvalidInput.single(
                (place,),
                seen=f"{part:g} of the utility {after:.2%} off the threshold, {higher:g} at"
                f" {before:.2%}",
                expected="a part from 0 to 1 that never rises as the job gets worse",
            )
    # Less than a thousandth off may be rounding.
    missed = next(index for index, one in enumerate(sampled) if one >= 1e-3)
    if parts[missed] >= 1.0:
        raise InvalidInput.single(
            (place,),
            seen=f"all of the utility {sampled[missed]:.1%} off the threshold",
            expected="less than all of it wherever the threshold is missed",
            remedy="set the threshold to what is still good enough",
        )


def _check_points(
    points: tuple[tuple[float, float], ...], first: tuple[float, float] | None = None
) -> None:
    findings = Findings()
    if first is not None and (not points or tuple(points[0]) != first):
        seen = f"{points[0]}" if points else "no point"
        findings.add("points", 0, seen=seen, expected=f"{first}: all of it at the threshold")
    for index, (shortfall, part) in enumerate(points):
        check_number(findings, shortfall, "points", index, 0)
        check_number(findings, part, "points", index, 1, most=1.0)
        if index and not (shortfall > points[index - 1][0] and part <= points[index - 1][1]):
            findings.add(
                *("points", index),
                seen=f"({shortfall:g}, {part:g}) after {points[index - 1]}",
                expected="a larger shortfall with no larger part",
            )
    findings.raise_if_any()
