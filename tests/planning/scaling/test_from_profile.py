"""Graphs of jobs: units are executors, ratios and shares follow from what flows."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import CyclicTopology, InvalidInput, NotEnoughData
from streamgauge.planning.scaling.files.scale_out_file import load_scale_out
from streamgauge.planning.scaling.from_profile import (
    estimated_unit_maximum,
    graph_of_job,
    graph_of_profile,
    unit_capacity,
)
from streamgauge.planning.scaling.graph import ScalingGraph
from streamgauge.planning.scaling.rates import propagate
from streamgauge.profile.figures import ExecutorFigures, Figure, TaskProfile
from streamgauge.profile.files.jobs import load_job, load_profile, parse_job
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.workload import Emission, Workload
from tests.described_profiles import described_profile

EXAMPLES = Path(__file__).parents[3] / "examples"
# One of 100 becomes three words; each word goes to a counter, and with all of them to a log.
JOB = """\
streamgauge: 1
topology:
  name: words
  operators:
    lines: {kind: source, tasks: 4}
    split: {tasks: 4}
    count: {tasks: 4}
    log: {tasks: 2}
  streams:
    - {from: lines, to: split, grouping: shuffle}
    - {from: split, to: count, grouping: shuffle}
    - {from: split, to: log, grouping: all}
behaviours:
  lines: {}
  split: {service: {cpu_ms: 5, wait_ms: 15}, outputs: {default: 3}}
  count: {service: {cpu_ms: 2}}
  log: {service: {cpu_ms: 1}}
configuration: {executors: {lines: 2, split: 2}}
workload:
  - {source: lines, per_second: 60}
"""


def job(*changes: tuple[str, str]) -> Job:
    text = JOB
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_job(text)


def share(graph: ScalingGraph, source: str, target: str) -> float:
    (edge,) = [one for one in graph.edges if (one.source, one.target) == (source, target)]
    return edge.share


def without_times(profile: Profile, operator: str) -> Profile:
    """The profile of somebody who did not look at one operator's service times."""

    def bare(task: TaskProfile) -> TaskProfile:
        inputs = {key: replace(one, wall=None, cpu=None) for key, one in task.inputs.items()}
        return replace(task, inputs=inputs)

    tasks = {
        one: bare(task) if one.operator == operator else task for one, task in profile.tasks.items()
    }
    return replace(profile, tasks=tasks)


def with_cores(profile: Profile, cores: dict[str, float]) -> Profile:
    executors = {label: ExecutorFigures(cores=Figure(value=one)) for label, one in cores.items()}
    return replace(profile, executors=executors)


@pytest.mark.parametrize(
    ("name", "published"), [("scale-out-diamond", "diamond"), ("scale-out-tree", "simple-tree")]
)
def test_a_described_job_gives_the_graph_of_the_published_table(name, published):
    mine = graph_of_job(load_job(EXAMPLES / f"{name}.yaml")).graph
    theirs = load_scale_out(EXAMPLES / "scale-out" / f"{published}.json").graph
    assert [one.name for one in mine.components] == [one.name for one in theirs.components]
    for one in mine.components:
        other = theirs.by_name[one.name]
        assert (one.units, one.source) == (other.units, other.source)
        assert one.law.rate(1) == pytest.approx(other.law.rate(1), rel=1e-6)
        assert one.out_per_in == pytest.approx(other.out_per_in)
    for edge in theirs.edges:
        assert share(mine, edge.source, edge.target) == pytest.approx(edge.share)


def test_a_unit_is_an_executor_that_is_busy_for_the_whole_of_a_tuple_s_time():
    graph = graph_of_job(job()).graph
    assert {one.name: one.units for one in graph.components} == {
        "lines": 2,
        "split": 2,
        "count": 1,
        "log": 1,
    }
    assert graph.by_name["split"].law.rate(1) == pytest.approx(1 / 0.020)
    assert graph.by_name["lines"].law.rate(1) == pytest.approx(60 / 2)


def test_where_a_unit_has_less_than_a_core_its_cpu_may_bind():
    graph = graph_of_job(job(), unit_cores=0.1).graph
    assert graph.by_name["split"].law.rate(1) == pytest.approx(0.1 / 0.005)
    assert graph.by_name["count"].law.rate(1) == pytest.approx(0.1 / 0.002)


