"""The simulation model: from a job's metrics to another plan, the job itself simulated as truth."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from streamgauge.errors import InvalidInput
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import find_limit
from streamgauge.models.measured_plan import measured_plan, measured_workload
from streamgauge.models.parameters import find_parameters
from streamgauge.models.prediction import Verdict
from streamgauge.models.run_length import (
    MOST_HOPS,
    sensible_length,
    sensible_seconds,
    steady_length,
)
from streamgauge.models.simulated import SimulationModel, combine_latencies
from streamgauge.models.simulated_job import build_simulation
from streamgauge.pipeline.estimation.assembly import profile_of
from streamgauge.pipeline.estimation.subjects import figures_of
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    LinkFigures,
    OutputFigures,
    Shares,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.files.jobs import load_profile, parse_job
from streamgauge.profile.profile import Profile
from streamgauge.simulation.binning import BINS, bin_edges
from streamgauge.simulation.latencies import Latencies
from streamgauge.simulation.topology_run import simulate
from streamgauge.topology.topology import ACK_ACK, ACK_INIT, ACKER, StreamKey, Window
from streamgauge.topology.workload import Burst, Emission, Seasonal, Unlimited, Workload
from tests.engines.emulator.emulations import emulated
from tests.pipeline.estimation.aggregation import partials

JOB = """
streamgauge: 1
topology:
  name: t
  acked: true
  operators:
    s: {{kind: source, tasks: 2}}
    a: {{tasks: 4}}
    w: {{tasks: 2, window: {{length_tuples: 6}}}}
    b: {{tasks: 2}}
  streams:
    - {{from: s, to: a, grouping: {{fields: [k]}}}}
    - {{from: a, to: w, grouping: shuffle}}
    - {{from: w, to: b, grouping: shuffle}}
behaviours:
  s: {{service: {{cpu_ms: 0.1}}, keys: {{default: {{zipf: {{count: 30, exponent: 0.7}}}}}}}}
  a: {{service: {{cpu_ms: {{gamma: {{mean: 2, scv: 0.5}}}}}}, outputs: {{default: 1}}}}
  w: {{service: {{cpu_ms: 0.1}}, window: {{service: {{cpu_ms: 1}}, outputs: {{default: 2}}}}}}
  b: {{service: {{wait_ms: {{exponential: 4}}}}}}
configuration:
  engine: {engine}
  executors: {{s: 1, a: 2, w: 1, b: 1}}
  workers: 2
  ackers: 1
  # Threads that poll hide what windows take of a core.
  settings: {{topology.bolt.wait.progressive.level2.count: 0}}
cluster: {{uniform: {{nodes: 2, slots: 2, cores: 2, latency_ms: 0.3}}}}
workload: [{{source: s, per_second: 120}}]
steps:
  wide: {{executors: {{s: 2, a: 4, w: 2, b: 2}}, workers: 4}}
