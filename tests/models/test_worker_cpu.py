"""CPU time of workers: cases on paper."""

from dataclasses import replace

import numpy as np
import pytest

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.cpu_contention import contention
from streamgauge.models.engine_costs import guess_costs
from streamgauge.models.job_behaviour import JobBehaviour, handling
from streamgauge.models.load_limit import Limit, find_limit
from streamgauge.models.machine_threads import Machines, Threads
from streamgauge.models.parameters import find_parameters
from streamgauge.models.prediction import MachinePrediction, warn_of_full_machines
from streamgauge.models.simulated import SimulationModel
from streamgauge.planning.scheduling.job_placement import expected_of
from streamgauge.profile.files.jobs import parse_job
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.transport.costs import Cost, EngineCosts
from streamgauge.transport.engine import load_engine
from streamgauge.transport.storm2 import DEFAULTS

# A source in one worker, two bolts in another; nothing polls.
JOB = """
streamgauge: 1
topology:
  name: t
  operators: {s: {kind: source}, a: {}, b: {}}
  streams: [{from: s, to: a, grouping: global}, {from: a, to: b, grouping: global}]
behaviours:
  s: {service: {cpu_ms: 0.1}}
  a: {service: {cpu_ms: 1}, outputs: {default: 2}}
  b: {service: {cpu_ms: 0.5}}
configuration:
  workers: 2
  settings: {topology.bolt.wait.progressive.level2.count: 0}
cluster: {uniform: {nodes: 2, cores: 2}}
workload: [{source: s, per_second: 100}]
"""
COSTS = EngineCosts(
    network_cores=Cost(0.02, 0.004),
    worker_cores=Cost(0.03, 0.003),
    sent_seconds=Cost(10e-6, 1e-6),
    received_seconds=Cost(5e-6),
    executed_seconds=Cost(1e-6),
    handled_seconds=Cost(2e-6),
)


def case(text=JOB, costs=COSTS, own=(), apart=True):
    """Behaviour with costs, plan with the source apart, workload."""
    job = parse_job(text)
    behaviour = JobBehaviour.from_job(job)
    if costs is not None:
        behaviour = replace(behaviour, costs=guess_costs(costs, {name: Cost() for name in own}))
    order = load_engine(job.configuration.engine).task_order
    logical = LogicalPlan.of(job.topology, job.configuration, task_order=order)
    slots = job.cluster.slots[:2] if apart else job.cluster.slots[:1]
    where = [int(apart and one.operator != "s") for one in logical.executors]
    plan = PhysicalPlan.from_slots(logical, job.cluster, slots, where)
    return behaviour, plan, job.workload


def test_what_an_engine_has_to_do_is_what_crosses_workers_and_what_executors_execute():
    first, second = find_parameters(*case()).engine.cores().tolist()
    assert first == pytest.approx(0.05 + 100 * 10e-6 + 100 * 2e-6)
    # 100 tuples of a, 200 of b.
    assert second == pytest.approx(0.05 + 100 * 5e-6 + 300 * 1e-6 + 300 * 2e-6)


def test_fixed_costs_do_not_grow_with_rates():
    first, _ = find_parameters(*case()).engine.cores(factor=10.0).tolist()
    assert first == pytest.approx(0.05 + 1000 * 10e-6 + 1000 * 2e-6)


def test_in_one_worker_nothing_is_sent():
    (only,) = find_parameters(*case(apart=False)).engine.cores().tolist()
    assert only == pytest.approx(0.05 + 300 * 1e-6 + 400 * 2e-6)


def test_an_operator_may_have_a_cost_of_its_own():
    behaviour, plan, workload = case(own=("s",))
    values = behaviour.costs.values.value.copy()
    values[behaviour.costs.names.index(handling("s"))] = 50e-6
    costs = replace(behaviour.costs, values=replace(behaviour.costs.values, value=values))
    first, second = (
        find_parameters(replace(behaviour, costs=costs), plan, workload).engine.cores().tolist()
    )
    assert first == pytest.approx(0.05 + 100 * 10e-6 + 100 * 50e-6)
    assert second == pytest.approx(0.05 + 100 * 5e-6 + 300 * 3e-6)


def test_errors_of_costs_add_up_as_independent_ones_do():
    first, second = find_parameters(*case()).engine.errors().tolist()
    assert first == pytest.approx(np.hypot(np.hypot(0.004, 0.003), 100 * 1e-6))
    assert second == pytest.approx(0.005)


def test_workers_and_machines_say_what_their_cores_do():
    found = AnalyticModel().predict(*case())
    first, second = found.workers
    assert first.work == pytest.approx(100 * 0.1e-3)
    assert second.work == pytest.approx(100 * 1e-3 + 200 * 0.5e-3)
    # A thread alone that wakes up a thousand times a second uses 0.020 cores, n of them n^0.7.
    assert first.polling == pytest.approx((1.0 - 0.01) * 0.020)
    assert second.polling == pytest.approx((2.0 - 0.2) ** 0.7 * 0.020)
    for worker, machine in zip(found.workers, found.machines, strict=True):
        assert worker.cores == pytest.approx(worker.work + worker.engine + worker.polling)
        assert machine.busy == pytest.approx(worker.work)
        assert machine.engine == pytest.approx(worker.engine)
        assert machine.polling == pytest.approx(worker.polling)
        assert machine.in_use == pytest.approx(worker.cores / 2.0)


