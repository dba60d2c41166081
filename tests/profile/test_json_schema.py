"""The JSON Schema takes what we write and refuses what we would."""

import json

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from streamgauge.profile.files.jobs import (
    HEAD,
    SECTIONS,
    job_to_data,
    json_schema,
    profile_to_data,
)
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.files.document import parse_document
from tests.profile.texts import FIGURES, JOB
from tests.strategies import jobs, profiles

VALIDATOR = Draft202012Validator(json_schema())


def is_valid(text: str) -> bool:
    return VALIDATOR.is_valid(parse_document(text).data)


def test_it_is_a_schema():
    Draft202012Validator.check_schema(json_schema())


def test_it_is_json():
    assert json.loads(json.dumps(json_schema())) == json_schema()


@given(jobs())
@settings(max_examples=30)
def test_it_takes_every_job_we_write(job: Job):
    VALIDATOR.validate(job_to_data(job))


@given(profiles())
@settings(max_examples=20)
def test_it_takes_every_profile_we_write(profile: Profile):
    VALIDATOR.validate(profile_to_data(profile))


@pytest.mark.parametrize("text", [JOB, FIGURES])
def test_it_takes_files_written_by_hand(text):
    VALIDATOR.validate(parse_document(text).data)


@pytest.mark.parametrize("section", ["topology", "behaviours", "workload", "plan", "steps"])
def test_it_takes_a_reference_for_a_section(section):
    assert is_valid(f"streamgauge: 1\n{section}: {{file: other.yaml}}\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("streamgauge: 1", "streamgauge: 2"),
        ("streamgauge: 1\n", ""),
        ("workload:", "workloads:"),
        ("tasks: 4", "task: 4"),
        ("tasks: 4", "tasks: '4'"),
        ("kind: source", "kind: sauce"),
        ("from: lines, ", ""),
        ("shuffle", "shufle"),
        ("{fields: [word]}", "{fields: [word], shuffle: {}}"),
        ("{fields: [word]}", "fields"),
        ("cpu_ms: 2", "cpu_ms: two"),
        ("per_second: 100", "per_second: fast"),
        ("port: 6700", "port: high"),
    ],
)
def test_it_refuses_what_we_would(old, new):
    assert old in JOB
    assert not is_valid(JOB.replace(old, new, 1))


def test_it_has_the_sections_that_are_read():
    assert list(json_schema()["properties"]) == [*HEAD, *SECTIONS]
