"""What tuples and windows cost the executors of a plan that has never run."""

import numpy as np
import pytest

from streamgauge.models.acks import roots_per_tuple, with_acks
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.network import find_network
from streamgauge.models.service import Work, find_work
from streamgauge.models.traffic_equations import find_conversion, propagate, source_rates
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    LinkFigures,
    OutputFigures,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.files.jobs import parse_job
from streamgauge.profile.profile import Profile
from streamgauge.topology.topology import ACKER, OperatorKind, StreamKey
from streamgauge.topology.tuple_flow import TupleFlow
from streamgauge.transport.engine import load_engine
from tests.models.plans import traffic_of

JOB = """
streamgauge: 1
topology:
  name: t
  acked: {acked}
  operators:
    s: {{kind: source}}
    a: {{tasks: 4}}
    w: {{tasks: 2, window: {{length_seconds: 2}}}}
  streams:
    - {{from: s, to: a, stream: x, grouping: {grouping}}}
    - {{from: s, to: a, stream: y, grouping: {grouping}}}
    - {{from: a, to: w, grouping: shuffle}}
configuration: {{engine: storm-1, executors: {{a: 2, w: 1}}, workers: 3}}
cluster: {{uniform: {{nodes: 3, latency_ms: {latency}}}}}
workload: [{{source: s, stream: x, per_second: 30}}, {{source: s, stream: y, per_second: 10}}]
"""
STORM_1 = load_engine("storm-1").mechanics({})
X, Y, OUT = StreamKey("s", "x"), StreamKey("s", "y"), StreamKey("a", "default")


def job_of(*, acked="false", grouping="shuffle", latency=0):
    return parse_job(JOB.format(acked=acked, grouping=grouping, latency=latency))


def times(mean, scv=1.0, samples=100):
    return TimeFigures(mean_ms=Figure(value=mean, samples=samples), scv=Figure(value=scv))


def task(x_ms, y_ms, part):
    """A task of a: both inputs by the clock, all of it on a core, and its part of each."""
    made = {}
    for key, mean in ((X, x_ms), (Y, y_ms)):
        made[key] = InputFigures(share=Figure(value=part), wall=times(mean), cpu=times(mean))
    out = OutputFigures(coefficients={X: Figure(value=1.0), Y: Figure(value=1.0)})
    return TaskProfile(inputs=made, outputs={"default": out})


def profile_of(job, tasks, **more):
    window = TaskProfile(
        inputs={OUT: InputFigures(wall=times(0.5), cpu=times(0.25))},
        window=times(8.0, 0.0),
        window_cpu=times(6.0, 0.0),
    )
    known = {TaskId("a", place): one for place, one in tasks.items()}
    known |= {TaskId("w", place): window for place in range(2)}
    known |= more.pop("more_tasks", {})
    return Profile(topology=job.topology, configuration=job.configuration, tasks=known, **more)


def works(job, profile):
    """The work of all executors, by operator."""
    plan = place_job(job).plan
    flow = TupleFlow.of(plan, load_engine("storm-1").hops)
    logical, behaviour = plan.logical, JobBehaviour.from_profile(profile)
    conversions = {
        one.name: find_conversion(logical, one.name, behaviour, STORM_1)
        for one in logical.topology.operators
        if one.kind is OperatorKind.PROCESSOR
    }
    rates = propagate(flow, source_rates(logical, job.workload), conversions)
    traffic = traffic_of(flow, rates, conversions, STORM_1)
    if logical.topology.has_ackers:
        traffic = with_acks(traffic, roots_per_tuple(traffic))
    found = find_work(traffic, behaviour)
    return found, {name: slice(span.start, span.stop) for name, span in logical.spans.items()}


def test_inputs_are_mixed_by_their_rates():
    """30 tuples of 1 ms and 10 of 3 ms: 1.5 ms, exponential each, so E[S²] = 2(¾·1 + ¼·9)."""
    job = job_of()
    found, at = works(job, profile_of(job, {n: task(1.0, 3.0, 0.25) for n in range(4)}))
    assert found.tuples.per_second[at["a"]] == pytest.approx([20, 20])
    assert found.tuples.cpu[at["a"]] == pytest.approx([0.0015] * 2)
    assert found.tuples.cpu_variance[at["a"]] == pytest.approx([(6.0 - 1.5**2) * 1e-6] * 2)
    assert not found.tuples.wait[at["a"]].any()


def test_what_the_clock_shows_beyond_the_core_is_waiting():
    job = job_of()
    found, at = works(job, profile_of(job, {0: task(1.0, 3.0, 1.0)}))
    assert found.tuples.cpu[at["w"]] == pytest.approx([0.00025])
    assert found.tuples.wait[at["w"]] == pytest.approx([0.00025])
    assert found.triggers.cpu[at["w"]] == pytest.approx([0.006])
    assert found.triggers.wait[at["w"]] == pytest.approx([0.002])
    # Two tasks, every two seconds.
    assert found.triggers.per_second[at["w"]] == pytest.approx([1.0])