"""


@pytest.fixture(scope="module", params=["storm-1", "storm-2"])
def measured(request, tmp_path_factory):
    """The job, and six minutes of its metrics: means of single operators to one or two per cent."""
    text = JOB.format(engine=request.param)
    folder = tmp_path_factory.mktemp(request.param)
    seen = emulated(text, folder, seconds=360.0, bucket_seconds=18.0, trace_every=0)
    profile = profile_of(figures_of(partials(seen.samples), replicas=0), seen.plans[0])[0]
    return parse_job(text), profile


def test_another_plan_is_as_the_job_itself(measured):
    job, profile = measured
    plan = place_job(job.at_step("wide")).plan
    found = SimulationModel(seconds=40.0).predict(
        JobBehaviour.from_profile(profile), plan, job.workload
    )
    # Phases of timers are drawn anew in every run.
    runs = [
        simulate(plan, job.behaviours, job.workload, seconds=40.0, warmup=10.0, seed=seed)
        for seed in range(20, 25)
    ]
    for mine, truth in (
        (found.latency, combine_latencies([one.latency for one in runs])),
        (found.complete, combine_latencies([one.complete for one in runs])),
        (found.seen_by_source, combine_latencies([one.seen_by_source for one in runs])),
    ):
        assert mine.mean == pytest.approx(truth.mean, rel=0.05)
        assert mine.quantiles[0.99] == pytest.approx(truth.quantiles[0.99], rel=0.08)
        assert mine.variance == pytest.approx(truth.variance, rel=0.15)
        assert abs(mine.mean - truth.mean) < mine.halfwidth + truth.halfwidth
    assert found.by_source == {"s": found.latency}
    assert found.verdict is Verdict.FITS
    for name, one in found.operators.items():
        for figure in ("arrived_per_second", "emitted_per_second", "utilisation"):
            theirs = np.mean([getattr(run.operators[name], figure) for run in runs])
            assert getattr(one, figure) == pytest.approx(theirs, rel=0.06, abs=0.002)
    busy = np.mean([[one.utilisation for one in run.executors] for run in runs], axis=0)
    assert [one.utilisation for one in found.executors] == pytest.approx(list(busy), abs=0.006)
    assert found.operators["b"].busiest == max(
        one.utilisation for one in found.executors if one.operator == "b"
    )
    for place, one in enumerate(found.machines):
        assert one.busy == pytest.approx(np.mean([r.machines[place].busy for r in runs]), rel=0.06)
    sent = [one.sent_per_second for one in found.workers]
    theirs = np.mean([[w.transfer.arrived_per_second for w in r.workers] for r in runs], axis=0)
    assert sent == pytest.approx(list(theirs), rel=0.06)


def test_keys_stay_where_they_were_measured(measured):
    """Four tasks of which each has its keys; what comes to each is in the profile."""
    job, profile = measured
    plan = place_job(job.at_step("wide")).plan
    found = SimulationModel(seconds=40.0, replications=2).predict(
        JobBehaviour.from_profile(profile), plan, job.workload
    )
    tasks = profile.tasks_of("a")
    key = StreamKey("s", "default")
    seen = [tasks[place].inputs[key].share.value for place in range(4)]
    mine = [one.arrived_per_second / 120 for one in found.executors if one.operator == "a"]
    assert max(seen) > 1.2 / 4
    assert mine == pytest.approx(seen, rel=0.06)


def test_the_same_seed_gives_the_same_answer(measured):
    job, profile = measured
    plan = place_job(job).plan
    first, again, other = (
        SimulationModel(seconds=5.0, replications=2, seed=seed).predict(
            JobBehaviour.from_profile(profile), plan, job.workload
        )
        for seed in (3, 3, 4)
    )
    # As text, since NaN equals nothing.
    assert str(first) == str(again)
    assert first.latency != other.latency
    assert (first.provenance["runs"], first.provenance["seed"]) == ("2", "3")


# A source and a processor of 10 ms waiting, on two nodes; written by hand.
LINE = """
streamgauge: 1
topology:
  name: line
  acked: true
  operators: {s: {kind: source}, b: {tasks: 2}}
  streams: [{from: s, to: b, grouping: {fields: [k]}}]
behaviours: {s: {service: {cpu_ms: 1}}, b: {service: {wait_ms: 10}}}
configuration: {engine: ENGINE, executors: {b: 2}, workers: 2, ackers: 1}
cluster: {uniform: {nodes: 2, cores: 4, latency_ms: 0.3}}
workload: [{source: s, per_second: 40}]
"""


def times(mean, scv=0.0):
    return TimeFigures(mean_ms=Figure(value=mean), scv=Figure(value=scv))


def line(engine="storm-2", parts=(0.5, 0.5), acker=None, **changes):
    """The job, its plan, and a profile that says as much."""
    job = parse_job(LINE.replace("ENGINE", engine))
    settings = changes.pop("settings", {})
    job = replace(job, configuration=replace(job.configuration, settings=settings))
    key = StreamKey("s", "default")
    emitted = OutputFigures(wall=times(1.0), cpu=times(1.0), shares={"b": Shares(parts=parts)})
    served = TaskProfile(inputs={key: InputFigures(wall=times(10.0), cpu=times(0.0))})
    tasks = {TaskId("s", 0): TaskProfile(outputs={"default": emitted})}
    tasks |= {TaskId("b", 0): served, TaskId("b", 1): served}
    if acker is not None:
        keys = (StreamKey("s", ACK_INIT), StreamKey("b", ACK_ACK))
        inputs = {key: InputFigures(cpu=times(acker)) for key in keys}
        tasks[TaskId(ACKER, 0)] = TaskProfile(inputs=inputs)
    profile = Profile(
        topology=job.topology, configuration=job.configuration, tasks=tasks, **changes
    )
    return job, place_job(job).plan, profile


def at(job, rate):
    return replace(job.workload, emissions=(replace(job.workload.emissions[0], per_second=rate),))


@pytest.mark.parametrize("engine", ["storm-1", "storm-2"])
def test_measured_latencies_between_nodes_count(engine):
    """All tuples to the task that is not on the source's node: 50 ms instead of 0.3."""
    job, plan, profile = line(engine)
    source, *tasks = (
        plan.worker_of(one) for name in "sb" for one in plan.logical.executors_of(name)
    )
    parts = tuple(float(worker != source) for worker in tasks)
    assert sum(parts) == 1.0
    job, plan, profile = line(engine, parts)
    link = LinkFigures(source="n1", target="n2", latency=times(50.0, 0.01))
    near, far = (
        SimulationModel(seconds=20.0, replications=1).predict(
            JobBehaviour.from_profile(one), plan, job.workload
        )
        for one in (profile, replace(profile, links=(link,)))
    )
    assert far.latency.mean - near.latency.mean == pytest.approx(0.0497, abs=0.002)


