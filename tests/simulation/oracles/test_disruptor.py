"""The disruptor oracle against exact values: fixed seeds, intervals of 99.9 %."""

from typing import Any

import pytest

from tests.simulation.oracles.disruptor import DisruptorResult, simulate_disruptor
from tests.simulation.oracles.intervals import agree
from tests.simulation.oracles.parts import Time, constant, exponential


def rest(result: DisruptorResult) -> list[float]:
    return [w - b for w, b in zip(result.sojourns, result.batch_waits, strict=True)]


@pytest.mark.parametrize(
    ("lists", "rate", "batch", "size", "in_batch", "after"),
    [  # section 5.9 of the specification, for a flush rate of 1
        (1, 10, 25, 1, 1.0, 0.20342),
        (1, 2, 10, 1, 0.99022, 1.39366),
        (2, 5, 10, 1, 0.91176, 0.66603),
        (2, 10, 10, 2, 0.91176, 0.59831),
        (0.5, 2, 1, 1, 0.0, 0.66667),
        (0.5, 4, 1, 3, 0.0, 0.80000),
        (5, 10, 4, 1, 0.25484, 0.28711),
    ],
)
def test_an_exponential_flush_gives_the_exact_chain(
    lists: float, rate: float, batch: int, size: int, in_batch: float, after: float
) -> None:
    result = simulate_disruptor(
        **{"lists": lists, "size": size, "batch": batch},
        **{"service": exponential(1 / rate), "flush": exponential(1.0)},
        **{"seconds": 18_000 / (lists * size), "warmup": 50},
    )
    agree(result.batch_waits, in_batch)
    agree(rest(result), after, within=0.15)


@pytest.mark.parametrize("lists", [0.1, 3.0])
def test_a_periodic_flush_lets_lists_wait_half_its_interval(lists: float) -> None:
    result = simulate_disruptor(
        **{"lists": lists, "service": exponential(0.1), "flush": constant(1.0)},
        **{"seconds": 12_000 / lists, "warmup": 50},
    )
    agree(result.batch_waits, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flush", "lists", "change"),
    [  # section 5.10: the service time four times as long
        (exponential(1.0), 0.1, 0.302),
        (constant(1.0), 0.1, 0.528),
        (exponential(1.0), 1.0, 0.658),
        (constant(1.0), 1.0, 0.904),
    ],
)
def test_how_much_a_longer_service_time_does(flush: Time, lists: float, change: float) -> None:
    def mean(service: float) -> float:
        result = simulate_disruptor(
            **{"lists": lists, "service": exponential(service), "flush": flush},
            **{"seconds": 40_000 / lists, "warmup": 50},
        )
        return sum(result.sojourns) / len(result.sojourns)

    assert mean(0.4) / mean(0.1) - 1 == pytest.approx(change, abs=0.03)


def test_fractional_lists_keep_their_mean() -> None:
    result = simulate_disruptor(
        **{"lists": 1.0, "size": 2.25, "service": exponential(0.2), "flush": exponential(1.0)},
        **{"batch": 1, "seconds": 15_000, "warmup": 50},
    )
    second_moment = 0.75 * 4 + 0.25 * 9
    population = 0.45 * (1 + second_moment / 2.25) / (2 * (1 - 0.45))
    agree(result.sojourns, population / 2.25)


def test_a_tiny_ring_overflows_and_loses_nothing() -> None:
    """Section 2.10.4 has 8.55 for a variant that also empties the overflow at full batches."""
    tiny: dict[str, Any] = {"lists": 0.8, "service": exponential(1.0), "flush": exponential(20.0)}
    result = simulate_disruptor(**tiny, batch=5, ring=6, seconds=30_000, warmup=200)
    assert result.overflows > 100
    mean = sum(result.sojourns) / len(result.sojourns)
    assert mean == pytest.approx(8.55, rel=0.15)
    assert result.population == pytest.approx(0.8 * mean, rel=0.03)
