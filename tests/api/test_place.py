"""`place`: one plan of a job, as a report with tables, pictures and figures."""

import math

import pytest

from streamgauge.api.place import place
from streamgauge.errors import InvalidInput, UnreadableFile
from streamgauge.profile.files.jobs import load_job, parse_job
from tests.cli.conftest import JOB
from tests.reports.pages import table


def test_a_job_is_placed_by_the_even_scheduler_or_the_one_named():
    job = parse_job(JOB)
    assert len(place(job).plan.workers) == 2
    assert len(place(job, "isolation").plan.workers) == 4


def test_a_file_and_a_step_are_taken_too(project):
    file = project / "examples" / "word-count.yaml"
    by_file = place(file, step="splitters-2")
    by_object = place(load_job(file).at_step("splitters-2"))
    assert by_file.to_dict() == by_object.to_dict()
    assert len(by_file.plan.logical.spans["splitter"]) == 2


def test_the_page_has_the_tables_of_the_terminal():
    page = place(parse_job(JOB)).to_html()
    assert table(page, "Operators")["work"]["tasks"] == "4"
    assert table(page, "Workers")["n1:6700"]["which"] == "__acker[1] in[3] out[5] work[7] work[9]"


def test_figures_count_executors_and_connections():
    figures = {
        (row.subject, row.name, row.figure): row.value for row in place(parse_job(JOB)).figures()
    }
    assert figures["operator", "work", "executors"] == 4
    assert figures["worker", "n2:6700", "executors"] == 5
    connections = [value for (_, _, figure), value in figures.items() if "connections" in figure]
    assert math.fsum(connections) == 16


def test_a_job_without_a_cluster_is_warned_about():
    job = parse_job(JOB.replace("cluster: {uniform: {nodes: 2, slots: 2, cores: 2}}", ""))
    report = place(job)
    assert report.warnings == (
        "no cluster is described: assuming 2 nodes with one slot and one core each",
    )
    assert report.verdict.grade == "warning"


def test_what_is_wrong_is_an_error_of_ours(tmp_path):
    with pytest.raises(UnreadableFile, match="no such file"):
        place(tmp_path / "nothing.yaml")
    with pytest.raises(InvalidInput, match="did you mean 'slim'"):
        place(parse_job(JOB), step="slum")
