"""Shuffle beyond what the nearest executors can serve: what is foreseen, and what is simulated."""

from dataclasses import replace

import pytest

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.parameters import find_parameters
from streamgauge.models.prediction import Verdict
from streamgauge.models.regimes import find_regimes, swinging_operators
from streamgauge.models.run_length import transient_length
from streamgauge.models.simulated import SimulationModel
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.figures import Figure, InputFigures, TaskId, TaskProfile, TimeFigures
from streamgauge.profile.files.jobs import parse_job
from streamgauge.profile.profile import Profile
from streamgauge.simulation.topology_run import simulate
from streamgauge.topology.topology import StreamKey

# Three executors of 100 tuples/s, one of them in the source's worker, under 150 tuples/s.
JOB = """
streamgauge: 1
topology:
  name: t
  acked: true
  operators: {s: {kind: source}, w: {tasks: 3}}
  streams: [{from: s, to: w, grouping: shuffle}]
behaviours:
  s: {service: {cpu_ms: 0.1}}
  w: {service: {wait_ms: {exponential: 10}}}
configuration: {executors: {w: 3}, workers: 1, settings: {topology.message.timeout.secs: 100}}
cluster: {uniform: {nodes: 3, cores: 4, latency_ms: 0.3}}
workload: [{source: s, per_second: 150}]
"""
ROOM = "topology.executor.receive.buffer.size"
PENDING = "topology.max.spout.pending"


def blocked_operators(parameters):
    return tuple(scope.operator for scope in find_regimes(parameters).blocked)


def measured(text=JOB):
    """The job's own figures, as measured where all executors share the source's worker."""
    job = parse_job(text)
    wall = TimeFigures(mean_ms=Figure(value=10.0), scv=Figure(value=1.0))
    cpu = TimeFigures(mean_ms=Figure(value=0.0), scv=Figure(value=0.0))
    task = TaskProfile(inputs={StreamKey("s", "default"): InputFigures(wall=wall, cpu=cpu)})
    tasks = {TaskId("w", place): task for place in range(job.topology.operator("w").tasks)}
    return Profile(topology=job.topology, configuration=job.configuration, tasks=tasks)


PROFILE = measured()


def proposed(text=JOB, rate=150.0, **settings):
    """The same on three workers, queues for 1,024 tuples: widened at 819, narrowed at 205."""
    job = parse_job(text)
    names = {"pending": PENDING, "room": ROOM, "widen": "topology.localityaware.higher.bound"}
    given = {names[name]: value for name, value in settings.items()}
    settings = {**job.configuration.settings, ROOM: 1024, **given}
    configuration = replace(job.configuration, workers=3, settings=settings)
    emission = replace(job.workload.emissions[0], per_second=rate)
    job = replace(
        job, configuration=configuration, workload=replace(job.workload, emissions=(emission,))
    )
    return job, place_job(job).plan


def shares(result):
    """Of the tuples that come to `w`, the parts of its executors, the largest first."""
    came = [one.receive.arrived_per_second for one in result.executors if one.operator == "w"]
    return sorted((rate / sum(came) for rate in came), reverse=True)


def test_a_local_queue_that_fills_and_drains_swings():
    text = JOB.replace("timeout.secs: 100", "timeout.secs: 1000")
    job, plan = proposed(text, room=8192)
    parameters = find_parameters(JobBehaviour.from_profile(PROFILE), plan, job.workload)
    assert swinging_operators(parameters) == ("w",)
    assert blocked_operators(parameters) == ()
    # From 1,638 to 6,554 tuples at 50 tuples/s, and back at 100.
    cycle = 4915 / 50 + 4915 / 100
    assert find_regimes(parameters).swinging[0].cycle_seconds == pytest.approx(cycle, rel=0.01)
    found = SimulationModel().predict(JobBehaviour.from_profile(PROFILE), plan, job.workload)
    # All is served, but a scope that is used is not stable.
    assert found.verdict is Verdict.OVERLOADED
    assert list(found.overloaded.values()) == pytest.approx([1.5], rel=0.01)
    # Some looks at loads, one every second or so, come on top.
    assert cycle < found.swing.period < 1.1 * cycle
    # What is served locally has waited for 16 to 66 s; others hardly, a third on the mean.
    assert 8.0 < found.swing.lowest < 25.0
    assert 45.0 < found.swing.highest < 66.0
    assert any("swings between" in note for note in found.notes)
    truth = simulate(plan, job.behaviours, job.workload, seconds=1200.0, warmup=140.0, seed=5)
    assert shares(truth) == pytest.approx([2 / 3, 1 / 6, 1 / 6], abs=0.02)
    assert found.latency.mean == pytest.approx(truth.latency.mean, rel=0.1)
    came = [one.arrived_per_second for one in found.executors if one.operator == "w"]
    assert max(came) == pytest.approx(100.0, rel=0.05)


