"""Rows that contradict each other are named, and no others."""

import json

import pytest

from streamgauge.planning.scaling.files.scale_out_file import ScaleOut, parse_scale_out
from streamgauge.planning.scaling.graph import LinearLaw
from tests.planning.scaling import printed_tables as printed


def named(read: ScaleOut) -> list[tuple[str, str]]:
    """Component and key of every warning."""
    return [
        (one.seen.removeprefix("component ").partition(":")[0], str(one.place[-1]))
        for one in read.warnings
    ]


def bolt(**rates: object) -> ScaleOut:
    """A spout of 100 and one bolt with a capacity of 80."""
    row = {"id": "b", "type": "bolt", "maxProcessingRate": 80, **rates}
    spout = {"id": "s", "type": "spout", "outputRate": 100, "childOutputRatio": {"b": 1}}
    return parse_scale_out(json.dumps({"components": [spout, row]}))


@pytest.mark.parametrize("table", [printed.TABLE_6_1, printed.TABLE_6_3, printed.TABLE_6_5])
def test_tables_that_agree_with_themselves_have_no_row_named(table):
    assert named(parse_scale_out(printed.as_text(table))) == []


@pytest.mark.parametrize(
    ("table", "misprints"),
    [
        (printed.TABLE_6_7, ["17"]),
        (printed.TABLE_6_9, ["16", "17"]),
        (printed.TABLE_6_11, ["5"]),
    ],
)
def test_misprinted_inputs_are_named_and_nothing_else(table, misprints):
    found = named(parse_scale_out(printed.as_text(table)))
    assert found == [(name, "inputRate") for name in misprints]


def test_table_6_10_has_a_spout_with_junk_a_wrong_input_an_orphan_and_a_lost_digit():
    read = parse_scale_out(printed.as_text(printed.TABLE_6_10, "processingRate"))
    assert named(read) == [
        ("1", "processingRate"),
        ("1", "maxProcessingRate"),
        ("2", "processingRate"),
        ("7", "parents"),
        ("15", "processingRate"),
    ]


def test_a_warning_says_what_was_seen_what_it_should_be_and_where():
    text = printed.as_text(printed.TABLE_6_7)
    (warning,) = parse_scale_out(text, "table.json").warnings
    assert "17: 800; expected 400, what its parents send" in str(warning)
    (row,) = [i for i, one in enumerate(text.splitlines(), 1) if '"id": "17"' in one]
    assert warning.line == row + 3
    assert str(warning).startswith(f"table.json:{row + 3}: components[16].inputRate: ")


def test_tables_round_to_whole_tuples():
    assert named(bolt(inputRate=99, outInRatio=1)) == []
    assert named(bolt(inputRate=98.9, outInRatio=1)) == [("b", "inputRate")]


def test_the_tolerance_can_be_chosen():
    text = printed.as_text(printed.TABLE_6_7)
    assert parse_scale_out(text, tolerance=400).warnings == ()


@pytest.mark.parametrize(
    ("key", "right", "wrong"),
    [
        ("inputRate", 100, 90),
        ("processingRate", 80, 100),
        ("droppedRate", 20, 0),
        ("outputRate", 160, 80),
    ],
)
def test_every_rate_is_checked_against_those_it_follows_from(key, right, wrong):
    assert named(bolt(outInRatio=2, **{key: right})) == []
    assert named(bolt(outInRatio=2, **{key: wrong})) == [("b", key)]


def test_the_ratio_is_output_over_what_was_processed():
    assert bolt(outputRate=240).graph.by_name["b"].out_per_in == 3
    assert bolt(outputRate=240, processingRate=60).graph.by_name["b"].out_per_in == 4


@pytest.mark.parametrize(
    "rates", [{}, {"processingRate": 0, "outputRate": 0}, {"processingRate": 0, "outputRate": 9}]
)
def test_where_no_ratio_can_be_known_as_many_out_as_in_is_taken_and_said(rates):
    read = bolt(**rates)
    assert read.graph.by_name["b"].out_per_in == 1
    assert ("b", "outInRatio") in named(read)


def test_what_a_unit_can_do_is_the_component_s_maximum_over_its_units():
    assert bolt(unitCount=4, outInRatio=1).graph.by_name["b"].law == LinearLaw(per_unit=20)
