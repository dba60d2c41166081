"""Profiles: figures that belong to the topology they were measured of."""

import pickle

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.profile.profile import (
    Figure,
    InputFigures,
    OutputFigures,
    Profile,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.topology import (
    Configuration,
    Operator,
    OperatorKind,
    Shuffle,
    Stream,
    StreamKey,
    Topology,
)

TOPOLOGY = Topology(
    name="pair",
    operators=(Operator(name="s", kind=OperatorKind.SOURCE), Operator(name="a", tasks=2)),
    streams=(Stream(source="s", target="a", grouping=Shuffle()),),
)


def profile(task: TaskId, figures: TaskProfile) -> Profile:
    return Profile(topology=TOPOLOGY, configuration=Configuration(), tasks={task: figures})


def test_tasks_are_known_by_operator_and_place():
    seen = TaskProfile(inputs={StreamKey("s", "default"): InputFigures()})
    assert profile(TaskId("a", 1), seen).tasks_of("a") == {1: seen}


def test_a_profile_survives_pickling():
    made = profile(TaskId("a", 0), TaskProfile())
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize(
    ("task", "figures", "seen"),
    [
        (TaskId("b", 0), TaskProfile(), "unknown operator 'b'"),
        (TaskId("a", 2), TaskProfile(), "task 2; expected 0 to 1"),
        (TaskId("a", -1), TaskProfile(), "task -1"),
        (
            TaskId("a", 0),
            TaskProfile(inputs={StreamKey("s", "x"): InputFigures()}),
            "input stream s/x",
        ),
        (TaskId("a", 0), TaskProfile(outputs={"x": OutputFigures()}), "stream 'x'"),
        (
            TaskId("s", 0),
            TaskProfile(outputs={"default": OutputFigures(shares={"z": (1.0,)})}),
            "'z', which does not subscribe",
        ),
        (
            TaskId("s", 0),
            TaskProfile(outputs={"default": OutputFigures(shares={"a": (1.0,)})}),
            "1 shares; expected 2",
        ),
    ],
)
def test_figures_that_do_not_fit_are_refused(task, figures, seen):
    with pytest.raises(InvalidInput, match=seen):
        profile(task, figures)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Figure(value=-1),
        lambda: Figure(value=float("nan")),
        lambda: Figure(value=1, samples=-1),
        lambda: Figure(value=1, standard_error=-1),
        lambda: TimeFigures(mean_ms=Figure(value=1), quantiles_ms={1.5: 1}),
        lambda: TimeFigures(mean_ms=Figure(value=1), quantiles_ms={0.5: 2, 0.9: 1}),
        lambda: TimeFigures(mean_ms=Figure(value=1), quantiles_ms={0.5: -1}),
        lambda: OutputFigures(shares={"a": (0.5, 0.4)}),
        lambda: OutputFigures(shares={"a": (1.5, -0.5)}),
    ],
)
def test_a_figure_that_cannot_be_is_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_quantiles_are_kept_by_probability():
    made = TimeFigures(mean_ms=Figure(value=1), quantiles_ms={0.9: 2, 0.5: 1})
    assert list(made.quantiles_ms) == [0.5, 0.9]


def test_more_executors_than_tasks_are_refused():
    with pytest.raises(InvalidInput, match="3 executors for 2 tasks"):
        Profile(topology=TOPOLOGY, configuration=Configuration(executors={"a": 3}))
