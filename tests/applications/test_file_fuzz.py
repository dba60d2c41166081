"""Whatever a file holds, it becomes a job or InvalidInput, nothing else."""

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.applications import list_remarks, make_job
from streamgauge.applications.expansion import trace_contents
from streamgauge.applications.files.applications import parse_application
from streamgauge.applications.files.platforms import parse_platform
from streamgauge.errors import InvalidInput

WORKFLOW = """\
name: it
datastream:
  synthetic:
    data: {size: 8, values: 100, distribution: nonuniform}
    flow: {distribution: burst, rate: 1000, phase: 300, interval: 30, duration: 12}
dataflow:
  depth: 5
  scalability: {parallelism: 24, balancing: pyramid, variability: 0.5}
  connection: {shape: diamond, routing: hash}
  workload: {processing: 3.0, balancing: decreasing, reliability: true}
  filtering: 0.5
  windowing: {enabled: true, type: sliding, duration: 4, interval: 2}
"""
PIPELINE = """\
pipeline:
  tasks:
    - {name: a, parallelism: 2, data: {size: 3, values: 40}, flow: {distribution: sin, rate: 5}}
    - {name: b, flow: {rate: 0}}
    - {name: c, parents: [a, b], routing: broadcast, filtering: 0.3, resizeddata: 1}
    - {name: d, parents: [c], routing: hash, processing: 2, windowing: {duration: 3}}
    - {name: e, parents: [d, a], routing: hash, reliability: true}
"""
PLATFORM = """\
workers: 2
maxSpoutPending: 10
debug: 0.01
cycle_ns: 0.7
cluster: {uniform: {nodes: 2, slots: 2}}
"""
PIECES = (
    *(
        "{",
        "}",
        "[",
        "]",
        ":",
        "- ",
        "\n",
        "'",
        "#",
        "null",
        "~",
        "true",
        "-1",
        "0",
        "1e9",
        "1e-300",
    ),
    *("1e300", "9" * 20, "0.5", "uniform", "none", "__acker", "a", "{}", "[]", "", " "),
)


def read(application: str, platform: str) -> None:
    with suppress(InvalidInput):
        described = parse_application(application)
        trace_contents(described)
        make_job(described, parse_platform(platform))
        list_remarks(described)


@st.composite
def damaged(draw, whole: str) -> str:
    """The text with a piece of another kind somewhere in it."""
    at = draw(st.integers(min_value=0, max_value=len(whole)))
    cut = draw(st.integers(min_value=0, max_value=8))
    return whole[:at] + draw(st.sampled_from(PIECES)) + whole[at + cut :]


@given(damaged(WORKFLOW))
@settings(max_examples=150)
def test_a_damaged_workflow_becomes_a_job_or_is_refused(text):
    read(text, PLATFORM)


@given(damaged(PIPELINE))
@settings(max_examples=150)
def test_a_damaged_pipeline_becomes_a_job_or_is_refused(text):
    read(text, PLATFORM)


@given(damaged(PLATFORM))
@settings(max_examples=100)
def test_a_damaged_platform_is_understood_or_refused(text):
    read(PIPELINE, text)


def test_the_files_are_fine_before_they_are_damaged():
    for text in (WORKFLOW, PIPELINE):
        assert make_job(parse_application(text), parse_platform(PLATFORM)).behaviours
