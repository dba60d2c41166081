"""Queues of the textbooks, against figures worked out elsewhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.models import transforms
from streamgauge.models.textbook_queues import allen_cunneen_wait, erlang_c, mmc_wait

LEVELS = (0.5, 0.9, 0.99)


def test_erlang_c_by_hand_and_for_hundreds_of_servers():
    # Two servers, load 1: 1/3. One server: its utilisation.
    assert erlang_c([1.0, 0.7], [2, 1]) == pytest.approx([1.0 / 3.0, 0.7])
    loss = 1.0
    for servers in range(1, 801):
        loss = 780.0 * loss / (servers + 780.0 * loss)
    expected = loss / (1.0 - 780.0 / 800.0 * (1.0 - loss))
    assert erlang_c(780.0, 800) == pytest.approx(expected)


def test_the_call_centre_of_the_tables():
    """200 calls an hour of three minutes and 14 agents: 17.4 % wait, 7.8 s on the mean.

    11.2 % wait for more than 20 seconds.
    """
    found = mmc_wait(200 / 3600, 180.0, 14)
    assert found.chance == pytest.approx(0.174, abs=5e-4)
    assert found.mean == pytest.approx(7.8, abs=0.05)
    assert transforms.tail(found.transform, [20.0]) == pytest.approx(0.112, abs=5e-4)


def test_mean_waits():
    assert mmc_wait(0.5, 1.0, 1).mean == pytest.approx(1.0)
    assert mmc_wait(1.0, 1.0, 2).mean == pytest.approx(1.0 / 3.0)
    # Kingman, at variabilities that add up to those of M/M/1; M/D/1; half of M/M/2.
    assert allen_cunneen_wait(0.5, 1.0, 1, 0.5, 1.5).mean == pytest.approx(1.0)
    assert allen_cunneen_wait(0.8, 1.0, 1, 1.0, 0.0).mean == pytest.approx(2.0)
    assert allen_cunneen_wait(1.0, 1.0, 2, 0.0, 1.0).mean == pytest.approx(1.0 / 6.0)


def test_overload_waits_for_ever_and_leaves_its_neighbours_alone():
    constant = allen_cunneen_wait([1.0, 2.0, 5.0], 1.0, 2, 0.0, 0.0)
    assert constant.mean == pytest.approx([0.0, np.inf, np.inf])
    found = mmc_wait([1.0, 2.0], 1.0, 2)
    assert found.variance == pytest.approx([5.0 / 9.0, np.inf])
    value = found.transform(np.array([[1.0 + 2.0j]]))
    assert value[0, 1] == 0.0
    assert value[0, 0] == pytest.approx(mmc_wait(1.0, 1.0, 2).transform(np.array([1.0 + 2.0j]))[0])


def test_quantiles_of_sojourns():
    """One server: exponential of mean 2. Two at load 1: P(T > t) = e^(−t)·(1 + t/3)."""

    def quantiles(rate, servers):
        waiting = mmc_wait(rate, 1.0, servers)
        return transforms.quantiles(
            lambda s: waiting.transform(s) * transforms.exponential(s, 1.0),
            LEVELS,
            waiting.mean + 1.0,
            np.sqrt(waiting.variance + 1.0),
        )

    assert quantiles(0.5, 1) == pytest.approx(-2.0 * np.log1p(-np.array(LEVELS)), rel=1e-3)
    t = quantiles(1.0, 2)
    assert np.exp(-t) * (1.0 + t / 3.0) == pytest.approx(1.0 - np.array(LEVELS), rel=5e-3)


@given(load=st.floats(0.01, 0.98), servers=st.integers(1, 60))
def test_more_servers_for_the_same_utilisation_wait_less(load, servers):
    few = mmc_wait(load * servers, 1.0, servers).mean
    assert mmc_wait(load * (servers + 1), 1.0, servers + 1).mean <= few * (1.0 + 1e-9)
