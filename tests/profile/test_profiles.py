"""Profiles: figures that belong to the topology they were measured of."""

import pickle
import re
from dataclasses import replace

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.profile.figures import (
    ExecutorFigures,
    Figure,
    InputFigures,
    Juice,
    OutputFigures,
    RateSeries,
    Replicas,
    Saturation,
    Shares,
    TaskId,
    TaskProfile,
    TimeFigures,
    WorkerFigures,
)
from streamgauge.profile.profile import Profile
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


TIMES = TimeFigures(mean_ms=Figure(value=1.0))
SERIES = RateSeries(start="2026-01-01T00:00:00Z", step_seconds=60.0, per_second=(1.0,))


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
            TaskProfile(outputs={"default": OutputFigures(shares={"z": Shares(parts=(1.0,))})}),
            "'z', which does not subscribe",
        ),
        (
            TaskId("s", 0),
            TaskProfile(outputs={"default": OutputFigures(shares={"a": Shares(parts=(1.0,))})}),
            "1 shares; expected 2",
        ),
    ],
)
def test_figures_that_do_not_fit_are_refused(task, figures, seen):
    with pytest.raises(InvalidInput, match=seen):
        profile(task, figures)


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (lambda: Figure(value=-1), "value: -1"),
        (lambda: Figure(value=float("nan")), "value: nan"),
        (lambda: Figure(value=1, samples=-1), "samples: -1"),
        (lambda: Figure(value=1, standard_error=-1), "standard_error: -1"),
        (
            lambda: TimeFigures(mean_ms=Figure(value=1), quantiles_ms={1.5: 1}),
            "quantiles_ms.1.5: 1.5",
        ),
        (
            lambda: TimeFigures(mean_ms=Figure(value=1), quantiles_ms={0.5: 2, 0.9: 1}),
            "quantiles_ms.0.9: 1 after 2",
        ),
        (
            lambda: TimeFigures(mean_ms=Figure(value=1), quantiles_ms={0.5: -1}),
            "quantiles_ms.0.5: -1",
        ),
        (lambda: Shares(parts=(0.5, 0.4)), "parts: shares that sum to 0.9"),
        (lambda: Shares(parts=(1.5, -0.5)), "parts[0]: 1.5"),
        (lambda: Shares(parts=(1.0,), samples=-1), "samples: -1"),
        (lambda: InputFigures(dispersions={0.0: Figure(value=1)}), "dispersions.0.0: 0.0"),
        (lambda: RateSeries(start="", step_seconds=0.0, per_second=()), "step_seconds: 0.0"),
        (lambda: RateSeries(start="", step_seconds=1.0, per_second=(-1.0,)), "per_second[0]: -1.0"),
        (lambda: Juice(topology=Figure(value=1), operators={"a": -0.1}), "operators.a: -0.1"),
        (lambda: Replicas(count=-1, blocks=0, block_seconds=1.0), "count: -1"),
        (lambda: Replicas(count=0, blocks=0, block_seconds=0.0), "block_seconds: 0.0"),
    ],
)
def test_a_figure_that_cannot_be_is_refused(make, seen):
    with pytest.raises(InvalidInput, match=re.escape(seen)):
        make()


def test_quantiles_are_kept_by_probability():
    made = TimeFigures(mean_ms=Figure(value=1), quantiles_ms={0.9: 2, 0.5: 1})
    assert list(made.quantiles_ms) == [0.5, 0.9]


def test_more_executors_than_tasks_are_refused():
    with pytest.raises(InvalidInput, match="3 executors for 2 tasks"):
        Profile(topology=TOPOLOGY, configuration=Configuration(executors={"a": 3}))


PLACED = {"s[1]": "n:6700", "a[2-3]": "n:6701"}


@pytest.mark.parametrize(
    ("parts", "seen"),
    [
        ({"executors": {"a[2-3]": ExecutorFigures()}, "placement": {"s[1]": "w"}}, "a\\[2-3\\]"),
        ({"executors": {"b[2]": ExecutorFigures()}}, "unknown operator 'b'"),
        ({"executors": {"a": ExecutorFigures()}}, "expected OPERATOR"),
        ({"workers": {"n:6702": WorkerFigures()}, "placement": PLACED}, "worker 'n:6702'"),
        ({"sources": {StreamKey("a", "default"): SERIES}}, "expected a stream of a source"),
        ({"sources": {StreamKey("s", "x"): SERIES}}, "stream s/x"),
        ({"saturation": {"b": ()}}, "unknown operator 'b'"),
        ({"saturation": {"a": [Saturation("p", 1, 1.0, -1.0, 0.0, 0.0)]}}, "input_per_second"),
        ({"saturation": {"a": [Saturation("p", -1, 1.0, 1.0, 0.0, 0.0)]}}, "executors"),
        ({"juice": Juice(topology=Figure(value=1), operators={"b": 1.0})}, "unknown operator 'b'"),
        ({"backpressure_minutes": -1.0}, "backpressure_minutes"),
        (
            {"tasks": {TaskId("a", 0): TaskProfile(end_to_end={"a": TIMES})}},
            "'a', which is not a source",
        ),
    ],
)
def test_what_belongs_to_nothing_the_job_has_is_refused(parts, seen):
    with pytest.raises(InvalidInput, match=seen):
        Profile(topology=TOPOLOGY, configuration=Configuration(), **parts)


def test_workers_are_not_held_against_a_plan_that_is_not_known():
    made = Profile(
        topology=TOPOLOGY, configuration=Configuration(), workers={"n:1": WorkerFigures()}
    )
    assert list(made.workers) == ["n:1"]


def test_ackers_are_operators_too():
    acked = replace(TOPOLOGY, acked=True)
    rows = (Saturation("p", 1, 1.0, 1.0, 0.0, 0.0),)
    made = Profile(topology=acked, configuration=Configuration(), saturation={"__acker": rows})
    assert made.saturation == {"__acker": rows}
