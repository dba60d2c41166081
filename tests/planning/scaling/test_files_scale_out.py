"""The published form is read, refused with all problems at once, and written back."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from streamgauge.errors import CyclicTopology, InvalidInput, UnreadableFile
from streamgauge.planning.scaling.files.scale_out_file import (
    ScaleOut,
    is_scale_out,
    json_schema,
    load_scale_out,
    parse_scale_out,
    scale_out_of,
    scale_out_to_data,
)
from streamgauge.planning.scaling.graph import (
    Component,
    Edge,
    LinearLaw,
    ScalingGraph,
    TableLaw,
)
from streamgauge.topology.files.document import dump_json, dump_yaml, parse_document

PUBLISHED = """\
{
  "freeResources": 3,
  "components": [
    {"id": "1", "type": "spout", "parents": [], "children": ["2"], "unitCount": 1,
     "outputRate": 600.0, "childOutputRatio": {"2": 1.0}},
    {"id": "2", "type": "bolt", "parents": ["1"], "children": [], "unitCount": 2,
     "inputRate": 600.0, "processingRate": 400.0, "droppedRate": 200.0, "outputRate": 400.0,
     "maxProcessingRate": 400.0, "outInRatio": 1.0, "childOutputRatio": {}}
  ]
}
"""
YAML = """\
about: the same, with what follows left out
freeResources: 3
components:
  - {id: 1, type: spout, outputRate: 600, childOutputRatio: {2: 1}}
  - {id: 2, type: bolt, unitCount: 2, maxProcessingRate: 400, outInRatio: 1}
