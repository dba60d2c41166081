"""Every row that is known for the topologies of Puttaswamy 2018, chapter 6."""

import pytest

from streamgauge.planning.scaling.combined import CombinedScaler
from streamgauge.planning.scaling.contract import Scaling
from streamgauge.planning.scaling.exact import ExactScaler
from streamgauge.planning.scaling.predictive import PredictiveScaler
from streamgauge.planning.scaling.rates import find_congested, propagate
from streamgauge.planning.scaling.residual import ResidualScaler
from streamgauge.planning.scaling.stela import StelaScaler
from tests.planning.scaling.published_results import ROWS, TABLES, Row, Table, allocation

every_row = pytest.mark.parametrize("row", ROWS, ids=str)


def outcome(scaling: Scaling) -> tuple[dict[str, int], float]:
    """What a row of a table says."""
    return dict(scaling.allocation), pytest.approx(scaling.increase)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_throughput_and_congestion_before_anything_is_added(table: Table):
    assert propagate(table.graph).throughput == pytest.approx(table.throughput)
    assert find_congested(table.graph) == tuple(table.congested.split())


@every_row
def test_stela(row: Row):
    assert outcome(StelaScaler().scale(row.graph, row.units)) == row.stela


@every_row
def test_predictive(row: Row):
    assert outcome(PredictiveScaler().scale(row.graph, row.units)) == row.predictive


@every_row
def test_residual(row: Row):
    scaling = ResidualScaler().scale(row.graph, row.units)
    assert outcome(scaling) == row.residual
    assert outcome(scaling.considered[0]) == row.predictive


@every_row
def test_combined_keeps_the_residual_result_unless_stela_expects_more(row: Row):
    scaling = CombinedScaler().scale(row.graph, row.units)
    assert outcome(scaling) == (row.stela if row.pick == "Stela" else row.residual)
    _, residual, stela = scaling.considered
    gained = stela.increase - residual.increase
    assert row.pick == ("tie" if abs(gained) < 1e-6 else "Stela" if gained > 0 else "ours")


@pytest.mark.parametrize("row", [row for row in ROWS if row.best is not None], ids=str)
def test_the_exact_optimum_is_the_best_of_all_allocations(row: Row):
    scaling = ExactScaler().scale(row.graph, row.units)
    assert scaling.increase == pytest.approx(row.best)
    assert scaling.bound == pytest.approx(scaling.expected)


# Tables 6.2, 6.6 and 6.8 as they are printed: Stela and its gain, the author's and its gain. In
# row 3 of Table 6.8 Stela's allocation adds up to four units ("6 9:2 17"); one of 9 is too many.
PRINTED = {
    "linear, corrected inputs": (
        ("3", 150, "3", 150),
        ("2 3", 250, "2 3", 250),
        ("2 3:2", 350, "2 3:2", 350),
    ),
    "simple tree, corrected inputs": (
        ("4", 100, "3", 200),
        ("2 4", 500, "2 4", 500),
        ("2 3 4", 700, "2 3 4", 700),
        ("2 3:2 4", 900, "2 3:2 4", 900),
    ),
    "topology 17 base": (
        ("6", 40, "16", 500),
        ("6 9", 140, "16:2", 700),
        ("6 9 17", 200, "11 16:2", 1000),
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_tables_6_2_and_6_6_and_6_8_come_out_as_printed(name):
    graph = next(table.graph for table in TABLES if table.name == name)
    for units, (stela, stela_gain, own, own_gain) in enumerate(PRINTED[name], start=1):
        assert outcome(StelaScaler().scale(graph, units)) == (allocation(stela), stela_gain)
        assert outcome(ResidualScaler().scale(graph, units)) == (allocation(own), own_gain)
