"""Whatever a file holds, reading it gives a value or InvalidInput, nothing else."""

import json
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput
from streamgauge.profile.files.jobs import parse_job, parse_profile

JOB = """\
streamgauge: 1
about: &t a text
topology:
  name: words
  acked: true
  operators:
    lines: {kind: source, tasks: 2}
    split: {tasks: 4}
    count: {tasks: 2, window: {length_tuples: 10, slide_seconds: 1.5}}
  streams:
  - {from: lines, to: split, grouping: shuffle}
  - {from: split, to: count, stream: words, grouping: {custom: [[0.5, 0.5]]}}
behaviours:
  split:
    service: {cpu_ms: {gamma: {mean: 2, scv: 0.5}}, wait_ms: 1}
    outputs: {words: {rounded-normal: {centre: 7, deviation: 2, high: 20}}}
    keys: {words: {given: {weights: {a: 1, b: 2}}}}
configuration: {engine: storm-1, executors: {split: 2}, settings: {x: 1}}
cluster: {uniform: {nodes: 2, slots: 2}}
workload:
- {source: lines, per_second: 1e2, shape: {burst: {on_seconds: 1, off_seconds: 2}}}
plan:
  workers:
  - {node: n1, port: 6700, executors: ['lines[1-2]', 'split[3-4]', 'split[5-6]']}
  - {node: n2, port: 6701, executors: ['count[7-8]', '__acker[9]']}
steps: {wide: {executors: 1}}
profile:
  operators: {split: {each: {inputs: {lines: {default: {wall: {mean_ms: 2}}}}}}}
  keys: {split: {words: {zipf: {count: 5}}}}
"""

# Pieces that mean something to YAML, JSON or us, put where they do not belong.
PIECES = (
    *("{", "}", "[", "]", ":", "- ", "&a ", "*t", "!!int ", "!!bool ", "!!map ", "!!set ", "!x "),
    *("'", '"', "\\", "\n", "\t", "#", "|", ">", "%", "---\n", "<<: *t", "null", "~", "true"),
    *("-1", "0", "1e999", ".nan", "9" * 30, "0x", "\ud800", "\x00", "\x85", "\ufeff", "__acker"),
    *("file: x", "each", "[1-2]", "[٣]", "uniform", "'1'", "{}", "[]", "-0.0", "٣"),
)


def read(text: str | bytes) -> None:
    """Reads the text as a job and as a profile; anything but InvalidInput comes through."""
    for parse in (parse_job, parse_profile):
        with suppress(InvalidInput):
            parse(text)


@given(st.one_of(st.text(), st.binary(), st.sampled_from(PIECES)))
@settings(max_examples=200)
def test_any_text_is_read_or_refused(text):
    read(text)


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
@settings(max_examples=200)
def test_any_punctuation_is_read_or_refused(text):
    read(text)
    read("streamgauge: 1\ntopology: " + text)


@given(
    at=st.integers(min_value=0, max_value=len(JOB)),
    cut=st.integers(min_value=0, max_value=12),
    piece=st.one_of(st.just(""), st.sampled_from(PIECES), st.text(max_size=3)),
)
@settings(max_examples=200)
def test_a_damaged_file_is_read_or_refused(at, cut, piece):
    read(JOB[:at] + piece + JOB[at + cut :])


KEYS = "name operators streams from to grouping tasks kind fields custom gamma mean file"
SECTIONS = "about topology behaviours configuration cluster workload plan steps profile"
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS.split(" ")), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(section=st.sampled_from(SECTIONS.split(" ")), data=TREES)
@settings(max_examples=200)
def test_a_section_of_any_form_is_read_or_refused(section, data):
    topology = {"name": "t", "operators": {"s": {"kind": "source"}}}
    read(json.dumps({"streamgauge": 1, "topology": topology, section: data}))
