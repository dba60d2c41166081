"""Applications, and the jobs they expand to."""

from dataclasses import replace

import numpy as np
import pytest

from streamgauge.applications import (
    Application,
    Data,
    DataDistribution,
    Flow,
    FlowKind,
    Platform,
    Routing,
    Task,
    list_remarks,
    make_job,
)
from streamgauge.applications.expansion import trace_contents
from streamgauge.errors import InvalidInput
from streamgauge.profile.files.jobs import job_to_data, parse_job
from streamgauge.topology.files.document import dump_yaml
from streamgauge.topology.grouping import All, Fields, Shuffle
from streamgauge.topology.topology import Window
from streamgauge.topology.workload import Regular, Unlimited

SOURCE = Task(name="in", data=Data(size=8, values=100), flow=Flow(rate=1000.0))


def task(name: str, *parents: str, **more) -> Task:
    return Task(name=name, parents=parents or ("in",), **more)


def line(*tasks: Task, source: Task = SOURCE, **more) -> Application:
    return Application(name="it", tasks=(source, *tasks), **more)


@pytest.mark.parametrize(
    ("processing", "cycles"), [(1.5, 1500), (0.2, 200), (4.5, 4500), (0.0, 0), (2000.0, 2_000_000)]
)
def test_a_load_of_one_is_a_thousand_cycles(processing, cycles):
    assert task("out", processing=processing).cycles == cycles


def test_1350_thousand_cycles_take_a_millisecond_unless_the_platform_knows_better():
    application = line(task("out", processing=1350.0))
    assert make_job(application).behaviours["out"].service.mean_ms == pytest.approx(1.0)
    measured = make_job(application, Platform(cycle_ns=0.4))
    assert measured.behaviours["out"].service.mean_ms == pytest.approx(0.54)


@pytest.mark.parametrize(
    ("routing", "grouping"),
    [
        (Routing.NONE, Shuffle()),
        (Routing.BALANCED, Shuffle()),
        (Routing.HASH, Fields(keys=("value",))),
        (Routing.BROADCAST, All()),
    ],
)
def test_routings_are_groupings_on_storm(routing, grouping):
    (stream,) = make_job(line(task("out", routing=routing))).topology.streams
    assert stream.grouping == grouping


def test_an_instance_is_a_task_with_an_executor_of_its_own():
    job = make_job(line(task("out", parallelism=3)))
    assert job.topology.operator("out").tasks == 3
    assert job.configuration.executors_of("out") == 3


def test_every_instance_of_a_source_emits_at_the_rate():
    source = replace(SOURCE, parallelism=4)
    (emission,) = make_job(line(task("out"), source=source)).workload.emissions
    assert (emission.per_second, emission.shape) == (4000.0, Regular())


def test_a_source_without_a_limit_has_no_rate():
    source = replace(SOURCE, flow=Flow(rate=0.0))
    (emission,) = make_job(line(task("out"), source=source)).workload.emissions
    assert (emission.per_second, emission.shape) == (None, Unlimited())


def test_a_filter_of_a_third_lets_9990_of_30000_pass():
    job = make_job(line(task("mid", filtering=0.333), task("out", "mid")))
    counts = job.behaviours["mid"].outputs["default"]
    assert counts.mean == 0.333
    passed = counts.sample(np.random.default_rng(1), 30_000)
    assert abs(int(passed.sum()) - 9990) < 4 * 82  # standard deviation 81.6
    assert set(passed.tolist()) == {0, 1}


def test_a_window_works_through_its_tuples_at_the_trigger_and_emits_one():
    gathers = task("mid", processing=135.0, window=Window(length_seconds=30.0))
    behaviour = make_job(line(gathers, task("out", "mid"))).behaviours["mid"]
    assert behaviour.service.mean_ms == 0.0
    assert behaviour.window.per_tuple_ms == pytest.approx(0.1)
    assert behaviour.window.outputs["default"].mean == 1.0
    assert not behaviour.outputs


def test_trees_may_take_longer_than_a_window_keeps_their_tuples():
    """Storm does not start a window whose length and slide are longer than the timeout."""
    from streamgauge.engines.storm.program import topology_program

    window = Window(length_seconds=30.0)
    settings = make_job(line(task("out", window=window))).configuration.settings
    assert settings["topology.message.timeout.secs"] == 90
    assert topology_program(make_job(line(task("out", window=window))), seed=1)
    short = make_job(line(task("out", window=Window(length_seconds=5.0))))
    assert "topology.message.timeout.secs" not in short.configuration.settings


def test_windows_that_keep_more_tuples_than_may_be_open_are_remarked():
    """1000 tuples/s for up to 60 s, of which 5000 may be open."""
    gathers = task("out", window=Window(length_seconds=30.0))
    assert "may not reach its 1000 tuples/s" in list_remarks(line(gathers))[0]
    assert list_remarks(line(gathers), Platform(max_spout_pending=60_000)) == ()
    assert list_remarks(line(gathers, reliable=False)) == ()


def test_resizing_shrinks_what_is_emitted_and_keeps_values_apart():
    source = replace(SOURCE, data=Data(size=180, values=1000))
    middle = task("mid", resized_bytes=52)
    job = make_job(line(middle, task("out", "mid", routing=Routing.HASH), source=source))
    assert job.behaviours["in"].bytes["default"].mean == 180
    assert job.behaviours["mid"].bytes["default"].mean == 52
    names = job.behaviours["mid"].keys["default"].names()
    assert len(set(names)) == 1000
    assert {len(name) for name in names} == {52}


