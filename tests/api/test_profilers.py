"""The profilers by their front door: rounds of resources, and limits stored in a catalogue."""

import json

import pytest

import streamgauge as sg
from streamgauge.errors import InvalidInput
from streamgauge.planning.packing.files.catalogue_file import load_catalogue

CATALOGUE = """\
catalogue: 1
name: two
machines:
  - {name: known, category: general, cores: 2, memory_gib: 8, price_per_hour: 0.1,
     router_per_second: 5000}
  - {name: new, category: general, cores: 4, memory_gib: 16, price_per_hour: 0.19}
"""


@pytest.fixture
def catalogue(tmp_path):
    path = tmp_path / "machines.yaml"
    path.write_text(CATALOGUE)
    return path


def test_m_07_the_limit_of_a_new_type_is_stored_in_the_catalogue(catalogue, tmp_path):
    # 1 ms a tuple: four sources of 190/s keep it busy for 76 % of the time, a load of 1,520.
    report = sg.profile_router(catalogue, 1000.0, source_rate=190.0)
    report.save_catalogue(tmp_path / "stored.yaml")
    stored = {
        one.name: one.router_per_second for one in load_catalogue(tmp_path / "stored.yaml").machines
    }
    assert stored["known"] == 5000.0
    assert stored["new"] == pytest.approx(1520.0, rel=0.05)
    assert sg.profile_router(tmp_path / "stored.yaml", 1000.0).verdict.word == "Nothing to measure"


def test_a_type_without_a_time_and_a_time_without_a_type_are_named(catalogue):
    with pytest.raises(InvalidInput, match="did you mean 'new'"):
        sg.profile_router(catalogue, {"nwe": 10.0})


def test_rounds_of_a_job_say_what_it_needs(project):
    report = sg.profile_resources(project / "examples/word-count.yaml", rate=8000, seconds=1.0)
    document = json.loads(json.dumps(report.to_dict()))["resources"]
    assert document["settled"] is report.profiling.is_settled
    assert len(document["rounds"]) == len(report.profiling.rounds)
    assert str(report.verdict) in " ".join(report.to_text(10_000).split())
    assert "<svg" in report.to_html()