def test_jitter_is_no_more_than_the_latency_it_is_part_of():
    job, plan, profile = line(
        links=(LinkFigures(source="n1", target="n2", latency=times(2.0, 9.0)),)
    )
    behaviour = JobBehaviour.from_profile(profile)
    informed, _, _ = build_simulation(
        find_parameters(behaviour, plan, job.workload), np.zeros(len(plan.cluster.machines))
    )
    cluster = informed.cluster
    assert cluster.latency_between("n1", "n2") == pytest.approx(2.0)
    assert cluster.latency_between("n2", "n1") == pytest.approx(2.0)
    assert cluster.jitter_between("n1", "n2") == pytest.approx(2.0)


def test_what_an_acker_costs_is_simulated():
    """40 roots a second of two messages of 2 ms each."""
    job, plan, profile = line(acker=2.0)
    found = SimulationModel(seconds=60.0, replications=1).predict(
        JobBehaviour.from_profile(profile), plan, job.workload
    )
    assert found.operators[ACKER].utilisation == pytest.approx(0.16, rel=0.06)
    job, plan, profile = line()
    unknown = SimulationModel(seconds=10.0, replications=1).predict(
        JobBehaviour.from_profile(profile), plan, job.workload
    )
    assert unknown.operators[ACKER].utilisation == 0.0
    assert any("acker" in note for note in unknown.notes)


def test_figures_of_executors_are_what_was_simulated():
    """Waiting in M/D/1: ρ/(2(1 − ρ)) services; 10 ms of waiting and nothing on a core."""
    settings = {"topology.bolt.wait.progressive.level3.sleep.millis": 0}
    job, plan, profile = line(parts=(1.0, 0.0), settings=settings)
    found = SimulationModel(seconds=400.0).predict(
        JobBehaviour.from_profile(profile), plan, at(job, 60.0)
    )
    first, second = (one for one in found.executors if one.operator == "b")
    assert first.utilisation == pytest.approx(0.6, rel=0.02)
    assert first.service_seconds == pytest.approx(0.01, rel=1e-3)
    # Sources sleep a millisecond, and so do transfer threads: tuples come in small clumps.
    assert first.delay_seconds == pytest.approx(0.01 * (1 + 0.6 / 0.8), rel=0.1)
    assert first.queue_length == pytest.approx(60 * (first.delay_seconds - 0.01), rel=0.02)
    assert math.isnan(first.stretch)
    assert second.arrived_per_second == second.utilisation == 0.0
    assert found.operators["b"].idle == 1
    assert found.operators["s"].service_seconds == pytest.approx(0.001, rel=0.1)


def test_a_queue_that_grows_is_named_and_latency_is_endless():
    job, plan, profile = line(parts=(0.25, 0.75))
    found = SimulationModel(replications=1).predict(
        JobBehaviour.from_profile(profile), plan, at(job, 160.0)
    )
    assert found.verdict is Verdict.OVERLOADED
    (name,) = found.overloaded
    # Three quarters of 160 tuples/s where 100 are served.
    assert found.overloaded[name] == pytest.approx(1.2, rel=0.03)
    (one,) = (e for e in found.executors if e.name == name)
    assert one.utilisation == found.overloaded[name]
    assert math.isinf(found.latency.mean)
    assert math.isinf(found.complete.mean)
    assert math.isinf(one.delay_seconds)
    parameters = find_parameters(JobBehaviour.from_profile(profile), plan, at(job, 160.0))
    assert found.limit == find_limit(parameters, at(job, 160.0))
    assert any("by formula" in note for note in found.notes)


