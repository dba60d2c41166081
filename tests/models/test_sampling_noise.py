"""How means of a window scatter: against a queue that is simulated customer by customer."""

import math

import numpy as np
import pytest

from streamgauge.models.delays import Part
from streamgauge.models.end_to_end_latency import Latency
from streamgauge.models.prediction import OperatorPrediction
from streamgauge.models.sampling_noise import (
    Window,
    scatter_of_count,
    scatter_of_mean,
    scatter_of_quantile,
    scatter_of_work,
)


def mm1(busy, *, executors=1):
    """Sojourn in an M/M/1 queue with a mean service of one second, and the queue itself."""
    wait = busy / (1.0 - busy)
    mean = 1.0 + wait
    quantiles = {p: -math.log(1.0 - p) * mean for p in (0.5, 0.9, 0.95, 0.99)}
    parts = {Part.QUEUEING: wait, Part.SERVICE: 1.0}
    operator = OperatorPrediction(
        executors=executors,
        idle=0,
        arrived_per_second=executors * busy,
        emitted_per_second=0.0,
        tuples_out_per_second=0.0,
        utilisation=busy,
        busiest=busy,
        service_seconds=1.0,
        delay_seconds=mean,
        parts={part.value: seconds for part, seconds in parts.items()},
    )
    latency = Latency(mean=mean, variance=mean * mean, quantiles=quantiles, parts=parts)
    return latency, {"queue": operator}


def simulate_means(busy, seconds, windows):
    """Mean and 90th percentile of each window of one long run (Lindley's recursion)."""
    generator = np.random.default_rng(1)
    count = int(busy * seconds * windows)
    steps = generator.exponential(size=count) - generator.exponential(1.0 / busy, size=count)
    walked = np.concatenate([[0.0], np.cumsum(steps[:-1])])
    waits = walked - np.minimum.accumulate(walked)
    times = (waits + generator.exponential(size=count))[: count // windows * windows]
    by_window = times.reshape(windows, -1)
    return by_window.mean(axis=1), np.quantile(by_window, 0.9, axis=1)


@pytest.mark.parametrize(("busy", "seconds"), [(0.3, 500.0), (0.6, 1000.0), (0.8, 4000.0)])
def test_means_of_windows_scatter_as_those_of_a_simulated_queue(busy, seconds):
    means, _ = simulate_means(busy, seconds, 1500)
    found = scatter_of_mean(*mm1(busy), Window(seconds=seconds, roots_per_second=busy))
    assert found == pytest.approx(means.std() / means.mean(), rel=0.2)


def test_percentiles_of_windows_scatter_as_those_of_a_simulated_queue():
    _, quantiles = simulate_means(0.6, 1000.0, 1500)
    latency, operators = mm1(0.6)
    found = scatter_of_quantile(
        latency, 0.9, operators, Window(seconds=1000.0, roots_per_second=0.6)
    )
    assert found == pytest.approx(quantiles.std() / quantiles.mean(), rel=0.35)


def test_a_window_four_times_as_long_scatters_half_as_much():
    short, long = (
        scatter_of_mean(*mm1(0.5), Window(seconds=seconds, roots_per_second=0.5))
        for seconds in (1000.0, 4000.0)
    )
    assert long == pytest.approx(short / 2.0)


def test_counts_scatter_as_those_of_a_poisson_process_and_work_by_its_variation_more():
    window = Window(seconds=60.0, roots_per_second=100.0)
    assert scatter_of_count(100.0, window) == pytest.approx(1.0 / math.sqrt(6000.0))
    assert scatter_of_work(100.0, window) == pytest.approx(math.sqrt(2.0 / 6000.0))


def test_what_never_ends_has_no_scatter():
    endless = Latency(mean=math.inf, variance=math.inf, quantiles={}, parts={})
    window = Window(seconds=60.0, roots_per_second=1.0)
    assert math.isnan(scatter_of_mean(endless, {}, window))
