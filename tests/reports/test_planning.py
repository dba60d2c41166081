"""Rankings of placements and scalings: the same tables on terminal and page."""

import pytest

from streamgauge.api.rank_placements import rank_placements
from streamgauge.api.rank_scalings import rank_scalings
from streamgauge.profile.files.jobs import load_job, parse_job
from tests.planning.scaling.tiny_job import JOB
from tests.reports.pages import table, verdict


@pytest.fixture(scope="module")
def word_count(request):
    return load_job(request.config.rootpath / "examples" / "word-count.yaml")


@pytest.fixture(scope="module")
def placements(word_count):
    return rank_placements(word_count)


@pytest.fixture(scope="module")
def scalings(word_count):
    return rank_scalings(
        word_count, 4, rate=300_000, step="large-buffers", planner="all", sweep=True
    )


def test_placements_say_up_to_which_rate_they_fit(placements):
    """Transfer queues of 1,024 places; one splitter does 183k a second with a core to itself."""
    rows = table(placements.to_html(), "Placements, the best first by p99")
    assert rows["even"]["up to"] == "107k"
    assert rows["traffic-aware"]["p99"] == "186 µs"
    assert "up to" in placements.to_text()


def test_the_page_of_placements_leads_with_p99_and_headroom(placements):
    shown = verdict(placements.to_html())
    assert shown.startswith("traffic-aware is the best of 6 plans by p99. Fits.")
    assert "p99 latency since emission2.57 ms → 186 µsheadroom1.83 times the load" in shown


def test_no_word_of_a_table_is_broken_on_a_narrow_terminal(placements):
    lines = placements.to_text(80).splitlines()
    assert all(len(line) <= 80 for line in lines if not line.startswith("  streamgauge"))
    for name in placements.ranking.placements:
        assert any(line.split()[:1] == [name] for line in lines)


def test_a_heap_that_is_too_small_is_a_caution():
    """A worker has 768 MB by default, and its executor of `work` declares 900."""
    text = JOB.replace("workers: 2}", "workers: 2, resources: {work: {memory_bytes: 900000000}}}")
    report = rank_placements(parse_job(text), scheduler="even", rate=10)
    assert report.verdict.cautions == ("Heap is too small in 1 worker for what executors declare.",)


def test_every_placement_is_in_the_long_table(placements):
    figures = {(row.name, row.figure): row for row in placements.figures()}
    assert figures["even", "latency_p99"].unit == "s"
    assert figures["even", "latency_p99"].value == pytest.approx(2.57e-3, rel=0.01)
    assert {name for name, _ in figures} == set(placements.ranking.placements)


def test_components_show_what_changes(scalings):
    rows = table(
        scalings.to_html(), "Components, before → after; more than 100 % busy is congested"
    )
    assert rows["splitter"]["executors"] == "1 → 2"
    assert rows["splitter"]["busy"] == "163.6 % → 81.8 %"
    assert rows["spout"]["gets"] == "–"


def test_planners_say_what_no_allocation_exceeds(scalings):
    rows = table(scalings.to_html(), "Planners, the best first")
    assert rows["exact"]["at most"] == "2,290,000"
    assert rows["stela"]["at most"] == "–"


def test_a_scaling_has_two_pictures_where_it_was_swept(word_count, scalings):
    assert [chart.title for chart in scalings.charts] == [
        "Components before and after",
        "Delivered by units",
    ]
    assert len(rank_scalings(word_count, 1).charts) == 1


def test_figures_of_a_scaling_are_by_planner_and_by_component(scalings):
    figures = {(row.subject, row.name, row.figure): row.value for row in scalings.figures()}
    assert figures["planner", "combined", "units"] == 1
    assert figures["component", "splitter", "units"] == 2
