"""Reading YAML and JSON: what scalars mean, what is refused, and on which line."""

from pathlib import Path

import pytest

from streamgauge.errors import UnreadableFile
from streamgauge.topology.files.document import (
    MAX_BYTES,
    MAX_DEPTH,
    dump_yaml,
    parse_document,
    read_document,
)


def value_of(scalar: str) -> object:
    return parse_document(f"x: {scalar}\n").data["x"]


YAML_1_1 = "no yes on off y n No ON 1:30 1_000 2020-01-01 12:30:45 0b1 1e 1e+ . .e3 e3"


@pytest.mark.parametrize("scalar", YAML_1_1.split(" "))
def test_a_scalar_of_yaml_1_1_alone_is_a_text(scalar):
    assert value_of(f"[{scalar}]") == [scalar]


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        *(("0", 0), ("-1", -1), ("+12", 12), ("1e3", 1000.0), ("1E-3", 0.001), ("1.", 1.0)),
        *((".5", 0.5), ("-.5", -0.5), ("1.5e+2", 150.0), ("5e-324", 5e-324), ("1e300", 1e300)),
        *(("true", True), ("false", False), ("null", None), ("~", None), ("", None)),
    ],
)
def test_a_scalar_of_the_core_schema_has_its_value(scalar, value):
    assert repr(value_of(scalar)) == repr(value)


@pytest.mark.parametrize(
    ("scalar", "value"),
    [("True", True), ("TRUE", True), ("False", False), ("Null", None), ("NULL", None)],
)
def test_the_core_schema_takes_capitals_too(scalar, value):
    """YAML 1.2.2, section 10.3.2: true | True | TRUE, null | Null | NULL | ~."""
    assert value_of(scalar) is value


@pytest.mark.parametrize("scalar", ["'1'", '"1"', "!!str 1"])
def test_a_quoted_number_is_a_text(scalar):
    assert value_of(scalar) == "1"


@pytest.mark.parametrize("key", ["1", "no", "1e3", "null", "true"])
def test_a_key_is_a_text(key):
    assert parse_document(f"{key}: 1\n").data == {key: 1}


def test_an_alias_repeats_its_value():
    assert parse_document("a: &x [1, 2]\nb: *x\n").data == {"a": [1, 2], "b": [1, 2]}


def test_a_byte_order_mark_is_skipped():
    assert parse_document(b"\xef\xbb\xbfa: 1\n").data == {"a": 1}


def test_a_text_that_begins_with_a_brace_is_json():
    assert parse_document(' {"a": 1e3}').data == {"a": 1000.0}


@pytest.mark.parametrize("data", [{"a": 1}, {"a": [1]}, {"a": {"b": {}}}, {}])
def test_any_mapping_survives_yaml(data):
    assert parse_document(dump_yaml(data)).data == data


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\n b: 2\n", 2),
        ("a: 1\n\tb: 2\n", 2),
        ("a: 1\nb: 2\na: 3\n", 3),
        ("a: 1\n[1]: 2\n", 2),
        ("a: 1\n--- \nb: 1\n", 2),
        ("a: 1\nb: *nobody\n", 2),
        ("a: 1\nb: &x [*x]\n", 2),
        ("a: 1\nb: !!python/object/apply:os.system [ls]\n", 2),
        ('{"a": 1,\n "b": }', 2),
        ('{"a": 1,\n\n', 3),
    ],
)
def test_no_document_is_refused_with_its_line(text, line):
    with pytest.raises(UnreadableFile) as caught:
        parse_document(text, "job.yaml")
    assert str(caught.value).startswith(f"job.yaml:{line}: ")


@pytest.mark.parametrize("text", ["", "- a\n", "word", "12", "null", "# nothing\n"])
def test_a_document_is_a_mapping(text):
    with pytest.raises(UnreadableFile, match=r"a document that is .*; expected a mapping"):
        parse_document(text)


@pytest.mark.parametrize(
    "scalar",
    ['!!int ""', "!!int '-'", "!!bool x", "!!timestamp x", "!!map [a]", "!!binary x", "!!float x"],
)
def test_a_tag_that_its_value_does_not_fit_is_refused(scalar):
    with pytest.raises(UnreadableFile, match=f"the tag tag:yaml.org,2002:{scalar.split()[0][2:]}"):
        value_of(scalar)


