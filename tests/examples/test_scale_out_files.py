"""The ready scale-out files agree with themselves and say what was corrected."""

from pathlib import Path

import pytest

from streamgauge.planning.scaling.files.scale_out_file import load_scale_out
from streamgauge.planning.scaling.rates import propagate
from tests.planning.scaling import published

FOLDER = Path(__file__).parents[2] / "examples" / "scale-out"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
# What the leaves emit before anything is added, added up by hand from the tables' last rows.
THROUGHPUT = {
    "linear": 250,
    "diamond": 600,
    "simple-tree": 500 + 200 + 200,
    "topology-17": 400 + 300 + 700 + 700 + 840 + 500 + 500 + 800,
    "test-mix": 600 + 200 + 240 + 150 + 420 + 210 + 150 + 600 + 400 + 337.5 + 112.5,
    "topology-10": 2800 + 1880 + 2100 + 1400 + 1500 + 1000,
}

GRAPHS = {
    "linear": published.chain(600),
    "diamond": published.diamond(0.5, 900),
    "simple-tree": published.tree(200),
    "topology-17": published.TOPOLOGY_17,
    "test-mix": published.TEST_MIX,
    "topology-10": published.TOPOLOGY_10,
}

every_file = pytest.mark.parametrize("name", NAMES)


def test_every_published_topology_is_there():
    assert set(NAMES) == set(THROUGHPUT)


@every_file
def test_no_row_contradicts_another(name):
    assert load_scale_out(FOLDER / f"{name}.json").warnings == ()


@every_file
def test_it_says_where_it_comes_from_and_what_was_corrected(name):
    about = load_scale_out(FOLDER / f"{name}.json").about
    assert "Puttaswamy" in about
    assert "corrected" in about.lower()


@every_file
def test_rates_that_follow_from_the_graph_are_those_of_the_table(name):
    read = load_scale_out(FOLDER / f"{name}.json")
    assert read.graph.name == name
    assert propagate(read.graph).throughput == pytest.approx(THROUGHPUT[name])


@every_file
def test_it_is_the_graph_that_the_published_results_are_checked_on(name):
    mine, theirs = load_scale_out(FOLDER / f"{name}.json").graph, GRAPHS[name]
    assert mine.components == theirs.components
    assert set(mine.edges) == set(theirs.edges)


@every_file
def test_the_readme_lists_it(name):
    text = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    assert f"`{name}.json`" in text
