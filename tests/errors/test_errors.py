"""The error tree: stable codes, exit codes, and messages that say what to do."""

import pickle

import pytest

from streamgauge.errors import (
    ChangedMeanwhile,
    CyclicTopology,
    Findings,
    Infeasible,
    InternalError,
    InvalidInput,
    JobFailed,
    MissingExtra,
    NotEnoughData,
    Problem,
    SourceUnreachable,
    StreamgaugeError,
    UnreadableFile,
    did_you_mean,
)

TREE = [
    (InvalidInput, StreamgaugeError, "invalid-input", 2),
    (UnreadableFile, InvalidInput, "unreadable-file", 2),
    (CyclicTopology, InvalidInput, "cyclic-topology", 2),
    (MissingExtra, StreamgaugeError, "missing-extra", 2),
    (Infeasible, StreamgaugeError, "infeasible", 3),
    (SourceUnreachable, StreamgaugeError, "source-unreachable", 4),
    (NotEnoughData, StreamgaugeError, "not-enough-data", 5),
    (ChangedMeanwhile, StreamgaugeError, "changed-meanwhile", 1),
    (JobFailed, StreamgaugeError, "job-failed", 1),
    (InternalError, StreamgaugeError, "internal", 1),
]

PROBLEM = Problem(
    place=("streams", 3, "to"),
    seen="unknown operator 'spilt'",
    expected="the name of an operator",
    remedy="did you mean 'split'?",
    file="job.yaml",
    line=7,
)


@pytest.mark.parametrize(("error", "parent", "code", "exit_code"), TREE)
def test_an_error_has_its_place_code_and_exit_code(error, parent, code, exit_code):
    assert error.__bases__[0] is parent
    assert (error.code, error.exit_code) == (code, exit_code)


def test_codes_are_unique():
    codes = [StreamgaugeError.code, *(error.code for error, *_ in TREE)]
    assert len(set(codes)) == len(codes)


def test_the_tree_is_whole():
    known = {error for error, *_ in TREE} | {StreamgaugeError}
    found = {StreamgaugeError}
    for _ in range(3):
        found |= {child for error in found for child in error.__subclasses__()}
    assert {error for error in found if error.__module__ == "streamgauge.errors"} == known


def test_invalid_input_is_a_value_error():
    assert issubclass(InvalidInput, ValueError)


def test_a_problem_says_where_what_was_expected_and_what_to_do():
    assert str(PROBLEM) == (
        "job.yaml:7: streams[3].to: unknown operator 'spilt'; "
        "expected the name of an operator (did you mean 'split'?)"
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "0; expected 1"),
        ({"place": ("a",)}, "a: 0; expected 1"),
        ({"line": 3}, "line 3: 0; expected 1"),
        ({"file": "f", "line": 3, "place": (2, "b")}, "f:3: [2].b: 0; expected 1"),
        ({"file": "f"}, "f: 0; expected 1"),
    ],
)
def test_a_problem_leaves_out_what_is_not_known(given, text):
    assert str(Problem(**{"place": (), "seen": "0", "expected": "1", **given})) == text


def test_a_problem_is_a_flat_record():
    assert PROBLEM.to_dict() == {
        "file": "job.yaml",
        "line": 7,
        "path": "streams[3].to",
        "seen": "unknown operator 'spilt'",
        "expected": "the name of an operator",
        "remedy": "did you mean 'split'?",
    }


def test_unknown_parts_of_a_record_are_none():
    record = Problem(place=(), seen="0", expected="1").to_dict()
    assert [record[key] for key in ("file", "line", "remedy")] == [None, None, None]


def test_an_error_is_its_problems_line_by_line():
    error = InvalidInput([PROBLEM, PROBLEM])
    assert str(error) == f"{PROBLEM}\n{PROBLEM}"


@pytest.mark.parametrize("kind", [InvalidInput, UnreadableFile, CyclicTopology])
def test_an_error_survives_pickling_with_its_problems(kind):
    copy = pickle.loads(pickle.dumps(kind([PROBLEM])))
    assert (type(copy), copy.problems, str(copy)) == (kind, (PROBLEM,), str(PROBLEM))


@pytest.mark.parametrize("kind", [Infeasible, SourceUnreachable, NotEnoughData, InternalError])
def test_any_error_survives_pickling(kind):
    copy = pickle.loads(pickle.dumps(kind("why")))
    assert (type(copy), str(copy)) == (kind, "why")


def test_below_puts_a_place_in_front():
    error = CyclicTopology([PROBLEM]).below("topology")
    assert type(error) is CyclicTopology
    assert error.problems[0].path == "topology.streams[3].to"


def test_findings_are_raised_together():
    findings = Findings()
    findings.add("a", seen="0", expected="1")
    with findings.at("b", 2):
        raise InvalidInput.single(("c",), seen="3", expected="4")
    with pytest.raises(InvalidInput) as caught:
        findings.raise_if_any()
    assert [problem.path for problem in caught.value.problems] == ["a", "b[2].c"]


def test_no_findings_are_no_error():
    findings = Findings()
    findings.raise_if_any()
    assert not findings


def test_findings_take_over_invalid_input_only():
    with pytest.raises(ZeroDivisionError), Findings().at("a"):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("name", "known", "remedy"),
    [
        ("spilt", ["count", "split"], "did you mean 'split'?"),
        ("x", ["count", "split"], "known: count, split"),
        ("x", [], ""),
        ("x", list("abcdefghij"), "known: a, b, c, d, e, f, g, h, …"),
    ],
)
def test_a_remedy_names_the_nearest_name_or_all(name, known, remedy):
    assert did_you_mean(name, known) == remedy
