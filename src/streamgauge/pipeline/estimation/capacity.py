"""How busy executors are with executing (Henge, eq. 2.3)."""

from __future__ import annotations

from collections.abc import Iterable

CONGESTED_ABOVE = 0.3


def capacity(executed: float, mean_ms: float, seconds: float) -> float:
    """Tuples executed × mean execute time / time; not clipped, as pauses count as executing."""
    return executed * mean_ms / (1e3 * seconds)


def operator_capacity(executors: Iterable[float]) -> float:
    """That of the operator's busiest executor."""
    return max(executors)


def is_congested(busy: float) -> bool:
    """Whether an operator is a candidate for more threads."""
    return busy > CONGESTED_ABOVE
