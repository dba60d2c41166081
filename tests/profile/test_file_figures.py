"""Every record of figures stands in a file as a whole, and always in the same way."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.profile import figures
from streamgauge.profile.figures import (
    Figure,
    PeriodState,
    Shares,
    TaskId,
    TimeFigures,
    WorkerFigures,
)
from streamgauge.profile.files.figures import BareRecordFile, record_file
from streamgauge.profile.files.jobs import (
    load_profile,
    parse_profile,
    profile_to_data,
    profile_to_json,
    save,
)
from streamgauge.profile.keys import GivenKeys
from streamgauge.topology.files.document import WIDTH, lay_out_json
from tests.profile.measured import WORDS, filled, word_count
from tests.strategies import profiles

RECORDS = [
    one
    for one in vars(figures).values()
    if isinstance(one, type)
    and one.__module__ == figures.__name__
    and one not in (TaskId, PeriodState)
]


@pytest.mark.parametrize("record", RECORDS)
def test_no_field_of_a_record_is_lost(record):
    whole = filled(record)
    model = record_file(record)
    written = json.loads(json.dumps(model.of(whole)))
    assert len(written) == len(model.record_parts)
    assert model.model_validate(written).build() == whole


@pytest.mark.parametrize("record", RECORDS)
def test_every_field_says_what_it_is(record):
    """The words come from the record's own docstring, where it lists its fields."""
    if "Attributes:" in record.__doc__:
        fields = record_file(record).model_fields
        assert all(one.description for one in fields.values())


def test_a_measured_job_survives_the_disk(tmp_path):
    profile = word_count()
    for name in ("profile.json", "profile.yaml"):
        save(profile_to_data(profile), tmp_path / name)
        assert load_profile(tmp_path / name) == profile


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Figure(value=2), 2.0),
        (Figure(value=-0.0), 0.0),
        (Figure(value=0.1, standard_error=0.0), {"value": 0.1, "standard_error": 0.0}),
        (Shares(parts=(1, 0)), [1.0, 0.0]),
        (Shares(parts=(1.0,), buckets=2), {"parts": [1.0], "buckets": 2}),
        (WorkerFigures(), {}),
        (
            TimeFigures(mean_ms=Figure(value=1), quantiles_ms={1: 3, 0.5: 1}),
            {"mean_ms": 1.0, "quantiles_ms": {"0.5": 1.0, "1.0": 3.0}},
        ),
    ],
)
def test_what_is_a_default_is_not_written(value, written):
    found = record_file(type(value)).of(value)
    assert repr(found) == repr(written)


def test_a_bare_value_means_the_main_field():
    assert issubclass(record_file(Figure), BareRecordFile)
    assert record_file(Figure).model_validate(3).build() == Figure(value=3.0)


@given(profiles(), st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_equal_profiles_are_equal_bytes(profile, random):
    """Whatever the order in which figures came together."""

    def mixed(mapping):
        pairs = list(mapping.items())
        random.shuffle(pairs)
        return dict(pairs)

    names = ("tasks", "executors", "workers", "nodes", "sources", "saturation", "placement")
    configuration = replace(
        profile.configuration,
        executors=mixed(profile.configuration.executors),
        settings=mixed(profile.configuration.settings),
    )
    other = replace(
        profile,
        configuration=configuration,
        **{name: mixed(getattr(profile, name)) for name in names},
    )
    assert other == profile
    assert profile_to_json(other) == profile_to_json(profile)


def test_numbers_in_names_are_ordered_as_numbers():
    workers = {f"node-{number}:6700": WorkerFigures() for number in (10, 9, 2)}
    data = profile_to_data(word_count(placement={}, executors={}, workers=workers))
    assert list(data["profile"]["workers"]) == ["node-2:6700", "node-9:6700", "node-10:6700"]


def test_operators_are_written_in_the_topology_s_order():
    tasks = dict(reversed(list(word_count().tasks.items())))
    written = profile_to_data(word_count(tasks=tasks))["profile"]["operators"]
    assert list(written) == ["sentences", "splitter", "counter", "report"]
    assert list(written["counter"]) == ["0", "1", "2"]


def test_a_figure_is_one_line():
    text = profile_to_json(word_count())
    figure = '"cores": {"value": 1.6, "samples": 60000, "buckets": 180, "standard_error": 0.016}'
    assert sum(line.strip().rstrip(",") == figure for line in text.splitlines()) == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=12), inner, max_size=8)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=12), JSON, max_size=4))
@settings(max_examples=40)
def test_any_layout_reads_back_to_the_same(data):
    finite = json.loads(json.dumps(data).replace("Infinity", "1"))
    assert json.loads(lay_out_json(finite)) == finite


def test_long_lists_of_numbers_fill_their_lines():
    lines = lay_out_json({"parts": [0.125] * 100}).splitlines()
    assert max(map(len, lines)) < WIDTH
    assert len(lines) < 15


def test_a_long_mapping_is_one_entry_a_line():
    placement = {f"executor[{number}]": "node:6700" for number in range(50)}
    assert len(lay_out_json({"placement": placement}).splitlines()) == 54


def test_keys_keep_the_order_they_were_given_in():
    """Their order says which key is which where keys are drawn by number."""
    keys = GivenKeys(weights={"often": 9.0, "a": 1.0})
    read = parse_profile(profile_to_json(word_count(keys={WORDS: keys})))
    assert read.keys[WORDS].names() == ("often", "a")