def test_broadcast_copies_every_tuple_to_every_task():
    graph = graph_of_job(job()).graph
    assert graph.by_name["split"].out_per_in == pytest.approx(3)
    assert share(graph, "split", "count") == pytest.approx(1)
    assert share(graph, "split", "log") == pytest.approx(2)


def test_what_a_leaf_processes_is_what_the_job_delivers():
    rates = propagate(graph_of_job(job()).graph)
    assert rates["count"].output == pytest.approx(60 * 3)
    assert rates.throughput == pytest.approx(60 * 3 + 60 * 3 * 2)


def test_several_streams_to_one_operator_are_one_edge():
    text = JOB.replace(
        "    - {from: split, to: log, grouping: all}\n",
        "    - {from: split, stream: odd, to: log, grouping: shuffle}\n"
        "    - {from: split, to: log, grouping: shuffle}\n",
    ).replace("{default: 3}", "{default: 3, odd: 1}")
    graph = graph_of_job(parse_job(text)).graph
    assert graph.by_name["split"].out_per_in == pytest.approx(4)
    assert share(graph, "split", "count") == pytest.approx(3 / 4)
    assert share(graph, "split", "log") == pytest.approx(1)


def test_a_window_by_count_emits_and_costs_by_its_slide():
    text = (
        "service: {cpu_ms: 2}, window: {service: {cpu_ms: 30}, outputs: {default: 1}}",
        "    count: {tasks: 4, window: {length_tuples: 10}}",
    )
    changed = job(
        ("service: {cpu_ms: 2}", text[0]),
        ("    count: {tasks: 4}", text[1]),
        ("{from: split, to: log, grouping: all}", "{from: count, to: log, grouping: shuffle}"),
    )
    count = graph_of_job(changed).graph.by_name["count"]
    assert count.out_per_in == pytest.approx(1 / 10)
    assert count.law.rate(1) == pytest.approx(1 / (0.002 + 0.030 / 10))


def test_a_window_by_time_is_said_to_hold_at_this_load_only():
    changed = job(
        ("service: {cpu_ms: 2}", "service: {cpu_ms: 2}, window: {outputs: {default: 1}}"),
        ("    count: {tasks: 4}", "    count: {tasks: 4, window: {length_seconds: 2}}"),
        ("{from: split, to: log, grouping: all}", "{from: count, to: log, grouping: shuffle}"),
    )
    derived = graph_of_job(changed)
    # Storm 2.x leaves all to the executor's first task: one tuple every two seconds, for 360.
    assert derived.graph.by_name["count"].out_per_in == pytest.approx(1 / 360)
    assert "emits by wall-clock time, so its ratio holds only at this load: count" in derived.notes


def test_a_profile_of_a_described_job_gives_the_job_s_graph():
    assert graph_of_profile(described_profile(job())).graph == graph_of_job(job()).graph


def test_another_load_changes_what_sources_emit_and_nothing_else():
    profile = described_profile(job())
    more = Workload(emissions=(Emission(source="lines", per_second=120),))
    before, after = graph_of_profile(profile).graph, graph_of_profile(profile, more).graph
    assert after.by_name["lines"].law.rate(2) == pytest.approx(120)
    assert [one.law.rate(1) for one in after.components[1:]] == pytest.approx(
        [one.law.rate(1) for one in before.components[1:]]
    )


def test_a_source_without_a_limit_emits_what_its_time_allows():
    changed = job(
        ("per_second: 60", "shape: unlimited"), ("lines: {}", "lines: {service: {cpu_ms: 4}}")
    )
    assert graph_of_job(changed).graph.by_name["lines"].law.rate(1) == pytest.approx(250)


def test_a_measured_profile_gives_what_its_metrics_came_from():
    job = load_job(EXAMPLES / "word-count.yaml")
    derived = graph_of_profile(load_profile(EXAMPLES / "word-count.profile.json"))
    splitter = derived.graph.by_name["splitter"]
    assert splitter.units == job.configuration.executors_of("splitter")
    assert splitter.out_per_in == pytest.approx(
        job.behaviours["splitter"].outputs["words"].mean, rel=0.01
    )
    assert splitter.law.rate(1) == pytest.approx(
        1000 / job.behaviours["splitter"].service.mean_ms, rel=0.01
    )


def test_without_times_the_cpu_of_executors_tells_what_a_unit_can_do():
    # 60 tuples a second on two executors that use 0.15 cores each: 200 with a core in use.
    bare = without_times(described_profile(job()), "split")
    derived = graph_of_profile(with_cores(bare, {"split[5-6]": 0.15, "split[7-8]": 0.15}))
    assert derived.graph.by_name["split"].law.rate(1) == pytest.approx(30 / 0.15)
    assert any("split can process is estimated from the CPU" in one for one in derived.notes)