def test_a_machine_without_enough_cores_is_named():
    job, plan, profile = line()
    machines = tuple(replace(one, background_cores=3.97) for one in plan.cluster.machines)
    plan = replace(plan, cluster=replace(plan.cluster, machines=machines))
    found = SimulationModel(replications=1).predict(
        JobBehaviour.from_profile(profile), plan, job.workload
    )
    # 40 tuples/s of 1 ms want 0.04 of a core, 0.03 are free.
    (source,) = (one for one in plan.logical.executors if one.operator == "s")
    machine = plan.cluster.machine_of(plan.worker_of(source).node).name
    assert found.overloaded == pytest.approx({machine: 4 / 3}, rel=0.01)
    assert [one.name for one in found.machines if one.overloaded] == [machine]


def test_few_open_roots_hold_a_source_back():
    """One root open at a time, about 12 ms each: nobody works all the time."""
    job, plan, profile = line(settings={"topology.max.spout.pending": 1})
    found = SimulationModel(replications=2).predict(
        JobBehaviour.from_profile(profile), plan, at(job, 150.0)
    )
    assert list(found.overloaded) == [one.name for one in found.executors if one.operator == "s"]
    emitted = found.operators["s"].emitted_per_second
    assert emitted == pytest.approx(1.0 / (found.seen_by_source.mean + 0.001), rel=0.1)
    assert next(iter(found.overloaded.values())) == pytest.approx(150.0 / emitted, rel=0.02)
    assert math.isfinite(found.latency.mean)
    assert any("held back" in note for note in found.notes)


def test_sources_without_a_rate_emit_what_the_plan_can_do():
    """Half of the tuples to each of two executors of 100 tuples/s."""
    _, plan, profile = line(settings={"topology.max.spout.pending": 200})
    eager = Workload(emissions=(Emission(source="s", shape=Unlimited()),))
    found = SimulationModel(replications=2).predict(JobBehaviour.from_profile(profile), plan, eager)
    assert found.verdict is Verdict.FITS
    assert found.operators["s"].emitted_per_second == pytest.approx(200.0, rel=0.05)
    assert found.limit.per_second == pytest.approx(200.0, rel=0.01)
    assert any("as fast as it can" in note for note in found.notes)


def test_without_anything_that_holds_it_back_an_eager_source_is_too_much():
    _, plan, profile = line("storm-1")
    eager = Workload(emissions=(Emission(source="s", shape=Unlimited()),))
    found = SimulationModel(seconds=5.0, replications=1).predict(
        JobBehaviour.from_profile(profile), plan, eager
    )
    assert found.verdict is Verdict.OVERLOADED
    assert all(name.startswith("b[") for name in found.overloaded)


def test_latencies_of_runs_become_one():
    drawn = np.random.default_rng(5).gamma(2.0, 0.01, (4, 50_000))
    parts = []
    for one in drawn:
        counts = np.histogram(one, [*bin_edges(), math.inf])[0]
        assert len(counts) == BINS
        parts.append(
            Latencies(
                counts=counts,
                total_seconds=float(one.sum()),
                batches=counts[None, :],
                batch_seconds=np.asarray([one.sum()]),
            )
        )
    found = combine_latencies(parts)
    assert found.mean == pytest.approx(drawn.mean())
    assert found.variance == pytest.approx(drawn.var(), rel=1e-3)
    assert found.quantiles[0.99] == pytest.approx(np.quantile(drawn, 0.99), rel=0.01)
    means = drawn.mean(axis=1)
    assert found.halfwidth == pytest.approx(3.182 * means.std(ddof=1) / 2.0, rel=1e-3)
    assert math.isnan(combine_latencies([Latencies.none()]).mean)


def workload(rate, shape=None):
    emission = Emission(source="s", per_second=rate)
    return Workload(emissions=(emission if shape is None else replace(emission, shape=shape),))


