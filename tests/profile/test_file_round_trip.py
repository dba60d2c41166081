"""What is written reads back to the same, however odd its names and numbers."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from streamgauge.errors import InvalidInput
from streamgauge.profile.behaviour import Behaviour, Service
from streamgauge.profile.distribution import Constant
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.files.jobs import (
    job_to_data,
    load_job,
    load_profile,
    parse_job,
    parse_profile,
    profile_to_data,
    save,
)
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.topology import (
    Configuration,
    Operator,
    OperatorKind,
    Shuffle,
    Stream,
    StreamKey,
    Topology,
)
from streamgauge.topology.files.document import dump_json, dump_yaml
from tests.strategies import NASTY_FLOATS, NASTY_NAMES, jobs, profiles

PAIR = Topology(
    name="pair",
    operators=(Operator(name="s", kind=OperatorKind.SOURCE), Operator(name="a")),
    streams=(Stream(source="s", target="a", grouping=Shuffle()),),
)


@given(jobs())
@settings(max_examples=40)
def test_a_job_survives_yaml(job: Job):
    assert parse_job(dump_yaml(job_to_data(job))) == job


@given(jobs())
@settings(max_examples=30)
def test_a_job_survives_json(job: Job):
    assert parse_job(dump_json(job_to_data(job))) == job


@given(profiles())
@settings(max_examples=40)
def test_a_profile_survives_yaml(profile: Profile):
    assert parse_profile(dump_yaml(profile_to_data(profile))) == profile


@given(profiles())
@settings(max_examples=30)
def test_a_profile_survives_json(profile: Profile):
    assert parse_profile(dump_json(profile_to_data(profile))) == profile


@pytest.mark.parametrize("dump", [dump_yaml, dump_json])
@pytest.mark.parametrize("name", NASTY_NAMES)
def test_an_operator_may_have_any_printable_name(name, dump):
    source = Operator(name=name, kind=OperatorKind.SOURCE)
    job = Job(topology=Topology(name=name, operators=(source,)))
    assert parse_job(dump(job_to_data(job))) == job


@pytest.mark.parametrize("dump", [dump_yaml, dump_json])
@pytest.mark.parametrize("value", [True, 1, 1.0, "1", "true", -0.0, *NASTY_FLOATS, *NASTY_NAMES])
def test_a_setting_keeps_its_type(value, dump):
    job = Job(topology=PAIR, configuration=Configuration(settings={"x": value}))
    read = parse_job(dump(job_to_data(job))).configuration.settings["x"]
    assert repr(read) == repr(value)


@pytest.mark.parametrize("dump", [dump_yaml, dump_json])
def test_operators_keep_their_order(dump):
    names = ("zebra", "ant", "Mule")
    kinds = OperatorKind.SOURCE
    topology = Topology(name="t", operators=[Operator(name=n, kind=kinds) for n in names])
    assert parse_job(dump(job_to_data(Job(topology=topology)))).topology.operator_names == names


@pytest.mark.parametrize("dump", [dump_yaml, dump_json])
def test_numbers_of_numpy_are_written_as_numbers(dump):
    service = Service(cpu_ms=Constant(value=np.float64(1.5)))
    job = Job(topology=PAIR, behaviours={"a": Behaviour(service=service)})
    assert parse_job(dump(job_to_data(job))) == job


def test_probabilities_of_numpy_are_written_as_numbers():
    wall = TimeFigures(mean_ms=Figure(value=1.0), quantiles_ms={np.float64(0.5): 1.0})
    task = TaskProfile(inputs={StreamKey("s", "default"): InputFigures(wall=wall)})
    profile = Profile(topology=PAIR, configuration=Configuration(), tasks={TaskId("a", 0): task})
    assert parse_profile(dump_json(profile_to_data(profile))) == profile


@pytest.mark.parametrize("name", ["job.yaml", "job.json"])
def test_a_saved_job_loads(tmp_path: Path, name):
    job = Job(topology=PAIR, about="two of them")
    save(job_to_data(job), tmp_path / name)
    assert load_job(tmp_path / name) == job


def test_a_saved_profile_loads(tmp_path: Path):
    profile = Profile(topology=PAIR, configuration=Configuration(), notes=("thin",))
    save(profile_to_data(profile), tmp_path / "profile.yaml")
    assert load_profile(tmp_path / "profile.yaml") == profile


def test_saving_leaves_nothing_but_the_file(tmp_path: Path):
    save(job_to_data(Job(topology=PAIR)), tmp_path / "job.yaml")
    assert [file.name for file in tmp_path.iterdir()] == ["job.yaml"]


def test_saving_into_a_missing_folder_is_refused_by_name(tmp_path: Path):
    with pytest.raises(InvalidInput, match=r"nowhere/job\.yaml"):
        save(job_to_data(Job(topology=PAIR)), tmp_path / "nowhere" / "job.yaml")


def test_saving_what_utf_8_cannot_hold_leaves_the_old_file(tmp_path: Path):
    save(job_to_data(Job(topology=PAIR, about="old")), tmp_path / "job.json")
    with pytest.raises(InvalidInput):
        save(job_to_data(Job(topology=PAIR, about="\ud800")), tmp_path / "job.json")
    assert [file.name for file in tmp_path.iterdir()] == ["job.json"]


def test_a_topology_with_ackers_added_is_not_a_file():
    acked = Topology(name="t", operators=PAIR.operators, streams=PAIR.streams, acked=True)
    with pytest.raises(InvalidInput, match="ackers follow from the configuration"):
        job_to_data(Job(topology=acked.with_ackers(1)))


@pytest.mark.parametrize("text", ["\x85", "a\x85b", "\u2028", "a\rb", "\t", " a ", "\x00\x07\x7f"])
def test_a_text_keeps_its_blanks_and_line_breaks(text):
    job = Job(topology=PAIR, about=text)
    assert parse_job(dump_yaml(job_to_data(job))).about == text


def test_saving_through_a_link_keeps_the_link(tmp_path: Path):
    (tmp_path / "real.yaml").write_text("")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "real.yaml")
    save({"streamgauge": 1}, tmp_path / "link.yaml")
    assert (tmp_path / "link.yaml").is_symlink()
    assert (tmp_path / "real.yaml").read_text() == "streamgauge: 1\n"


def test_saving_into_a_pipe_writes_into_it(tmp_path: Path):
    """What is no plain file is never replaced by one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        save({"streamgauge": 1}, pipe)
        assert os.read(reader, 100) == b"streamgauge: 1\n"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
