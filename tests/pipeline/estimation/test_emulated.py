"""From an emulated job to its profile: the job's own figures come out again."""

import pytest

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.simulated_job import simulator_behaviours
from streamgauge.pipeline.estimation.assembly import profile_of
from streamgauge.pipeline.estimation.subjects import figures_of
from streamgauge.topology.topology import StreamKey
from tests.engines.emulator.emulations import emulated
from tests.pipeline.estimation.aggregation import partials

# Waiting is not slowed down by other threads, so that times by the clock are as declared.
KNOWN = """
streamgauge: 1
topology:
  name: known
  operators:
    s: {kind: source, tasks: 2}
    a: {tasks: 2}
    w: {tasks: 2, window: {length_tuples: 10}}
    b: {tasks: 3}
  streams:
    - {from: s, to: a, grouping: shuffle}
    - {from: a, to: b, grouping: {custom: [[0.5, 0.3, 0.2]]}}
    - {from: s, to: w, grouping: shuffle}
    - {from: w, to: b, grouping: shuffle}
behaviours:
  s: {service: {cpu_ms: 0.05}, bytes: {default: 80}}
  a: {service: {wait_ms: {gamma: {mean: 3, scv: 0.5}}}, outputs: {default: {poisson: 1.5}}}
  w: {service: {cpu_ms: 0.05}, window: {service: {cpu_ms: 2}, outputs: {default: 3}}}
  b: {service: {cpu_ms: {exponential: 0.8}}}
configuration: {executors: {s: 2, a: 2, w: 2, b: 3}, workers: 1}
cluster: {uniform: {nodes: 1, cores: 32}}
workload: [{source: s, per_second: 60}]
"""
INPUT = StreamKey("s", "default")


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("known")
    return emulated(KNOWN, folder, seconds=300.0, bucket_seconds=6.0, trace_every=0)


@pytest.fixture(scope="module")
def profile(job):
    return profile_of(figures_of(partials(job.samples)), job.plans[0])[0]


def holds(figure, truth, absolute=0.0):
    """Whether the truth is within five standard errors."""
    return abs(figure.value - truth) <= 5 * figure.standard_error + absolute


def of(profile, operator):
    return list(profile.tasks_of(operator).values())


def test_all_tasks_are_there_and_nothing_is_wrong(profile):
    assert len(profile.tasks) == 9
    assert profile.notes == (
        "whether outputs are linear in inputs cannot be decided: 10 blocks of 30 s, 12 are needed",
    )


def test_rates(profile):
    rates = [task.outputs["default"].per_second for task in of(profile, "s")]
    assert sum(rate.value for rate in rates) == pytest.approx(60, rel=0.05)
    assert all(holds(rate, 30) for rate in rates)


def test_service_times_by_the_clock(profile):
    for task in of(profile, "a"):
        wall = task.inputs[INPUT].wall
        assert holds(wall.mean_ms, 3.0)
        assert holds(wall.scv, 0.5)
        # The median of a gamma with shape two is 1.678 scales; a bin is 9 % wide.
        assert wall.quantiles_ms[0.5] == pytest.approx(1.678 * 1.5, rel=0.09)


def test_service_times_on_a_core(profile):
    for task in of(profile, "b"):
        cpu = task.inputs["a", "default"].cpu
        assert holds(cpu.mean_ms, 0.8)
        assert holds(cpu.scv, 1.0)


def test_tuples_out_per_tuple_in(profile):
    for task in of(profile, "a"):
        assert holds(task.outputs["default"].coefficients[INPUT], 1.5)


def test_windows(profile):
    for task in of(profile, "w"):
        assert holds(task.window_tuples, 10.0, absolute=1e-9)
        assert holds(task.outputs["default"].per_trigger, 3.0, absolute=1e-9)
        assert task.window.mean_ms.value == pytest.approx(2.0, rel=0.02)
        assert holds(task.triggers_per_second, 3.0)


def test_routing(profile):
    for task in of(profile, "a"):
        row = task.outputs["default"].shares["b"]
        for share, truth in zip(row.parts, (0.5, 0.3, 0.2), strict=True):
            assert abs(share - truth) <= 5 * (truth * (1 - truth) / row.samples) ** 0.5


def test_arrivals_are_poisson(profile):
    for task in of(profile, "a"):
        arrivals = task.inputs[INPUT]
        assert holds(arrivals.dispersion, 1.0)
        assert sorted(arrivals.dispersions) == [6.0, 30.0]


def test_nothing_is_lost(profile):
    assert profile.juice.topology.value == pytest.approx(1.0, abs=1e-3)


def test_sizes_cores_and_queues(profile):
    assert of(profile, "s")[0].outputs["default"].bytes.value == pytest.approx(80.0)
    (worker,) = profile.workers.values()
    (node,) = profile.nodes.values()
    (machine,) = profile.machines.values()
    assert worker.cores.value == pytest.approx(node.cores.value)
    assert worker.threads.value == pytest.approx(9.0)
    assert machine.available.value == pytest.approx(32.0)
    for executor in profile.executors.values():
        assert executor.receive.length is not None


def test_capacity_is_rate_times_service_time(profile):
    for label, executor in profile.executors.items():
        if label.startswith("a["):
            assert executor.capacity.value == pytest.approx(30 * 3.0 / 1e3, rel=0.05)


def test_behaviours_can_be_derived(profile):
    derived = simulator_behaviours(JobBehaviour.from_profile(profile))
    assert derived["a"].inputs[INPUT].outputs["default"].mean == pytest.approx(1.5, rel=0.03)


def test_the_engines_own_counters_alone_give_the_same_within_their_noise(job):
    sampled = [
        one
        for one in job.samples
        if one.metric.endswith(("_total", "_mean")) or one.metric == "worker_heartbeats"
    ]
    profile = profile_of(figures_of(partials(sampled)), job.plans[0])[0]
    for task in of(profile, "a"):
        arrivals = task.inputs[INPUT]
        assert holds(arrivals.per_second, 30)
        # By a clock of milliseconds.
        assert holds(arrivals.wall.mean_ms, 3.0, absolute=0.1)
        assert arrivals.wall.scv is None
        assert arrivals.wall.quantiles_ms == {}
        assert holds(task.outputs["default"].coefficients[INPUT], 1.5)
        assert arrivals.per_second.samples < 1000
