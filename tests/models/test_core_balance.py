"""How often a machine evens out its cores: learned from simulated machines that do it otherwise."""

from dataclasses import replace

import pytest

from streamgauge.models.core_balance import SPREAD, fit_balance, learn_balance
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.measured_plan import see_threads
from streamgauge.pipeline.estimation.assembly import profile_of
from streamgauge.pipeline.estimation.subjects import figures_of
from streamgauge.topology.cluster import USUAL_BALANCE_MS, Cluster, Machine, Node
from tests.engines.emulator.emulations import emulated
from tests.pipeline.estimation.aggregation import partials

# Eight threads want 1.2 of two cores.
JOB = """
streamgauge: 1
topology:
  name: t
  operators: {{s: {{kind: source}}, a: {{tasks: 4}}, b: {{tasks: 4}}}}
  streams:
    - {{from: s, to: a, grouping: shuffle}}
    - {{from: a, to: b, grouping: shuffle}}
behaviours:
  s: {{service: {{cpu_ms: 0.01}}}}
  a: {{service: {{cpu_ms: {{exponential: 1}}}}, outputs: {{default: 1}}}}
  b: {{service: {{cpu_ms: {{exponential: 1}}}}}}
configuration: {{engine: storm-1, executors: {{a: 4, b: 4}}, workers: 1}}
cluster: {{uniform: {{nodes: 1, cores: {cores}}}}}
workload: [{{source: s, per_second: {rate}}}]
"""


def measured(folder, *, balance_ms, cores=2, rate=600):
    """A profile of the job, emulated on a machine that evens out its cores so often."""
    job = JOB.format(cores=cores, rate=rate)
    machine = f"{{machines: {{m1: {{cores: {cores}, balance_ms: {balance_ms}}}}}"
    nodes = "nodes: {n1: {machine: m1, slots: 1}}}"
    job = job.replace(f"{{uniform: {{nodes: 1, cores: {cores}}}}}", f"{machine}, {nodes}")
    seen = emulated(job, folder, seconds=60.0, bucket_seconds=1.0, trace_every=0)
    profile, _ = profile_of(figures_of(partials(seen.samples), replicas=50), seen.plans[0])
    return profile


def forget(profile):
    """The profile of a machine of which nobody has said how it evens out its cores."""
    machines = tuple(replace(one, balance_ms=None) for one in profile.cluster.machines)
    return replace(profile, cluster=replace(profile.cluster, machines=machines))


@pytest.fixture(scope="module")
def often(tmp_path_factory):
    return forget(measured(tmp_path_factory.mktemp("often"), balance_ms=0.3))


@pytest.fixture(scope="module")
def seldom(tmp_path_factory):
    return forget(measured(tmp_path_factory.mktemp("seldom"), balance_ms=80.0))


def test_a_machine_that_evens_out_often_is_told_from_one_that_seldom_does(often, seldom):
    (quick,) = fit_balance(see_threads(often)).values()
    (slow,) = fit_balance(see_threads(seldom)).values()
    assert quick.milliseconds < 0.8 * USUAL_BALANCE_MS
    assert slow.milliseconds > 1.5 * USUAL_BALANCE_MS
    assert max(quick.deviation, slow.deviation) < SPREAD


def test_what_was_learned_stands_with_the_machine_and_is_predicted_with(seldom):
    learned = replace(seldom, cluster=learn_balance(seldom))
    (machine,) = learned.cluster.machines
    assert machine.balance_ms > USUAL_BALANCE_MS
    assert JobBehaviour.from_profile(learned).balance_ms == {"m1": machine.balance_ms}


def test_what_somebody_has_given_is_not_touched(tmp_path):
    profile = measured(tmp_path, balance_ms=2.0)
    assert profile.cluster.machines[0].balance_ms == 2.0
    assert learn_balance(profile) == profile.cluster


def test_with_cores_to_spare_nothing_is_learned(tmp_path):
    profile = forget(measured(tmp_path, balance_ms=80.0, cores=16))
    assert learn_balance(profile) == profile.cluster


def test_without_measured_slowdowns_nothing_is_learned(seldom):
    executors = {name: replace(one, slowdown=None) for name, one in seldom.executors.items()}
    blind = replace(seldom, executors=executors)
    assert learn_balance(blind) == blind.cluster


def test_one_core_tells_nothing(tmp_path):
    """There is nowhere to go."""
    profile = forget(measured(tmp_path, balance_ms=80.0, cores=1, rate=300))
    assert max(one.slowdown.value for one in profile.executors.values() if one.slowdown) > 1.5
    assert fit_balance(see_threads(profile)) == {}


def test_machines_of_which_nothing_was_learned_are_like_the_others():
    machines = (
        Machine(name="known", cores=2.0),
        Machine(name="given", cores=2.0, balance_ms=1.0),
        Machine(name="new", cores=2.0),
    )
    nodes = tuple(Node(name=one.name, machine=one.name) for one in machines)
    cluster = Cluster(machines=machines, nodes=nodes)
    assert cluster.list_balance_ms({"known": 12.0}) == [12.0, 1.0, 12.0]
    assert cluster.list_balance_ms({}) == [USUAL_BALANCE_MS, 1.0, USUAL_BALANCE_MS]