def test_after_shuffle_all_executors_have_the_mean_of_all_tasks():
    job = job_of()
    tasks = {0: task(1.0, 1.0, 0.25), 1: task(2.0, 2.0, 0.25)}
    tasks |= {2: task(3.0, 3.0, 0.25), 3: task(6.0, 6.0, 0.25)}
    found, at = works(job, profile_of(job, tasks))
    assert found.tuples.cpu[at["a"]] == pytest.approx([0.003, 0.003])


def test_after_fields_tasks_count_by_what_they_get():
    """Tasks 0 and 1 get 0.4 and 0.1, tasks 2 and 3 get 0.25 each (eq. 4.11)."""
    job = job_of(grouping="{fields: [k]}")
    tasks = {0: task(1.0, 1.0, 0.4), 1: task(2.0, 2.0, 0.1)}
    tasks |= {2: task(3.0, 3.0, 0.25), 3: task(6.0, 6.0, 0.25)}
    found, at = works(job, profile_of(job, tasks))
    expected = [(0.4 * 1 + 0.1 * 2) / 0.5, (3 + 6) / 2]
    assert found.tuples.cpu[at["a"]] * 1e3 == pytest.approx(expected)


def test_what_ackers_cost_is_taken_from_ackers():
    job = job_of(acked="true")
    init, ack = StreamKey("s", "__ack_init"), StreamKey("a", "__ack_ack")
    acker = TaskProfile(
        inputs={init: InputFigures(cpu=times(0.02)), ack: InputFigures(wall=times(0.01))}
    )
    tasks = {n: task(1.0, 1.0, 0.25) for n in range(4)}
    profile = profile_of(job, tasks, more_tasks={TaskId(ACKER, 0): acker})
    found, at = works(job, profile)
    # Of 40 roots: 40 announced, 40 acks of a, and 40 of w, whose cost nobody measured.
    assert found.tuples.per_second[at[ACKER]].sum() == pytest.approx(120)
    assert found.tuples.cpu[at[ACKER]] == pytest.approx([1e-5] * 3)
    assert not found.notes
    blind, _ = works(job, profile_of(job, tasks))
    assert blind.notes == ("the CPU time of ackers was not measured: taken as zero",)


def test_a_mixture_of_nothing_is_nothing():
    assert Work.mixed([], 2).cpu == pytest.approx([0, 0])


def test_latency_between_nodes_is_the_median_or_another_percentile():
    job = job_of(latency=5)
    plan = place_job(job).plan
    probe = TimeFigures(
        mean_ms=Figure(value=0.4), scv=Figure(value=0.25), quantiles_ms={0.5: 0.2, 0.9: 1.0}
    )
    profile = profile_of(
        job, {0: task(1.0, 1.0, 1.0)}, links=(LinkFigures(source="n1", target="n2", latency=probe),)
    )
    found = find_network(plan, JobBehaviour.from_profile(profile))
    # The third node was never probed, but the cluster says how far it is.
    expected = np.asarray([[0, 0.2, 5], [0.2, 0, 5], [5, 5, 0]])
    assert found.seconds * 1e3 == pytest.approx(expected)
    assert found.variance[0, 1] == pytest.approx(0.25 * 0.4e-3**2)
    assert not found.notes
    assert find_network(plan, JobBehaviour.from_profile(profile), percentile=0.7).seconds[
        0, 1
    ] == pytest.approx(0.6e-3)


def test_nodes_that_nobody_knows_anything_of_are_as_far_as_the_others():
    job = job_of()
    plan = place_job(job).plan
    link = LinkFigures(source="n1", target="n2", latency=times(0.3))
    profile = profile_of(job, {0: task(1.0, 1.0, 1.0)}, links=(link,))
    found = find_network(plan, JobBehaviour.from_profile(profile))
    assert found.seconds[0, 2] == pytest.approx(0.3e-3)
    assert found.notes == (
        "4 of 6 pairs of nodes were not probed, such as n1 → n3: the median of the others is used",
    )


def test_a_remote_hop_of_a_tenth_of_a_millisecond():
    """Worked example of section 4.11: five remote hops add 0.5 ms to 5 ms, a tenth."""
    job = job_of(latency=0.1)
    plan = place_job(job).plan
    profile = profile_of(job, {0: task(1.0, 1.0, 1.0)})
    found = find_network(plan, JobBehaviour.from_profile(profile))
    assert 5 * found.seconds[0, 1] / 5e-3 == pytest.approx(0.1)