"""


def problems(text: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        parse_scale_out(text, "file.yaml")
    return [str(one) for one in caught.value.problems]


@st.composite
def graphs(draw: st.DrawFn) -> ScalingGraph:
    """Graphs whose edges go from earlier to later components."""
    names = [f"c{index}" for index in range(draw(st.integers(1, 6)))]
    rate = st.floats(0.1, 1e6)
    laws = st.one_of(
        st.builds(LinearLaw, per_unit=rate),
        st.lists(rate, min_size=1, max_size=4).map(lambda r: TableLaw(rates=tuple(sorted(r)))),
    )
    components = [
        Component(
            name=name,
            units=draw(st.integers(1, 5)),
            law=draw(st.builds(LinearLaw, per_unit=rate) if name == "c0" else laws),
            source=name == "c0",
            out_per_in=1.0 if name == "c0" else draw(st.floats(0, 4)),
        )
        for name in names
    ]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    edges = [Edge(source=a, target=b, share=draw(st.floats(0, 2))) for a, b in sorted(chosen)]
    return ScalingGraph(name="any", components=tuple(components), edges=tuple(edges))


def test_the_published_form_gives_the_graph():
    read = parse_scale_out(PUBLISHED)
    assert read.free_units == 3
    assert read.graph.components == (
        Component(name="1", units=1, law=LinearLaw(per_unit=600), source=True),
        Component(name="2", units=2, law=LinearLaw(per_unit=200)),
    )
    assert read.graph.edges == (Edge(source="1", target="2", share=1),)
    assert read.warnings == ()


def test_yaml_and_what_follows_left_out_give_the_same_graph():
    assert parse_scale_out(YAML).graph == parse_scale_out(PUBLISHED).graph


def test_a_graph_is_named_by_its_file_unless_it_names_itself(tmp_path: Path):
    path = tmp_path / "orders.yaml"
    path.write_text(YAML)
    assert load_scale_out(path).graph.name == "orders"
    path.write_text("name: trades\n" + YAML)
    assert load_scale_out(path).graph.name == "trades"


def test_a_table_says_what_more_units_do():
    text = YAML.replace("maxProcessingRate: 400", "maxProcessingRates: [250, 400, 500]")
    assert parse_scale_out(text).graph.by_name["2"].law == TableLaw(rates=(250, 400, 500))


def test_a_table_that_disagrees_with_the_maximum_is_named():
    text = YAML.replace("outInRatio: 1", "outInRatio: 1, maxProcessingRates: [250, 450]")
    (warning,) = parse_scale_out(text).warnings
    assert "component 2: 400; expected 450, the table's for 2 units" in str(warning)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{2: 1}", "{3: 1}", "unknown component '3'"),
        ("{2: 1}", "{2: -1}", "childOutputRatio.2: -1"),
        ("unitCount: 2", "unitCount: 0", "unitCount: 0"),
        ("maxProcessingRate: 400, ", "", "no 'maxProcessingRate' of bolt '2'"),
        ("maxProcessingRate: 400", "maxProcessingRate: 0", "maxProcessingRate: 0"),
        (
            "maxProcessingRate: 400",
            "maxProcessingRates: [2, 1]",
            "maxProcessingRates[1]: 1 after 2",
        ),
        ("maxProcessingRate: 400", "maxProcessingRates: []", "maxProcessingRates: no rate"),
        ("outputRate: 600, ", "", "no 'outputRate' of spout '1'"),
        ("outputRate: 600", "outputRate: 600, maxProcessingRates: [6]", "a table for a spout"),
        ("outInRatio: 1", "outInRatio: -1", "outInRatio: -1"),
        ("outInRatio: 1", "outInRatios: 1", "did you mean 'outInRatio'?"),
        ("id: 2", "id: 1", "component '1' twice"),
        ("type: spout", "type: sprout", "did you mean 'spout'?"),
        ("type: spout, outputRate: 600", "type: bolt, maxProcessingRate: 1", "no spout"),
        ("freeResources: 3", "freeResources: -1", "freeResources: -1"),
        ("outInRatio: 1", "outInRatio: 1, parents: []", "no such parent here"),
        ("outInRatio: 1", "outInRatio: 1, parents: [1, 2]", "no such child there"),
        ("outputRate: 600", "outputRate: 600, parents: [2]", "spout '1', which 2 feeds"),
        ("outInRatio: 1", "outInRatio: 1, childOutputRatio: {1: 1}", "spout '1', which 2 feeds"),
        ("outputRate: 600", "outputRate: 600, children: []", "which is no child of '1'"),
        ("outInRatio: 1", "outInRatio: 1, children: [1]", "no ratio for child '1' of '2'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line_and_key(old, new, said):
    assert old in YAML
    found = problems(YAML.replace(old, new, 1))
    assert any(said in one for one in found), found
    assert all(one.startswith("file.yaml:") for one in found)


def test_all_problems_are_told_at_once():
    text = YAML.replace("unitCount: 2", "unitCount: 0").replace("{2: 1}", "{3: -1}")
    assert [one.split(": ")[1] for one in problems(text)] == [
        "components[0].childOutputRatio.3",
        "components[1].unitCount",
        "components[0].childOutputRatio.3",
    ]


def test_a_round_is_refused_by_its_components():
    text = YAML + (
        "  - {id: 3, type: bolt, maxProcessingRate: 1, childOutputRatio: {4: 1}}\n"
        "  - {id: 4, type: bolt, maxProcessingRate: 1, childOutputRatio: {3: 1}}\n"
    )
    with pytest.raises(CyclicTopology, match=r"the cycle (3 → 4 → 3|4 → 3 → 4)"):
        parse_scale_out(text)


def test_no_file_is_told_as_such(tmp_path: Path):
    with pytest.raises(UnreadableFile, match="no such file"):
        load_scale_out(tmp_path / "none.json")


def test_a_ratio_that_no_number_holds_is_refused_at_its_row():
    text = YAML.replace("outInRatio: 1", "processingRate: 1e-300, outputRate: 1e300")
    assert [one.split(": ")[:2] for one in problems(text)] == [
        ["file.yaml:5", "components[1].out_per_in"]
    ]


@given(graphs())
def test_a_graph_that_is_written_reads_back_without_a_warning(graph: ScalingGraph):
    data = scale_out_to_data(ScaleOut(graph=graph, free_units=2, about="ours"))
    for dump in (dump_json, dump_yaml):
        read = parse_scale_out(dump(data), tolerance=1e-3)
        orphans = [one for one in read.warnings if one.place[-1] != "parents"]
        assert orphans == []
        assert (read.free_units, read.about, read.graph.name) == (2, "ours", "any")
        assert read.graph.edges == graph.edges
        for mine, theirs in zip(graph.components, read.graph.components, strict=True):
            assert theirs.law.rate(3) == pytest.approx(mine.law.rate(3))
            assert theirs.out_per_in == mine.out_per_in


def test_a_job_is_no_scale_out_file():
    assert is_scale_out(parse_document(YAML))
    assert not is_scale_out(parse_document("streamgauge: 1\ntopology: {}\n"))


def test_a_document_that_was_read_already_says_the_same():
    assert scale_out_of(parse_document(PUBLISHED)) == parse_scale_out(PUBLISHED)


def test_the_schema_takes_the_published_form_and_refuses_other_keys():
    validator = Draft202012Validator(json_schema())
    validator.validate(json.loads(PUBLISHED))
    validator.validate(parse_document(YAML).data)
    assert not validator.is_valid(json.loads(PUBLISHED.replace("unitCount", "units")))


def test_the_schema_is_the_one_in_the_documentation(project: Path):
    committed = (project / "docs/schema/scale-out-1.schema.json").read_text(encoding="utf-8")
    assert json.loads(committed) == json_schema()