def test_a_key_twice_is_refused_in_json():
    with pytest.raises(UnreadableFile, match="the key 'a' twice"):
        parse_document('{"a": 1, "a": 2}')


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_json_has_finite_numbers_only(constant):
    with pytest.raises(UnreadableFile, match=f"the number {constant}"):
        parse_document(f'{{"a": {constant}}}')


@pytest.mark.parametrize("text", ["a: {}\n", '{{"a": {}}}'])
def test_a_number_of_thousands_of_digits_is_refused(text):
    with pytest.raises(UnreadableFile, match="4300 digits"):
        parse_document(text.format("9" * 5000))


@pytest.mark.parametrize("text", ['{"a": "\ud800"}', '{"a": "\\ud800"}'])
def test_half_a_character_is_refused(text):
    # It could be read, and never be written again.
    with pytest.raises(UnreadableFile, match="an unpaired surrogate"):
        parse_document(text)


def test_aliases_may_not_grow_a_billionfold():
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for level in range(1, 9):
        laughs += f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n"
    with pytest.raises(UnreadableFile, match="expand to more than 1,000,000 values"):
        parse_document(laughs)


@pytest.mark.parametrize("form", ["x: {}\n", '{{"x": {}}}'])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1_000, 100_000])
def test_nesting_beyond_the_limit_is_refused(form, depth):
    with pytest.raises(UnreadableFile, match=f"nesting too deep; expected at most {MAX_DEPTH}"):
        parse_document(form.format("[" * depth + "]" * depth))


@pytest.mark.parametrize("form", ["x: {}\n", '{{"x": {}}}'])
def test_nesting_up_to_the_limit_is_read(form):
    depth = MAX_DEPTH - 1
    assert parse_document(form.format("[" * depth + "]" * depth)).data["x"]


def test_a_file_over_10_mb_is_refused_unread(tmp_path: Path):
    big = tmp_path / "big.yaml"
    big.write_bytes(b"a: [" + b"\n" * (MAX_BYTES - 3))
    with pytest.raises(UnreadableFile, match=r"big\.yaml: a file over 10 MB"):
        read_document(big)


def test_a_file_of_10_mb_is_read(tmp_path: Path):
    big = tmp_path / "big.yaml"
    big.write_bytes(b"a: 1\n" + b"\n" * (MAX_BYTES - 5))
    assert read_document(big).data == {"a": 1}


def test_a_missing_file_is_refused_by_name(tmp_path: Path):
    with pytest.raises(UnreadableFile, match=r"nowhere\.yaml: no such file; expected a file that"):
        read_document(tmp_path / "nowhere.yaml")


def test_a_folder_is_refused_by_name(tmp_path: Path):
    with pytest.raises(UnreadableFile, match=f"{tmp_path.name}: a folder; expected a YAML or JSON"):
        read_document(tmp_path)


def test_bytes_that_are_not_utf_8_are_refused_with_their_line(tmp_path: Path):
    file = tmp_path / "latin.yaml"
    file.write_bytes(b"a: 1\nb: gr\xf6\xdfe\n")
    with pytest.raises(UnreadableFile, match=r"latin\.yaml:2: bytes that are not UTF-8"):
        read_document(file)


def test_a_name_no_file_can_have_is_refused():
    with pytest.raises(UnreadableFile):
        read_document("a\0b.yaml")


@pytest.mark.parametrize(
    ("place", "line"),
    [((), None), (("a",), 1), (("a", "b"), 2), (("a", "c", 1), 5), (("a", "c", 1, "d"), 6)],
)
def test_a_place_has_the_line_of_its_key(place, line):
    text = "a:\n  b: 1\n  c:\n  - 1\n  - e: 1\n    d: 2\n"
    assert parse_document(text).locate(place) == line


def test_a_place_the_document_lacks_has_the_line_of_what_it_lies_in():
    assert parse_document("x: 1\na:\n  b: 1\n").locate(("a", "nowhere", 3)) == 2