def test_a_limit_on_open_roots_that_ends_before_the_bound_blocks():
    for pending, names in ((700, ("w",)), (900, ())):
        job, plan = proposed(pending=pending)
        parameters = find_parameters(JobBehaviour.from_profile(PROFILE), plan, job.workload)
        assert blocked_operators(parameters) == names
        assert (swinging_operators(parameters) == ()) is bool(names)
        result = simulate(plan, job.behaviours, job.workload, seconds=60.0, warmup=20.0, seed=5)
        assert (shares(result)[0] == 1.0) is bool(names)


def test_what_is_blocked_is_overloaded_and_holds_its_source_back():
    job, plan = proposed(pending=500)
    found = SimulationModel().predict(JobBehaviour.from_profile(PROFILE), plan, job.workload)
    assert found.verdict is Verdict.OVERLOADED
    (name,) = found.overloaded
    assert name.startswith("w[")
    # 150 tuples/s are due, 100 are served; 500 roots at 100 tuples/s take 5 s.
    assert found.overloaded[name] == pytest.approx(1.5, rel=0.03)
    assert found.operators["s"].emitted_per_second == pytest.approx(100.0, rel=0.03)
    assert found.latency.mean == pytest.approx(5.0, rel=0.03)
    assert found.swing is None
    assert any("never goes beyond" in note for note in found.notes)
    assert any("held back" in note for note in found.notes)


def test_roots_that_run_out_of_time_make_room_for_others():
    """8 s for 800 roots: with a time-out of 3 s the limit bounds nothing."""
    for seconds, names in ((100, ("w",)), (3, ())):
        text = JOB.replace("timeout.secs: 100", f"timeout.secs: {seconds}")
        job, plan = proposed(text, pending=800)
        assert (
            blocked_operators(
                find_parameters(JobBehaviour.from_profile(PROFILE), plan, job.workload)
            )
            == names
        )
        result = simulate(plan, job.behaviours, job.workload, seconds=60.0, warmup=60.0, seed=5)
        assert (shares(result)[0] == 1.0) is bool(names)


def test_with_several_tasks_an_executor_it_widens_once():
    """Silent tasks count as full: the scope never looks drained."""
    text = JOB.replace("w: {tasks: 3}", "w: {tasks: 6}")
    profile = measured(text)
    job, plan = proposed(text)
    parameters = find_parameters(JobBehaviour.from_profile(profile), plan, job.workload)
    regimes = find_regimes(parameters)
    assert [one.operator for one in regimes.settling] == ["w"]
    assert regimes.swinging == regimes.blocked == ()
    assert regimes.settling[0].widens_at == pytest.approx((0.8 * 2 - 1) * 1024)
    found = SimulationModel().predict(JobBehaviour.from_profile(profile), plan, job.workload)
    assert found.swing is None
    # M/M/1 at half its capacity takes 20 ms; network and wake-up on top.
    assert found.latency.mean == pytest.approx(0.021, rel=0.1)


@pytest.mark.parametrize("rate", [80.0, 320.0])
def test_what_fits_near_or_nowhere_does_not_swing(rate):
    job, plan = proposed(rate=rate)
    parameters = find_parameters(JobBehaviour.from_profile(PROFILE), plan, job.workload)
    assert swinging_operators(parameters) == blocked_operators(parameters) == ()


def test_without_load_awareness_there_are_no_scopes():
    text = JOB.replace("secs: 100}", "secs: 100, topology.disable.loadaware.messaging: true}")
    job, plan = proposed(text)
    assert (
        swinging_operators(find_parameters(JobBehaviour.from_profile(PROFILE), plan, job.workload))
        == ()
    )


def test_queues_as_large_as_the_engines_take_minutes():
    job, plan = proposed(room=32768)
    parameters = find_parameters(JobBehaviour.from_profile(PROFILE), plan, job.workload)
    (scope,) = find_regimes(parameters).swinging
    assert scope.widens_at == pytest.approx(26_214.4)
    assert scope.filling_seconds == pytest.approx(26_214 / 50, rel=0.05)
    length = transient_length(parameters, job.workload, find_regimes(parameters))
    assert length.warmup > scope.filling_seconds
    assert length.seconds > 5 * scope.cycle_seconds
