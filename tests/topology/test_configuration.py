"""Configurations: no more executors than tasks, of operators that exist."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.topology import Configuration, Operator, OperatorKind, Resources, Topology

TOPOLOGY = Topology(
    name="one", operators=(Operator(name="lines", kind=OperatorKind.SOURCE, tasks=2),)
)


def test_more_executors_than_tasks_are_refused():
    with pytest.raises(InvalidInput, match=r"executors\.lines: 3 executors for 2 tasks"):
        Configuration(executors={"lines": 3}).check_against(TOPOLOGY)


def test_as_many_executors_as_tasks_are_fine():
    Configuration(executors={"lines": 2}).check_against(TOPOLOGY)


def test_executors_of_an_unknown_operator_come_with_a_suggestion():
    with pytest.raises(InvalidInput, match=r"unknown operator 'line'.*did you mean 'lines'"):
        Configuration(executors={"line": 1}).check_against(TOPOLOGY)


def test_resources_of_an_unknown_operator_come_with_a_suggestion():
    with pytest.raises(InvalidInput, match=r"resources\.line: unknown operator.*'lines'"):
        Configuration(resources={"line": Resources()}).check_against(TOPOLOGY)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"cpu_cores": -0.1}, r"cpu_cores: -0\.1; expected a finite number of at least 0"),
        ({"cpu_cores": float("inf")}, "cpu_cores: inf"),
        ({"memory_bytes": -1}, "memory_bytes: -1; expected a whole number of at least 0"),
        ({"memory_bytes": 1.5}, r"memory_bytes: 1\.5"),
    ],
)
def test_resources_that_cannot_be_are_refused(given, place):
    with pytest.raises(InvalidInput, match=place):
        Resources(**given)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"executors": {"lines": 0}}, "executors.lines: 0"),
        ({"executors": {"lines": -1}}, "executors.lines: -1"),
        ({"executors": {"lines": 1.5}}, "executors.lines: 1.5"),
        ({"workers": 0}, "workers: 0"),
        ({"workers": True}, "workers: True"),
        ({"ackers": -1}, "ackers: -1"),
        ({"engine": ""}, "engine: name ''"),
        ({"settings": {"x": None}}, "settings.x: None"),
        ({"settings": {"x": [1]}}, r"settings.x: \[1\]"),
        ({"settings": {"x": float("nan")}}, "settings.x: nan"),
        ({"settings": {"x": float("inf")}}, "settings.x: inf"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(given, place):
    with pytest.raises(InvalidInput, match=place):
        Configuration(**given)


def test_an_operator_not_named_has_one_executor():
    assert Configuration().executors_of("anything") == 1


def test_changed_parallelism_leaves_the_rest():
    base = Configuration(executors={"a": 1, "b": 2}, workers=3)
    assert base.with_executors({"b": 5}) == Configuration(executors={"a": 1, "b": 5}, workers=3)