def test_runs_are_as_long_as_a_percentile_windows_and_periods_need():
    assert sensible_length(workload(500.0)).seconds == 100.0
    several = sensible_length(workload(500.0), runs=5)
    assert (several.runs, several.seconds) == (5, 20.0)
    windows = sensible_length(workload(500.0), runs=5, window_seconds=10.0)
    assert (windows.runs, windows.seconds) == (5, 100.0)
    bursts = sensible_length(workload(500.0, Burst(on_seconds=20.0, off_seconds=30.0)))
    assert bursts.seconds == 200.0
    assert sensible_length(workload(1e-3)).seconds == 10_000.0
    longer = replace(windows, warmup=25.0).lasting(400.0, runs=2)
    assert (longer.runs, longer.seconds, longer.warmup) == (2, 400.0, 100.0)


def test_a_high_rate_is_simulated_for_a_short_time():
    day = Seasonal(period_seconds=86_400.0, amplitude=0.5)
    fast = sensible_length(workload(1e6, day), runs=5, hops_per_second=4e6)
    assert fast.runs * fast.seconds * 4e6 == pytest.approx(MOST_HOPS)
    assert fast.runs == 1
    assert not fast.enough
    job, plan, profile = line()
    parameters = find_parameters(JobBehaviour.from_profile(profile), plan, at(job, 1e6))
    length = steady_length(parameters, at(job, 1e6), runs=5)
    # A tuple, two messages to the acker, and its answer.
    assert length.runs * length.seconds * 4e6 == pytest.approx(MOST_HOPS, rel=0.01)


def test_windows_of_a_job_are_known_from_its_topology():
    text = LINE.replace("ENGINE", "storm-2")
    job = parse_job(text)
    assert sensible_seconds(job.topology, at(job, 500.0)) == 100.0
    assert sensible_seconds(job.topology, at(job, 5.0), longest=60.0) == 60.0
    gathers = replace(job.topology.operator("b"), window=Window(length_seconds=30.0))
    topology = replace(job.topology, operators=(job.topology.operator("s"), gathers))
    assert sensible_seconds(topology, at(job, 500.0), longest=60.0) == 300.0


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    job, plan, profile = line()
    monkeypatch.setitem(sys.modules, "streamgauge.simulation.topology_run", None)
    with pytest.raises(InvalidInput, match=r"streamgauge\[simulation\]"):
        SimulationModel().predict(JobBehaviour.from_profile(profile), plan, job.workload)


def test_the_simulator_is_not_loaded_before_it_is_asked():
    code = "import sys, streamgauge.models.simulated; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def word_count(**options):
    """A job with hardly any load, whose latency depends on how the clocks of threads stand."""
    profile = load_profile("examples/word-count.profile.json")
    return SimulationModel(**options).predict(
        JobBehaviour.from_profile(profile), measured_plan(profile), measured_workload(profile)
    )


def test_the_interval_knows_that_every_run_has_its_own_phases():
    found = word_count()
    truth = word_count(seconds=25.0, replications=60, seed=1000)
    assert truth.latency.halfwidth < 0.04 * truth.latency.mean
    assert abs(found.latency.mean - truth.latency.mean) < (
        found.latency.halfwidth + truth.latency.halfwidth
    )
    assert found.latency.halfwidth <= 0.05 * found.latency.mean
    assert any("mean latency is known to" in note for note in found.notes)


def test_runs_end_with_the_budget():
    found = word_count(precision=1e-3, budget=400_000)
    hops = sum(one.arrived_per_second for one in found.executors) * 6.5
    assert int(found.provenance["runs"]) < 400_000 / hops + 1
    assert any("the budget of 400,000 tuples and messages is used up" in n for n in found.notes)


def test_the_number_of_cores_changes_nothing(monkeypatch):
    answers = []
    for cores in (1, 3):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        answers.append(word_count(seconds=3.0, replications=6))
    assert answers[0].latency == answers[1].latency


@pytest.mark.parametrize(
    "given",
    [{"seconds": 0.0}, {"seed": -1}, {"replications": 0}, {"precision": 0.0}, {"budget": 0}],
)
def test_wrong_arguments_are_refused(given):
    (name,) = given
    with pytest.raises(InvalidInput, match=name):
        SimulationModel(**given)
