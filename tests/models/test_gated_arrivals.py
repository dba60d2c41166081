"""Queues behind gates, against programs that live through every tuple."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamgauge.models.arrival_variability import Gates
from streamgauge.models.gated_arrivals import gate_factors
from streamgauge.models.queueing import BulkQueue, wait_before

PERIOD = 1.0


def waits(rate: float, service: float, gates: int, share: float = 1.0) -> float:
    """Mean wait for the batches before: tuples at random, some of them held by gates.

    Each gate opens once a period, at a moment of its own, which differs from run to run.
    """
    runs = 20 if gates > 1 else 2
    return float(np.mean([_wait(rate, service, gates, share, seed) for seed in range(runs)]))


def _wait(rate: float, service: float, gates: int, share: float, seed: int) -> float:
    random = np.random.default_rng(seed)
    count = 40_000
    due = np.cumsum(random.exponential(1.0 / rate, count))
    gate = random.integers(gates, size=count)
    held = random.random(count) < share
    phase = random.uniform(0.0, PERIOD, gates)
    opens = np.ceil((due - phase[gate]) / PERIOD) * PERIOD + phase[gate]
    comes = np.where(held, opens, due)
    order = np.argsort(comes, kind="stable")
    comes, needs = comes[order], random.exponential(service, count)
    work = before = last = total = 0.0
    for moment, need in zip(comes.tolist(), needs.tolist(), strict=True):
        if moment > last:
            work = before = max(work - (moment - last), 0.0)
            last = moment
        total += before
        work += need
    return total / count


def predict(rate: float, service: float, gates: int, share: float = 1.0) -> float:
    """The same by the formulas; bundles at random times are corrected by the factor."""
    plain = BulkQueue(batches_per_second=np.asarray([rate]), service_seconds=np.asarray([service]))
    mean = share * rate * PERIOD / gates
    bundles = gates * -np.expm1(-mean) / PERIOD
    batches = bundles + (1.0 - share) * rate
    squares = share * rate * (1.0 + mean) + (1.0 - share) * rate
    size = rate / batches
    queue = replace(
        plain,
        batches_per_second=np.asarray([batches]),
        batch_mean=np.asarray([size]),
        batch_variance=np.asarray([squares / batches - size**2]),
    )
    held = Gates(seconds=PERIOD, part=np.asarray([share]), count=np.asarray([float(gates)]))
    return float((gate_factors(queue, plain, held) * wait_before(queue).mean)[0])


@pytest.mark.parametrize("rate", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("gates", [1, 3])
@pytest.mark.parametrize("busy", [0.6, 0.85])
def test_gates_that_open_regularly_make_a_shorter_queue_than_batches_at_random(rate, gates, busy):
    seen = waits(rate, busy / rate, gates)
    assert predict(rate, busy / rate, gates) == pytest.approx(seen, rel=0.12)


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_what_comes_through_no_gate_counts_as_it_comes(share):
    seen = waits(2.0, 0.4, 1, share)
    assert predict(2.0, 0.4, 1, share) == pytest.approx(seen, rel=0.12)


def test_very_many_gates_are_none():
    """M/M/1: ρ/(1 − ρ) services."""
    assert predict(2.0, 0.4, 500) == pytest.approx(0.4 * 0.8 / 0.2, rel=0.02)


def test_without_sleep_nothing_is_gated():
    queue = BulkQueue(batches_per_second=np.asarray([1.0]), service_seconds=np.asarray([0.5]))
    none = Gates.of(0.0, np.zeros((1, 1)), np.asarray([1.0]))
    assert gate_factors(queue, queue, none) == pytest.approx([1.0])
