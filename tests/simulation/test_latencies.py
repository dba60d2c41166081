"""Bins, quantiles, intervals and warm-up, against numpy and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.lake.histogram import EDGES, LAST_BIN
from streamgauge.simulation.binning import (
    BINS,
    COARSE_BINS,
    bin_edges,
    bin_of,
    coarse_bin_of,
)
from streamgauge.simulation.latencies import Latencies
from streamgauge.simulation.replications import estimate, settled_after


def recorded(seconds, batches=1):
    bins = np.asarray([bin_of(one) for one in seconds])
    parts = np.array_split(np.arange(len(bins)), batches)
    rows = np.asarray([np.bincount(bins[part], minlength=BINS) for part in parts])
    sums = np.asarray([np.asarray(seconds)[part].sum() for part in parts])
    return Latencies(
        counts=rows.sum(axis=0), total_seconds=sums.sum(), batches=rows, batch_seconds=sums
    )


@given(seconds=st.floats(1e-9, 4000.0))
def test_a_time_lies_in_its_bin(seconds):
    edges = bin_edges()
    place = bin_of(seconds)
    assert edges[place] <= seconds * (1 + 1e-12)
    if place + 1 < BINS:
        assert seconds * (1 - 1e-12) <= edges[place + 1]


@given(nanoseconds=st.floats(1.0, 1e12))
def test_eight_bins_are_one_of_the_lake(nanoseconds):
    place = coarse_bin_of(nanoseconds / 1e9)
    assert COARSE_BINS == LAST_BIN + 1
    # Bin b of the lake begins at its edge b − 1.
    assert EDGES[place - 1] <= nanoseconds * (1 + 1e-12)
    assert nanoseconds * (1 - 1e-12) < EDGES[place]


def test_what_takes_no_time_is_in_the_first_bin():
    assert bin_of(0.0) == coarse_bin_of(0.0) == 0
    assert bin_of(1e9) == BINS - 1


@pytest.mark.parametrize("probability", [0.01, 0.5, 0.9, 0.99])
def test_quantiles_are_right_to_the_width_of_a_bin(probability):
    values = np.random.default_rng(3).lognormal(-5, 1, 50_000)
    found = recorded(values).quantile(probability)
    assert found == pytest.approx(np.quantile(values, probability), rel=0.012)
    assert recorded(values).above(found) == pytest.approx(1 - probability, abs=0.005)


def test_nothing_recorded_has_no_figures():
    nothing = Latencies.none()
    assert nothing.count == 0
    assert np.isnan([nothing.mean, nothing.quantile(0.5), nothing.above(1.0)]).all()
    assert Latencies.merged([]).count == 0


def test_parts_add_up():
    one, other = recorded([0.001, 0.002]), recorded([0.003])
    both = Latencies.merged([one, other])
    assert both.count == 3
    assert both.mean == pytest.approx(0.002)


def test_intervals_rest_on_batches():
    values = np.random.default_rng(4).exponential(0.01, 20_000)
    found = recorded(values, batches=20).mean_estimate()
    by_hand = estimate([part.mean() for part in np.array_split(values, 20)])
    assert found.mean == pytest.approx(values.mean())
    assert found.half_width == pytest.approx(by_hand.half_width)
    assert found.runs == 20
    assert abs(found.mean - 0.01) < 2 * found.half_width
    assert recorded(values).mean_estimate().runs == 1


def test_a_beginning_that_is_unlike_the_rest_is_left_out():
    noise = np.random.default_rng(5).normal(10.0, 1.0, 100)
    rising = noise - 10.0 * np.exp(-np.arange(100) / 4.0)
    assert 6 <= settled_after(rising, 50) <= 25
    assert settled_after(noise, 50) < 50
    # What never settles asks for all it may.
    assert settled_after(np.arange(100.0), 25) == 25
    assert settled_after(np.asarray([1.0, 2.0]), 1) == 0
