"""`sg.simulate`: files or jobs, the same answer as the command's, refusals as errors."""

import pytest

import streamgauge as sg
from streamgauge.errors import InvalidInput
from tests.cli.conftest import JOB
from tests.cli.test_simulate import BEHAVIOURS


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(JOB + BEHAVIOURS)
    return path


def test_a_job_and_its_file_give_the_same_figures(file):
    by_path = sg.simulate(file, seconds=2, rate=50)
    by_object = sg.simulate(sg.load_job(file), seconds=2.0, rate={"in": 50.0})
    assert by_path.to_dict() == by_object.to_dict()
    assert isinstance(by_path, sg.SimulationReport)


def test_a_step_configures_the_job(file):
    report = sg.simulate(file, step="slim", seconds=1)
    assert report.result.operators["work"].executors == 1


def test_the_document_says_which_time_was_asked_for(file):
    document = sg.simulate(file, seconds=2).to_dict()
    assert document["schema_version"] == 1
    assert document["requested_seconds"] == 2
    assert document["seconds"] + document["warmup"] == pytest.approx(2.5)


def test_replications_average_the_sinks(file):
    report = sg.simulate(file, seconds=1, replications=2)
    assert len(report.results) == 2
    assert report.to_dict()["estimates"]["out"]["mean_ms"]["runs"] == 2


def test_what_is_wrong_is_an_error_that_names_the_file(file, tmp_path):
    with pytest.raises(sg.StreamgaugeError, match=r"nothing\.yaml"):
        sg.simulate("nothing.yaml")
    file.write_text(JOB)
    with pytest.raises(InvalidInput, match=r"job\.yaml: workload: no workload"):
        sg.simulate(file)


def test_progress_is_told_in_simulated_seconds(file):
    told = []
    sg.simulate(file, seconds=4, warmup=1, progress=lambda *times: told.append(times))
    assert {horizon for _, horizon in told} == {5.0}
    assert told[-1][0] == pytest.approx(5.0)