def test_values_that_resizing_makes_equal_count_together():
    source = replace(SOURCE, data=Data(size=2, values=27))
    middle = task("mid", resized_bytes=1)
    job = make_job(line(middle, task("out", "mid", routing=Routing.HASH), source=source))
    keys = job.behaviours["mid"].keys["default"]
    shares = dict(zip(keys.names(), keys.shares(), strict=True))
    # aa and ba both end in a.
    assert shares["a"] == pytest.approx(2 / 27)
    assert shares["b"] == pytest.approx(1 / 27)


def test_only_streams_that_are_divided_by_key_have_keys():
    job = make_job(line(task("mid", routing=Routing.HASH), task("out", "mid")))
    assert job.behaviours["in"].keys["default"].names()[:2] == ("aaaaaaaa", "aaaaaaab")
    assert not job.behaviours["mid"].keys


def test_values_of_nonuniform_data_gather_about_the_middle():
    data = Data(values=100, distribution=DataDistribution.NONUNIFORM)
    shares = data.keys.shares()
    assert shares[50] > 5 * shares[10]
    assert Data(values=100).keys.shares()[50] == pytest.approx(0.01)


def test_streams_of_two_sources_mix_by_their_rates():
    other = Task(name="also", data=Data(size=20), flow=Flow(rate=3000.0))
    merged = task("mid", "in", "also")
    application = Application(name="it", tasks=(SOURCE, other, merged, task("out", "mid")))
    sizes = make_job(application).behaviours["mid"].bytes["default"]
    assert sizes.mean == pytest.approx(0.25 * 8 + 0.75 * 20)


def test_without_reliability_nothing_is_tracked_and_nothing_limits_pending_tuples():
    reliable, other = make_job(line(task("out"))), make_job(line(task("out"), reliable=False))
    assert reliable.topology.acked
    assert reliable.configuration.settings == {"topology.max.spout.pending": 5000}
    assert not other.topology.acked
    assert other.configuration.settings == {}


def test_the_platform_configures_the_job():
    platform = Platform(workers=3, ackers=2, max_spout_pending=7, debug_frequency=0.0005)
    configuration = make_job(line(task("out")), platform).configuration
    assert (configuration.workers, configuration.ackers) == (3, 2)
    assert configuration.settings == {
        "topology.max.spout.pending": 7,
        "streamgauge.trace.every": 2000,
    }


@pytest.mark.parametrize(
    ("frequency", "every"), [(0.0005, 2000), (0.002, 500), (1.0, 1), (0, None)]
)
def test_a_frequency_of_tracing_is_one_tuple_in_so_many(frequency, every):
    assert Platform(debug_frequency=frequency).trace_every == every


def test_engines_follow_as_many_tuples_as_the_platform_says():
    from streamgauge.engines.emulator.session import trace_every

    job = make_job(line(task("out")), Platform(debug_frequency=0.01))
    assert trace_every(job, 60.0) == 100


def test_rates_go_through_copies_filters_and_windows():
    application = line(
        task("copied", parallelism=3, routing=Routing.BROADCAST),
        task("filtered", "copied", filtering=0.5),
        task("gathered", "filtered", window=Window(length_seconds=10.0), parallelism=2),
        task("out", "gathered"),
    )
    received = {
        name: sum(part.per_second for part in content.received)
        for name, content in trace_contents(application).items()
    }
    expected = {"in": 0.0, "copied": 3000.0, "filtered": 3000.0, "gathered": 1500.0, "out": 0.2}
    assert received == pytest.approx(expected)


def test_a_job_of_an_application_can_be_written_and_read():
    source = replace(SOURCE, flow=Flow(kind=FlowKind.BURST))
    window = Window(length_seconds=30.0, slide_seconds=10.0)
    job = make_job(line(task("mid", routing=Routing.HASH, window=window), source=source))
    assert parse_job(dump_yaml(job_to_data(job))) == job


def test_what_has_no_effect_or_another_one_is_remarked():
    source = replace(SOURCE, flow=Flow(kind=FlowKind.BURST, rate=50.0))
    remarks = list_remarks(line(task("out", filtering=0.5, resized_bytes=9), source=source))
    words = ("500 tuples/s", "filtering has no effect", "resizeddata has no effect")
    assert all(word in remark for word, remark in zip(words, remarks, strict=True))


@pytest.mark.parametrize(
    ("tasks", "path", "text"),
    [
        ([SOURCE, task("a", "inn")], "tasks[1].parents[0]", "did you mean 'in'?"),
        ([SOURCE, task("a", "in", "in")], "tasks[1].parents[1]", "parent 'in' twice"),
        ([SOURCE, task("in")], "tasks[1].name", "'in' twice"),
        ([SOURCE], "tasks[0]", "the parent of no task"),
        ([SOURCE, task("a", "in", "b"), task("b", "a")], "tasks[1].parents", "a → b → a"),
        ([task("a")], "tasks", "no source"),
    ],
)
def test_graphs_that_cannot_be_are_refused(tasks, path, text):
    with pytest.raises(InvalidInput) as caught:
        Application(name="it", tasks=tuple(tasks))
    assert path in [problem.path for problem in caught.value.problems]
    assert text in str(caught.value)


def test_a_task_is_a_source_or_has_parents():
    with pytest.raises(InvalidInput, match="neither parents nor data and flow"):
        Task(name="out")
    with pytest.raises(InvalidInput, match="which is a source"):
        replace(SOURCE, parents=("out",))
    with pytest.raises(InvalidInput, match="processing on a source"):
        replace(SOURCE, processing=1.0)


def test_values_are_no_more_than_their_letters_can_tell_apart():
    assert Data(size=2, values=100).keys.count == 100
    with pytest.raises(InvalidInput, match=r"at most 26\^1 = 26") as caught:
        Data(size=1, values=100)
    assert caught.value.problems[0].path == "values"