def test_without_times_and_cpu_the_operators_are_named():
    bare = without_times(without_times(described_profile(job()), "split"), "log")
    with pytest.raises(NotEnoughData, match=r"a unit of split, log can process is not known"):
        graph_of_profile(bare)


def test_tuples_that_take_no_time_say_nothing_of_a_unit():
    with pytest.raises(NotEnoughData, match="a unit of count can process is not known"):
        graph_of_job(job(("count: {service: {cpu_ms: 2}}", "count: {}")))


def test_a_silent_source_is_named():
    with pytest.raises(NotEnoughData, match="lines emits nothing"):
        graph_of_job(job(("per_second: 60", "per_second: 0")))


def test_a_job_without_workload_or_behaviour_is_refused():
    with pytest.raises(NotEnoughData, match="what lines emits is not known"):
        graph_of_job(replace(job(), workload=None))
    with pytest.raises(InvalidInput, match="no behaviour of 'count'"):
        graph_of_job(job(("  count: {service: {cpu_ms: 2}}\n", "")))


def test_a_cycle_is_refused_by_name():
    with pytest.raises(CyclicTopology, match="fetch → parse → fetch"):
        graph_of_job(load_job(EXAMPLES / "feedback.yaml"))


def test_where_the_engine_holds_senders_back_a_congested_graph_says_so():
    tree = load_job(EXAMPLES / "scale-out-tree.yaml")
    assert any("2, 3, 4 would hold senders back" in one for one in graph_of_job(tree).notes)
    free = replace(
        tree.configuration, engine="storm-1", settings={"topology.backpressure.enable": False}
    )
    notes = graph_of_job(replace(tree, configuration=free)).notes
    assert not any("hold senders back" in one for one in (*notes, *graph_of_job(job()).notes))


def test_what_gets_nothing_is_said_and_stays_as_it_is():
    changed = job(
        (
            "{from: split, to: log, grouping: all}",
            "{from: split, stream: odd, to: log, grouping: shuffle}",
        )
    )
    derived = graph_of_job(changed)
    assert "no tuples reach log; more units do not change that" in derived.notes
    assert derived.graph.by_name["log"].law.rate(1) == pytest.approx(1000)
    assert share(derived.graph, "split", "log") == 0


def test_uneven_keys_are_said():
    keyed = job(
        (
            "{from: split, to: count, grouping: shuffle}",
            "{from: split, to: count, grouping: {fields: [w]}}",
        ),
        (
            "outputs: {default: 3}",
            "outputs: {default: 3}, keys: {default: {given: {weights: {a: 9, b: 1}}}}",
        ),
        ("{lines: 2, split: 2}", "{lines: 2, split: 2, count: 2}"),
    )
    notes = graph_of_job(keyed).notes
    assert any(one.startswith("count: the busiest executor has ") for one in notes)


seconds = st.floats(1e-6, 10.0)


def test_the_lesser_of_clock_and_cpu_counts():
    assert unit_capacity(cpu_seconds=0.02, wait_seconds=0.08) == pytest.approx(10)
    assert unit_capacity(cpu_seconds=0.02, unit_cores=0.1) == pytest.approx(5)
    assert unit_capacity(cpu_seconds=0.02, beside_seconds=0.03) == pytest.approx(20)


def test_what_takes_no_time_has_no_limit():
    assert unit_capacity(cpu_seconds=0.0) == math.inf


def test_cpu_used_scales_up_to_the_limit():
    # Half of a tenth of a core for 80 tuples a second.
    assert estimated_unit_maximum(80, used_cores=0.05, limit_cores=0.1) == pytest.approx(160)


@given(seconds, st.floats(0.01, 0.99), st.floats(0.05, 4.0))
def test_the_estimate_is_the_capacity_of_work_that_only_computes(cpu, load, cores):
    processed = load * cores / cpu
    estimate = estimated_unit_maximum(processed, used_cores=processed * cpu, limit_cores=cores)
    assert estimate == pytest.approx(cores / cpu)


def test_no_cpu_in_use_says_nothing():
    with pytest.raises(InvalidInput, match="used_cores: 0"):
        estimated_unit_maximum(80, used_cores=0)
