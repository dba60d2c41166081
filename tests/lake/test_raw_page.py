"""What the page on the raw format says is what the code does."""

import re

import pytest

from streamgauge.lake.definition import QUEUES, Kind
from streamgauge.lake.field_rules import reasons_table
from streamgauge.lake.histogram import LAST_BIN
from streamgauge.lake.metrics import METRICS, metrics_table
from streamgauge.lake.raw import Plan, Reason, Rejected, decode, encode
from streamgauge.lake.record_types import HOP, PLACED_EXECUTOR, SHAPES, subjects_table
from streamgauge.lake.records import EventKind, LinkKind, Outcome
from streamgauge.profile.files.jobs import parse_job


@pytest.fixture
def page(project):
    return (project / "docs/raw-format.md").read_text()


@pytest.fixture
def examples(page):
    blocks = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def test_every_example_is_a_line_that_encode_writes(examples):
    for line in examples:
        record = decode(line)
        assert not isinstance(record, Rejected), record
        assert encode(record) == line


def test_there_is_an_example_of_each_type(examples):
    assert {decode(line).type for line in examples} == set(SHAPES)


def test_the_documents_of_plans_are_job_files(examples):
    plans = [record for record in map(decode, examples) if isinstance(record, Plan)]
    assert plans
    for plan in plans:
        assert parse_job(plan.document).topology.name == plan.topology


def test_the_table_of_metrics_is_the_one_rendered(page):
    assert f"metrics_table -->\n{metrics_table()}<!-- end -->" in page


def test_the_table_of_reasons_is_the_one_rendered(page):
    assert f"reasons_table -->\n{reasons_table()}<!-- end -->" in page
    assert all(reason.meaning.endswith(".") for reason in Reason)


def test_the_table_of_subjects_is_the_one_rendered(page):
    assert subjects_table() in page


def test_the_figures_of_a_profile_rest_on_metrics_there_are(page):
    table = page.split("What a profile takes from them:")[1].split("##")[0]
    named = set(re.findall(r"`(\w+)`", table)) - {"key"}
    assert len(named) > 15
    assert named <= set(METRICS)


@pytest.mark.parametrize("kind", SHAPES)
def test_keys_are_listed_in_the_order_in_which_they_are_written(page, kind):
    section = page.split(f"### {kind}\n")[1].split("```json")[0]
    # Keys of parts and allowed words stand in brackets behind the key they belong to.
    listed = re.findall(r"`(\w+)`", re.sub(r"\([^)]*`[^)]*\)", "", section))
    keys = list(SHAPES[kind].checks)
    start = listed.index(keys[0])
    assert listed[start : start + len(keys)] == keys


def test_keys_of_parts_are_listed_too(page):
    for key, shape in (("hops", HOP), ("executors", PLACED_EXECUTOR)):
        inside = re.search(rf"`{key}` \(([^)]*)\)", page)[1]
        assert re.findall(r"`(\w+)`", inside) == list(shape.checks)


def test_all_words_and_kinds_are_on_the_page(page):
    for word in (*EventKind, *LinkKind, *Outcome, *QUEUES):
        assert f"`{word}`" in page
    for kind in Kind:
        assert f"| {kind} |" in page
    assert f"bin {LAST_BIN} is everything" in page
