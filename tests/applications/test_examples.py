"""The example files are those of the thesis, and expand to what it says (Pagliari 2021)."""

from pathlib import Path

import pytest

from streamgauge.applications import FlowKind, Routing, list_remarks, make_job
from streamgauge.applications.files.applications import load_application
from streamgauge.applications.files.platforms import load_platform
from streamgauge.profile.files.jobs import job_to_data, parse_job
from streamgauge.topology.files.document import dump_yaml
from streamgauge.topology.grouping import Fields
from streamgauge.topology.workload import Regular, Unlimited

EXAMPLES = Path(__file__).parents[2] / "examples" / "applications"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
PLATFORM = load_platform(EXAMPLES / "platforms" / "two-nodes.yaml")

every_example = pytest.mark.parametrize("name", NAMES)


def load(name: str):
    return load_application(EXAMPLES / f"{name}.yaml")


@every_example
def test_every_example_becomes_a_job_that_can_be_written_and_read(name):
    job = make_job(load(name), PLATFORM)
    assert parse_job(dump_yaml(job_to_data(job))) == job


@every_example
def test_every_example_says_where_it_comes_from_and_is_listed(name):
    assert (EXAMPLES / f"{name}.yaml").read_text().startswith("# A. Pagliari")
    assert f"| `{name}.yaml` |" in (EXAMPLES / "README.md").read_text()


@every_example
def test_nothing_is_to_be_remarked_on_an_example(name):
    assert list_remarks(load(name)) == ()


@every_example
def test_every_example_runs_in_the_simulator(name):
    from streamgauge.planning.scheduling.job_placement import place_job
    from streamgauge.simulation.topology_run import simulate

    job = make_job(load(name), PLATFORM)
    plan = place_job(job).plan
    seconds = 0.05
    result = simulate(plan, job.behaviours, job.workload, seconds=seconds, warmup=0.0, seed=1)
    assert result.latency.count > 0
    for emission in job.workload.emissions:
        emitted = seconds * result.operators[emission.source].emitted_per_second
        if isinstance(emission.shape, Regular):
            # Tuples come at equal distances; the first of each instance may be late.
            instances = job.topology.operator(emission.source).tasks
            assert emitted == pytest.approx(seconds * emission.per_second, abs=instances)
        else:
            assert emitted > 0


@every_example
def test_every_example_becomes_a_program_for_storm(name):
    from streamgauge.engines.storm.program import topology_program

    application = load(name)
    program = topology_program(make_job(application, PLATFORM), seed=1)
    names = [one["name"] for one in (*program["sources"], *program["bolts"])]
    assert sorted(names) == sorted(task.name for task in application.tasks)


def test_figure_4_3_is_a_stream_of_8_bytes_and_100_values_without_a_limit():
    (source,) = load("as-fast-as-possible").sources
    assert (source.data.size, source.data.values) == (8, 100)
    assert source.flow.is_unlimited


def test_figure_4_4_swings_up_to_1000_in_300_seconds():
    flow = load("day-and-night").sources[0].flow
    assert (flow.kind, flow.rate, flow.phase_seconds) == (FlowKind.SINUSOIDAL, 1000.0, 300.0)


def test_figure_4_5_is_a_source_and_five_tasks_of_four_instances():
    application = load("diamond")
    assert [task.parallelism for task in application.tasks] == [4] * 6
    loads = [task.processing for task in application.tasks[1:]]
    assert loads == pytest.approx([3.0, 2.4, 1.92, 1.536, 1.2288])
    assert application.reliable


def test_figure_4_6_counts_words_by_key():
    generator, counter, sink = load("word-counter").tasks
    assert (generator.parallelism, counter.parallelism, sink.parallelism) == (1, 2, 1)
    assert (counter.routing, sink.routing) == (Routing.HASH, Routing.BALANCED)
    assert (counter.cycles, sink.cycles) == (4500, 500)


def test_figure_5_1_has_four_components_of_24_instances():
    application = load("linear-96")
    assert [task.parallelism for task in application.tasks] == [24] * 4
    assert {task.processing for task in application.tasks[1:]} == {10.0}
    assert {task.routing for task in application.tasks} == {Routing.NONE}


def test_figure_5_7_is_the_yahoo_streaming_benchmark():
    application = load("yahoo-streaming-benchmark")
    assert [task.processing for task in application.tasks] == [0, 6.9, 0.7, 2.2, 3.0, 2.1]
    assert [task.parallelism for task in application.tasks] == [1, 1, 1, 1, 1, 2]
    job = make_job(application)
    assert [one.shape for one in job.workload.emissions] == [Unlimited()]
    assert job.behaviours["event_filter"].outputs["default"].mean == 0.333
    sizes = [one.bytes["default"].mean for one in job.behaviours.values() if one.bytes]
    assert sizes == [180, 180, 180, 52, 52]
    keyed = [one.target for one in job.topology.streams if isinstance(one.grouping, Fields)]
    assert keyed == ["campaign_processor"]


def test_the_job_of_the_yahoo_benchmark_has_the_figures_of_this_application():
    """Both are Figure 5.7, one by hand."""
    from streamgauge.profile.files.jobs import load_job

    by_hand = load_job(EXAMPLES.parent / "yahoo-streaming-benchmark.yaml")
    job = make_job(load("yahoo-streaming-benchmark"))
    for ours, theirs in zip(job.behaviours.values(), by_hand.behaviours.values(), strict=True):
        assert ours.service.mean_ms == pytest.approx(theirs.service.mean_ms, rel=1e-3)


def test_figure_5_12_has_three_instances_without_load_and_is_reliable():
    application = load("reliability")
    assert [task.parallelism for task in application.tasks] == [1, 1, 1]
    assert {task.cycles for task in application.tasks} == {0}
    assert application.reliable


def test_figure_5_14_decays_from_1000_in_300_seconds():
    flow = load("slow-decay").sources[0].flow
    assert (flow.kind, flow.rate, flow.phase_seconds) == (FlowKind.REVERSE_SAWTOOTH, 1000.0, 300.0)


@pytest.mark.parametrize(("processing", "keeps_up"), [(1300.0, True), (1400.0, False)])
def test_one_instance_takes_1000_tuples_a_second_up_to_a_load_between_1300_and_1400(
    processing, keeps_up
):
    """Section 5.3.2: throughput is constant up to 1300 and falls from 1400 on."""
    from dataclasses import replace

    source, task = load("one-task").tasks
    loaded = replace(load("one-task"), tasks=(source, replace(task, processing=processing)))
    service = make_job(loaded).behaviours["task-1"].service
    assert (1000.0 * service.mean_ms / 1000.0 < 1.0) is keeps_up
