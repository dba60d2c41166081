"""The simulated executor against its exact solution; 99.9 % intervals, fixed seeds."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.transport.batched_queue import BatchedQueue, Flush
from tests.models.exact_executor import mean_sojourn
from tests.simulation.oracles.storm1_executor import simulate_executor

# Two-sided 99.9 % quantile of Student's t with 19 degrees of freedom (20 batch means).
T = 3.883

CASES = [
    (0.1, 10, 8, 1.0),
    (1, 2, 10, 1.0),
    (2, 10, 10, 2.0),
    (0.5, 4, 1, 3.0),
    (5, 10, 4, 1.0),
    (2, 10, 100, 3.37),
]


def queue(lists, service, limit, size, flush, **other):
    return BatchedQueue(
        lists_per_second=lists,
        service_seconds=1.0 / service,
        batch_limit=limit,
        list_size=size,
        flush_seconds=1.0,
        flush=flush,
        **other,
    )


@pytest.mark.parametrize("flush", Flush)
@pytest.mark.parametrize(("lists", "service", "limit", "size"), CASES)
def test_means_agree_with_the_exact_solution(lists, service, limit, size, flush):
    executor = queue(lists, service, limit, size, flush)
    simulated = simulate_executor(executor, arrivals=400_000, seed=11)
    exact = mean_sojourn(executor).total_seconds
    assert simulated.standard_error_seconds < 0.02 * exact
    assert abs(simulated.sojourn.total_seconds - exact) < T * simulated.standard_error_seconds


@pytest.mark.parametrize("flush", Flush)
def test_full_and_simplified_are_equal_while_nothing_overflows(flush):
    executor = queue(2, 10, 10, 2.5, flush)
    full = simulate_executor(executor, arrivals=50_000, seed=3, full=True)
    assert full == simulate_executor(executor, arrivals=50_000, seed=3)


def test_a_tiny_ring_holds_tuples_back_a_little():
    # `storm-tracer` 2.10.4: 8.55 s against 8.47 s.
    executor = BatchedQueue(
        lists_per_second=0.8,
        service_seconds=1.0,
        flush_seconds=20.0,
        batch_limit=5,
        ring_limit=6,
        flush=Flush.EXPONENTIAL,
    )
    full = simulate_executor(executor, arrivals=2_000_000, seed=5, full=True)
    simple = simulate_executor(executor, arrivals=2_000_000, seed=5)
    assert full.sojourn.total_seconds == pytest.approx(8.55, abs=T * 0.04)
    assert simple.sojourn.total_seconds == pytest.approx(8.47, abs=T * 0.04)
    assert full.sojourn.total_seconds > simple.sojourn.total_seconds


def test_an_overflowing_queue_keeps_every_tuple():
    executor = queue(20, 10, 5, 1.0, Flush.PERIODIC, ring_limit=5)
    full = simulate_executor(executor, arrivals=20_000, seed=1, full=True)
    simple = simulate_executor(executor, arrivals=20_000, seed=1)
    # Twice as much arrives as is served: half of 20,000 wait in the end, a quarter on average.
    for found in (full, simple):
        assert found.sojourn.total_seconds * 20 == pytest.approx(5_000, rel=0.05)


def test_the_same_seed_gives_the_same_answer_and_another_does_not():
    executor = queue(1, 2, 10, 1.0, Flush.PERIODIC)
    first, again, other = (simulate_executor(executor, arrivals=2_000, seed=s) for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_too_few_arrivals_are_refused():
    with pytest.raises(InvalidInput, match="at least 20"):
        simulate_executor(queue(1, 2, 10, 1.0, Flush.PERIODIC), arrivals=3, seed=1)
