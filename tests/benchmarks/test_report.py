"""A report is kept part by part, and a run that was stopped goes on where it was."""

import sys
from types import SimpleNamespace

import pytest

from benchmarks.__main__ import measure_study
from benchmarks.report import Entry, read_report, write_report


@pytest.fixture
def measured(monkeypatch):
    """The parts of a study that were measured, in order."""
    names = []

    def part(name):
        def measure(done, *, large):
            names.append((name, sorted(done), large))
            return Entry(name, "about")

        return measure

    study = SimpleNamespace(PARTS={name: part(name) for name in ("fake one", "fake two")})
    monkeypatch.setitem(sys.modules, "benchmarks.fake", study)
    return names


def test_parts_that_are_done_are_not_measured_again(measured):
    done = {"fake one": Entry("fake one", "about")}
    assert [one.name for one in measure_study("fake", None, done, large=True)] == ["fake two"]
    assert measured == [("fake two", ["fake one"], True)]


def test_one_part_of_a_study_can_be_measured_alone(measured):
    list(measure_study("fake", "fake two", {}, large=False))
    assert measured == [("fake two", [], False)]
    with pytest.raises(SystemExit, match="expected 'fake' or 'fake one', 'fake two'"):
        list(measure_study("fake", "fake three", {}, large=False))


def test_entries_are_read_as_they_were_written_but_for_those_of_the_other_size(tmp_path):
    path = tmp_path / "folder" / "report.json"
    assert read_report(path, large=True) == []
    entries = [Entry("one", "about", cases={"a": {"seconds": 1.5}}, ratios={"b": 2.0})]
    write_report(path, entries, 1.0, large=True)
    assert read_report(path, large=True) == entries
    with pytest.raises(ValueError, match="not measured at the same size"):
        read_report(path, large=False)
