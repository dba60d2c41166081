"""Emission processes keep their mean rate and follow their shape."""

import numpy as np
import pytest
from numba import njit

from streamgauge.errors import InvalidInput
from streamgauge.simulation.emissions import make_emissions, next_due
from streamgauge.simulation.random_streams import make_streams
from streamgauge.topology.workload import (
    Burst,
    Emission,
    Modulated,
    Poisson,
    Recorded,
    Regular,
    Sawtooth,
    Seasonal,
    Unlimited,
)

RATE = 50.0
SECONDS = 4000.0
SHAPES = [
    Poisson(),
    Regular(),
    Seasonal(period_seconds=10.0, amplitude=0.8, phase_seconds=3.0),
    Sawtooth(period_seconds=8.0),
    Sawtooth(period_seconds=8.0, reverse=True),
    Recorded(bucket_seconds=2.0, values=(1.0, 0.0, 5.0, 2.0)),
    Burst(on_seconds=1.0, off_seconds=3.0),
    Burst(on_seconds=1.0, off_seconds=3.0, random=True),
    Modulated(factors=(1.0, 4.0, 0.5), mean_seconds=(1.0, 0.5, 2.0)),
]


@njit
def due_times(emissions, stream, horizon):
    times = []
    now = next_due(emissions, 0, 0.0, stream, 0)
    while now < horizon:
        times.append(now)
        now = next_due(emissions, 0, now, stream, 0)
    return np.asarray(times)


def simulated(shape, seed=5):
    emission = Emission(source="s", per_second=RATE, shape=shape)
    return due_times(make_emissions([emission], [RATE]), make_streams(seed, 1), SECONDS)


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_the_mean_rate_is_kept(shape):
    times = simulated(shape)
    # Counts of the bursty ones vary most; their index of dispersion is below 200 here.
    error = np.sqrt(200.0 / (RATE * SECONDS))
    assert len(times) == pytest.approx(RATE * SECONDS, rel=4 * error)
    assert (np.diff(times) > 0.0).all()


@pytest.mark.parametrize("shape", [s for s in SHAPES if type(s) in (Seasonal, Sawtooth, Recorded)])
def test_the_rate_follows_its_shape(shape):
    period = getattr(shape, "period_seconds", None) or 8.0
    counts, edges = np.histogram(simulated(shape) % period, bins=20, range=(0.0, period))
    middle = (edges[1:] + edges[:-1]) / 2.0
    expected = RATE * SECONDS / 20 * np.asarray([shape.factor_at(t) for t in middle])
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected.max())


def test_regular_tuples_are_evenly_spaced():
    assert np.allclose(np.diff(simulated(Regular())), 1.0 / RATE)


def test_bursts_are_silent_while_off():
    phase = simulated(Burst(on_seconds=1.0, off_seconds=3.0)) % 4.0
    assert phase.max() <= 1.0


def test_poisson_gaps_are_exponential():
    gaps = np.diff(simulated(Poisson())) * RATE
    # Kolmogorov–Smirnov distance at 99.9 %: 1.95/√n.
    empirical = np.sort(gaps)
    levels = np.arange(1, len(gaps) + 1) / len(gaps)
    assert np.abs(levels - (1.0 - np.exp(-empirical))).max() < 1.95 / np.sqrt(len(gaps))


def test_random_bursts_are_far_more_variable_than_poisson():
    def dispersion(shape):
        counts = np.histogram(simulated(shape), bins=400, range=(0.0, SECONDS))[0]
        return counts.var() / counts.mean()

    assert dispersion(Burst(on_seconds=1.0, off_seconds=3.0, random=True)) > 20
    assert dispersion(Poisson()) == pytest.approx(1.0, abs=0.3)


@pytest.mark.parametrize(
    ("emission", "rate", "seen"),
    [
        (Emission(source="s", per_second=0.0), 0.0, "0; expected a rate above zero"),
        (Emission(source="s", shape=Unlimited()), 1.0, "the shape unlimited"),
    ],
)
def test_what_is_never_due_is_refused(emission, rate, seen):
    with pytest.raises(InvalidInput, match=seen):
        make_emissions([emission], [rate])