def test_threads_that_poll_share_what_their_machine_polls():
    # Both bolts are busy a tenth of the time and poll when they are not: they never sleep.
    text = JOB.replace("level2.count: 0", "level2.count: 1000000")
    found = AnalyticModel().predict(*case(text, EngineCosts()))
    first, second = found.workers
    law = 0.235 * (0.9**2 * 2**0.56 + 2 * 0.9 * 0.1)
    assert first.polling == pytest.approx((1.0 - 0.01) * 0.020)
    assert second.polling == pytest.approx(law, rel=0.03)


def test_idle_threads_use_as_much_as_was_learned():
    half = replace(COSTS, waking=Cost(0.5))
    found = AnalyticModel().predict(*case(costs=half))
    assert found.workers[0].polling == pytest.approx(0.5 * (1.0 - 0.01) * 0.020)


@pytest.mark.parametrize(("threads", "measured"), [(1, 0.020), (4, 0.055), (16, 0.138), (64, 0.40)])
def test_threads_that_sleep_use_what_was_measured(threads, measured):
    law = DEFAULTS.wake_seconds / DEFAULTS.bolt_sleep * threads**DEFAULTS.wake_growth
    assert law == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(("threads", "measured"), [(1, 0.235), (4, 0.59), (16, 1.05), (64, 2.0)])
def test_threads_that_park_use_what_was_measured(threads, measured):
    law = DEFAULTS.poll_cores * threads**DEFAULTS.poll_growth
    # Two cores are all there was.
    assert min(law, 2.0) == pytest.approx(measured, rel=0.15)


def test_a_declared_job_has_no_engine():
    found = AnalyticModel().predict(*case(costs=None))
    assert [one.engine for one in found.workers] == [0.0, 0.0]
    assert [one.polling for one in found.workers] == [0.0, 0.0]


def test_windows_that_fire_by_time_are_work():
    text = JOB.replace("b: {}}", "b: {window: {length_seconds: 0.5}}}").replace(
        "b: {service: {cpu_ms: 0.5}}",
        "b: {service: {cpu_ms: 0.5}, window: {service: {cpu_ms: 20}}}",
    )
    found = AnalyticModel().predict(*case(text))
    # Two triggers a second.
    assert found.workers[1].work == pytest.approx(0.2 + 2 * 0.020)
    assert found.machines[1].busy == pytest.approx(0.24)


def test_to_other_threads_the_engine_is_what_others_load_would_be():
    threads = Threads(
        machine=[0, 0],
        rate=[400.0, 400.0],
        cpu_seconds=[1e-3, 1e-3],
        wait_seconds=[0.0, 0.0],
        polls=[False, False],
    )
    like = {"cores": [2.0], "balance_seconds": [0.006]}
    engine = Machines(background_cores=[0.1], engine_cores=[0.5], **like)
    others = Machines(background_cores=[0.6], **like)
    assert contention(threads, engine).stretch == pytest.approx(contention(threads, others).stretch)


def test_a_machine_is_full_of_work_and_engine():
    # One core, of which 0.2 s + 2 ms of work and 1.8 ms of the engine a tuple are wanted.
    text = JOB.replace("cores: 2", "cores: 1")
    costs = EngineCosts(worker_cores=Cost(0.2), executed_seconds=Cost(0.6e-3), waking=Cost(0.0))
    behaviour, plan, workload = case(text, costs)
    limit = find_limit(find_parameters(behaviour, plan, workload), workload)
    assert limit.by == plan.cluster.machines[1].name
    assert limit.per_second == pytest.approx(0.8 / 3.8e-3, rel=0.01)


def test_the_simulation_counts_the_engine_as_the_formulas_do():
    behaviour, plan, workload = case()
    formula = AnalyticModel().predict(behaviour, plan, workload)
    simulated = SimulationModel(seconds=60.0, replications=2).predict(behaviour, plan, workload)
    for mine, theirs in zip(formula.workers, simulated.workers, strict=True):
        assert theirs.engine == mine.engine
        assert theirs.work == pytest.approx(mine.work, rel=0.05)
    for machine, one in zip(plan.cluster.machines, simulated.machines, strict=True):
        assert one.background == machine.background_cores


def test_an_engine_that_takes_all_of_a_machine_is_simulated_as_overload():
    behaviour, plan, workload = case(costs=EngineCosts(worker_cores=Cost(5.0)))
    found = SimulationModel(seconds=20.0, replications=1).predict(behaviour, plan, workload)
    assert found.overloaded


def test_planners_count_what_handling_costs():
    behaviour, plan, workload = case()
    expected = expected_of(behaviour, plan.logical.configuration, workload)
    assert expected.cores["s"] == pytest.approx(100 * (0.1e-3 + 2e-6))
    assert expected.cores["b"] == pytest.approx(200 * (0.5e-3 + 3e-6))


def machine(in_use, *, overloaded=False):
    return MachinePrediction(
        name="m",
        cores=4.0,
        background=0.0,
        busy=3.0 * in_use,
        engine=0.5 * in_use,
        polling=0.5 * in_use,
        overloaded=overloaded,
    )


UNLIMITED = Limit.unknown()


def test_a_machine_that_is_nearly_full_is_named():
    (note,) = warn_of_full_machines([machine(0.85)], UNLIMITED)
    assert note.startswith("85% of m would be in use")


def test_the_rate_is_named_from_which_a_machine_is_nearly_full():
    # A fifth at 100, all of it at 300: four fifths at 250.
    limit = Limit(factor=3.0, per_second=300.0, by="m")
    (note,) = warn_of_full_machines([machine(0.2)], limit)
    assert "from about 250 tuples/s on" in note


@pytest.mark.parametrize("one", [machine(0.5), machine(1.0, overloaded=True)])
def test_who_has_room_or_is_overloaded_needs_no_warning(one):
    assert list(warn_of_full_machines([one], UNLIMITED)) == []
