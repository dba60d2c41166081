"""Maxima of random walks, against closed forms of queues and drawn variables."""

import numpy as np
import pytest

from streamgauge.models.random_walks import Cumulants, find_excess, find_maximum


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9, 0.97])
@pytest.mark.parametrize("scv", [0.25, 1.0, 3.0])
def test_the_walk_of_services_less_gaps_is_the_wait_of_mg1(load, scv):
    """Pollaczek and Khinchine: ρ(1 + c²)/2(1 − ρ) services of length one; gaps are exponential."""
    gap = 1.0 / load
    step = Cumulants(1.0 - gap, scv + gap**2, 2.0 * scv**2 - 2.0 * gap**3)
    found = find_maximum(
        step.times,
        drift=np.asarray(gap - 1.0),
        spread=np.asarray(step.variance),
    )
    assert found.mean == pytest.approx(load * (1.0 + scv) / (2.0 - 2.0 * load), rel=0.1)
    assert found.chance == pytest.approx(load, abs=0.1)


@pytest.mark.parametrize("mean", [-2.0, -0.3, 0.4, 3.0])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_part_above_nought_of_a_gamma_variable_either_way_round(mean, sign):
    drawn = sign * (np.random.default_rng(3).gamma(2.0, 1.0, 400_000) - 2.0) + mean
    found = find_excess(Cumulants(np.asarray(mean), np.asarray(2.0), np.asarray(sign * 4.0)))
    above = np.maximum(drawn, 0.0)
    assert found.chance == pytest.approx((drawn > 0.0).mean(), abs=0.003)
    assert found.mean == pytest.approx(above.mean(), rel=0.02, abs=0.002)
    assert found.square == pytest.approx((above**2).mean(), rel=0.03, abs=0.005)
