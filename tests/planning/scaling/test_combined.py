"""The better of packages and Stela."""

import pytest

from streamgauge.planning.scaling.combined import CombinedScaler
from tests.planning.scaling.published import LINEAR, TEST_MIX, TREE, graph


def test_packages_win_where_the_most_important_component_is_hardly_congested():
    scaling = CombinedScaler().scale(TREE, 1)
    _, residual, stela = scaling.considered
    assert (stela.increase, residual.increase) == (pytest.approx(100), pytest.approx(200))
    assert scaling.allocation == residual.allocation


def test_stela_wins_where_few_leaves_emit_most():
    scaling = CombinedScaler().scale(TEST_MIX, 2)
    _, residual, stela = scaling.considered
    assert (stela.increase, residual.increase) == (pytest.approx(1416), pytest.approx(1060))
    assert scaling.allocation == stela.allocation
    assert scaling.reasons[0] == ("stela expects 4,836 tuples/s, residual 4,480: stela is taken")


def test_what_is_equal_stays_with_packages():
    scaling = CombinedScaler().scale(LINEAR, 1)
    assert [one.scaler for one in scaling.considered] == ["predictive", "residual", "stela"]
    assert scaling.reasons[0].endswith("residual is taken")


def test_congestion_that_would_only_move_is_seen_beforehand():
    """Puttaswamy 2018, Figure 1.1: what B lets through drowns D and F; C has room below it."""
    job = graph(
        "figure 1.1",
        """
        A 1 240 1 B:0.625 C:0.375
        B 1 100 1 D:0.5 F:0.5
        C 1 60 1 E:1
        D 1 51 1
        E 1 500 1
        F 1 51 1
        """,
    )
    scaling = CombinedScaler().scale(job, 1)
    _, residual, stela = scaling.considered
    assert (stela.allocation, stela.increase) == ({"B": 1}, pytest.approx(2))
    assert (residual.allocation, residual.increase) == ({"C": 1}, pytest.approx(30))
    assert scaling.allocation == {"C": 1}
