"""Exact sojourns in an executor's queue, against closed forms and reference values."""

import pytest

from streamgauge.errors import Infeasible, InvalidInput
from streamgauge.transport.batched_queue import BatchedQueue, Flush
from tests.models.exact_executor import mean_lists_in_batch, mean_sojourn

# λ lists, μ, k_B, I → wait in the batch and beyond it, flush rate 1 (`storm-tracer` 5.9).
REFERENCE = [
    (0.1, 10, 8, 1, 1.00000, 0.11011),
    (1, 10, 25, 1, 1.00000, 0.20342),
    (1, 2, 10, 1, 0.99022, 1.39366),
    (2, 5, 10, 1, 0.91176, 0.66603),
    (2, 10, 10, 2, 0.91176, 0.59831),
    (0.5, 2, 1, 1, 0.0, 0.66667),
    (0.5, 4, 1, 3, 0.0, 0.80000),
    (5, 10, 4, 1, 0.25484, 0.28711),
]


def queue(lists, service, limit=100, size=1.0, flush=Flush.PERIODIC):
    return BatchedQueue(
        lists_per_second=lists,
        service_seconds=1.0 / service,
        batch_limit=limit,
        list_size=size,
        flush_seconds=1.0,
        flush=flush,
    )


@pytest.mark.parametrize(("lists", "service", "limit", "size", "batch", "rest"), REFERENCE)
def test_random_flush_gives_the_reference_values(lists, service, limit, size, batch, rest):
    found = mean_sojourn(queue(lists, service, limit, size, Flush.EXPONENTIAL))
    assert found.batch_seconds == pytest.approx(batch, abs=6e-6)
    assert found.rest_seconds == pytest.approx(rest, abs=6e-6)


@pytest.mark.parametrize("flush", Flush)
@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_batches_of_one_are_the_m_m_1_queue(flush, load):
    found = mean_sojourn(queue(load, 1.0, limit=1, flush=flush))
    assert found.batch_seconds == 0.0
    assert found.rest_seconds == pytest.approx(1.0 / (1.0 - load), rel=1e-6)


@pytest.mark.parametrize("flush", Flush)
@pytest.mark.parametrize("size", [2, 5])
def test_batches_of_one_with_larger_lists_are_the_bulk_queue(flush, size):
    # M^[I]/M/1: L = ρ(1 + I)/(2(1 − ρ))
    load = 0.6
    found = mean_sojourn(queue(load / size, 1.0, limit=1, size=size, flush=flush))
    population = load * (1 + size) / (2 * (1 - load))
    assert found.total_seconds == pytest.approx(population / load, rel=1e-6)


def test_a_periodic_flush_holds_tuples_half_an_interval():
    assert mean_sojourn(queue(2.0, 10.0)).batch_seconds == pytest.approx(0.5, rel=1e-9)


def test_a_random_flush_holds_them_a_whole_one():
    found = mean_sojourn(queue(0.5, 10.0, flush=Flush.EXPONENTIAL))
    assert found.batch_seconds == pytest.approx(1.0, rel=1e-9)


def test_a_fast_server_adds_only_the_tuples_ahead_in_the_same_batch():
    # λδ = 2 tuples a flush and μ → ∞: the n-th of a batch waits n services; E[n(n+1)/2]/E[n].
    found = mean_sojourn(queue(2.0, 1e5))
    assert found.rest_seconds * 1e5 == pytest.approx(1.0 + 2.0 / 2.0, rel=1e-3)


# Change of the sojourn for errors of the service time of −50 … +300 % (`storm-tracer` 5.10); the
# periodic column there is rounded from simulations, so to 0.3 points.
SENSITIVITY = [
    (0.1, Flush.EXPONENTIAL, (-5.0, 5.0, 10.0, 20.0, 30.2), 0.06),
    (1.0, Flush.EXPONENTIAL, (-8.6, 8.9, 18.4, 39.7, 65.8), 0.06),
    (0.1, Flush.PERIODIC, (-8.7, 8.7, 17.4, 35.0, 52.8), 0.3),
    (1.0, Flush.PERIODIC, (-11.6, 11.8, 24.2, 53.0, 90.4), 0.3),
]


@pytest.mark.parametrize(("lists", "flush", "changes", "digits"), SENSITIVITY)
def test_an_error_of_the_service_time_moves_the_sojourn_as_published(lists, flush, changes, digits):
    right = mean_sojourn(queue(lists, 10.0, flush=flush)).total_seconds
    for error, change in zip((-0.5, 0.5, 1.0, 2.0, 3.0), changes, strict=True):
        wrong = mean_sojourn(queue(lists, 10.0 / (1.0 + error), flush=flush)).total_seconds
        assert 100.0 * (wrong / right - 1.0) == pytest.approx(change, abs=digits)


def test_lists_in_a_batch_that_never_fills_grow_evenly():
    assert mean_lists_in_batch(queue(6.0, 100.0)) == pytest.approx(3.0, rel=1e-9)


def test_a_batch_that_fills_many_times_is_half_full_on_average():
    found = mean_lists_in_batch(queue(1000.0, 1e4, limit=10))
    assert found == pytest.approx(4.5, rel=0.01)


def test_full_batches_and_flushes_agree_where_both_apply():
    # λδ = 20 lists a flush: limit 45 is rarely met and limit 100 never.
    rare = mean_sojourn(queue(20.0, 40.0, limit=45))
    never = mean_sojourn(queue(20.0, 40.0, limit=100))
    assert rare.total_seconds == pytest.approx(never.total_seconds, rel=1e-3)


def test_an_overloaded_executor_has_no_mean():
    with pytest.raises(Infeasible, match=r"utilisation 1\.500"):
        mean_sojourn(queue(3.0, 2.0))


@pytest.mark.parametrize("name", ["lists_per_second", "service_seconds", "flush_seconds"])
def test_rates_and_times_must_be_positive(name):
    good = {"lists_per_second": 1.0, "service_seconds": 0.1, "flush_seconds": 1.0}
    with pytest.raises(InvalidInput, match=name):
        BatchedQueue(**{**good, name: 0.0})


def test_a_ring_smaller_than_a_batch_is_refused():
    with pytest.raises(InvalidInput, match="a ring of 50 for batches of 100"):
        BatchedQueue(lists_per_second=1.0, service_seconds=0.1, ring_limit=50)


def test_a_full_batch_larger_than_the_first_range_is_not_forgotten():
    """Of 120 lists of 1.5 tuples between flushes, 100 fill a batch and 20 are flushed.

    Before a random tuple come (150² + 30²)/(2·180) = 65 of its batch; the flush a while after a
    full batch finds some of that still there.
    """
    service = 2e-6
    queue = BatchedQueue(lists_per_second=120_000.0, list_size=1.5, service_seconds=service)
    found = mean_sojourn(queue)
    assert 60 * service < found.rest_seconds < 100 * service
