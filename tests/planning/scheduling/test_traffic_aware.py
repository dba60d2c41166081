"""The traffic-aware scheduler: cases on paper, laws, and what it says."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import Infeasible
from streamgauge.planning.scheduling import placement_model, traffic_aware
from streamgauge.planning.scheduling.contract import Expected, PlacementRequest
from streamgauge.planning.scheduling.even import EvenScheduler
from streamgauge.planning.scheduling.traffic import split_traffic
from streamgauge.planning.scheduling.traffic_aware import TrafficAwareScheduler
from streamgauge.topology import Cluster, Configuration, Machine, StreamKey
from tests.planning.scheduling.graphs import configured, topology
from tests.strategies import PLAIN_NAMES, topologies

SCHEDULER = TrafficAwareScheduler()
# Two pipelines side by side: s to a, and s to b, thousand to one.
FORK = topology("s-a", "s-b", s=1, a=1, b=2)
HEAVY = StreamKey("s", "default")


def two_streams(heavy: float = 1000.0, light: float = 1.0, **cores: float):
    """s → a carries much, s → b little, on streams of their own."""
    streams = (replace(FORK.streams[0], name="heavy"), replace(FORK.streams[1], name="light"))
    rates = {StreamKey("s", "heavy"): heavy, StreamKey("s", "light"): light}
    return replace(FORK, streams=streams), Expected(rates=rates, cores=cores)


def scheduled(made, expected, *, nodes=2, cores=4.0, scheduler=SCHEDULER, **given):
    names = {op.name: op.tasks for op in made.operators}
    configuration = Configuration(**{"executors": names, "workers": nodes, **given})
    cluster = Cluster.uniform(nodes=nodes, cores=cores)
    return scheduler.schedule(PlacementRequest(made, configuration, cluster, expected=expected))


def groups(schedule):
    """Operators that share a node, as sets."""
    found = schedule.plan.executors_by_worker.values()
    return sorted(sorted(one.operator for one in executors) for executors in found)


def test_who_talks_most_shares_a_node():
    schedule = scheduled(*two_streams())
    assert groups(schedule) == [["a", "s"], ["b", "b"]]
    assert schedule.least_remote == pytest.approx(1.0)


def test_without_rates_streams_weigh_the_same_and_nothing_is_proven():
    schedule = scheduled(two_streams()[0], None)
    assert schedule.least_remote is None
    assert schedule.warnings[0].startswith("no rates are known")


def test_a_machine_is_not_planned_above_its_utilisation():
    # 0.8 · 4 = 3.2 cores: s and a would need 3.4 together.
    made, expected = two_streams(s=0.4, a=3.0, b=2.0)
    schedule = scheduled(made, expected)
    assert groups(schedule) == [["a"], ["b", "b", "s"]]
    assert schedule.least_remote == pytest.approx(1000.0)
    assert groups(scheduled(made, replace(expected, cores={"s": 0.1, "a": 3.0, "b": 2.0}))) == [
        ["a", "s"],
        ["b", "b"],
    ]


def test_where_machines_must_be_fuller_they_are_as_little_as_can_be():
    # 3.6 and 1.8 + 1.8 of 4 cores: 90 % is the least.
    made, expected = two_streams(s=0.0, a=3.6, b=3.6)
    schedule = scheduled(made, expected)
    assert "keeps machines at 80%: planned up to 90%" in schedule.warnings[0]
    assert ["b", "b"] in [[one for one in group if one != "s"] for group in groups(schedule)]


def test_background_load_takes_cores_away():
    made, expected = two_streams(s=0.1, a=0.5, b=1.0)
    cluster = Cluster.uniform(nodes=2, cores=4.0)
    busy = Machine(name="m1", cores=4.0, background_cores=3.5)
    cluster = replace(cluster, machines=(busy, cluster.machines[1]))
    configuration = Configuration(executors={"b": 2}, workers=2)
    schedule = SCHEDULER.schedule(PlacementRequest(made, configuration, cluster, expected=expected))
    assert {worker.node for worker in schedule.plan.workers} == {"n2"}


def test_without_cores_no_node_has_more_than_its_even_part_and_the_slack():
    made = topology("s-b", s=10, b=10)
    expected = Expected(rates={HEAVY: 100.0})
    for slack, most in ((0.0, 10), (0.2, 12), (0.5, 15)):
        scheduler = TrafficAwareScheduler(slack=slack)
        schedule = scheduled(made, expected, scheduler=scheduler)
        loads = [len(one) for one in schedule.plan.executors_by_worker.values()]
        assert max(loads) == most


def test_no_more_workers_than_asked_for_and_one_a_node():
    made, expected = two_streams(s=1.0, a=1.0, b=2.0)
    schedule = scheduled(made, expected, nodes=4, cores=2.0, workers=3)
    nodes = [worker.node for worker in schedule.plan.workers]
    assert len(nodes) == len(set(nodes)) <= 3


def test_a_cluster_without_free_slots_is_refused():
    made, expected = two_streams()
    cluster = Cluster.uniform(nodes=1)
    with pytest.raises(Infeasible, match="no free slot"):
        SCHEDULER.schedule(
            PlacementRequest(made, Configuration(), cluster, expected=expected, taken=cluster.slots)
        )


def test_where_shuffle_prefers_the_near_no_executor_is_asked_for_more_than_a_core():
    # 2.64 cores hold two of s and three of b, which keep 6 of 8 pairs together. But then these
    # three get all the tuples, 1.07 cores each, and the fourth none.
    made = topology("s-b", s=2, b=4)
    expected = Expected(rates={HEAVY: 100.0}, cores={"s": 0.2, "b": 3.2})
    assert groups(scheduled(made, expected, cores=3.3, engine="storm-1")) == [
        ["b"],
        ["b", "b", "b", "s", "s"],
    ]
    schedule = scheduled(made, expected, cores=3.3, engine="storm-2")
    assert groups(schedule) == [["b", "b", "s"], ["b", "b", "s"]]
    assert schedule.warnings[0].startswith("a plan with less traffic between nodes was rejected")


def test_an_executor_that_nearness_overloads_in_every_plan_is_named():
    # Three of b need 0.9 cores each; two that share a node with the only s need 1.35.
    made = topology("s-b", s=1, b=3)
    expected = Expected(rates={HEAVY: 100.0}, cores={"s": 0.1, "b": 2.7})
    said = scheduled(made, expected, cores=2.5, engine="storm-2").warnings[0]
    assert "would need 1.4 cores and has one thread (0.9 if" in said
    off = {"topology.disable.loadaware.messaging": True}
    even = scheduled(made, expected, cores=2.5, engine="storm-2", settings=off)
    assert not any("thread" in one for one in even.warnings)


def test_executors_are_divided_into_workers_as_heaps_ask():
    made, expected = two_streams()
    configuration = configured(made, megabytes=512, heap=1024, workers=2)
    cluster = Cluster.uniform(nodes=1, slots=2)
    schedule = SCHEDULER.schedule(PlacementRequest(made, configuration, cluster, expected=expected))
    assert groups(schedule) == [["a", "s"], ["b", "b"]]
    assert split_traffic(schedule.plan, expected).inter_worker == pytest.approx(1.0)


def test_memory_of_machines_is_kept_whatever_cores_they_have():
    made, expected = two_streams(s=0.1, a=0.1, b=0.1)
    configuration = configured(made, megabytes=512, heap=4096, workers=2)
    gibibyte = Cluster.uniform(nodes=2, cores=64, memory_bytes=2**30)
    schedule = SCHEDULER.schedule(
        PlacementRequest(made, configuration, gibibyte, expected=expected)
    )
    assert groups(schedule) == [["a", "s"], ["b", "b"]]


def test_executors_without_memory_are_named():
    made, expected = two_streams()
    configuration = configured(made, megabytes=512, heap=1024, workers=1)
    cluster = Cluster.uniform(nodes=1, slots=1)
    with pytest.raises(Infeasible, match=r"not enough memory for 't': no room for .*\[\d\]"):
        SCHEDULER.schedule(PlacementRequest(made, configuration, cluster, expected=expected))


def test_heaps_that_do_not_suffice_get_more_workers_than_were_asked_for():
    made, expected = two_streams()
    configuration = configured(made, megabytes=512, heap=1024, workers=1)
    schedule = SCHEDULER.schedule(
        PlacementRequest(made, configuration, Cluster.uniform(nodes=4), expected=expected)
    )
    assert len(schedule.plan.workers) == 2
    assert "2 workers are used and 1 were asked for" in schedule.warnings[-1]


def test_without_the_solver_the_search_stands_alone_and_says_so(monkeypatch):
    monkeypatch.setattr(placement_model, "is_available", lambda: False)
    made = topology("s-a", "a-b", s=3, a=3, b=3)
    rates = {HEAVY: 90.0, StreamKey("a", "default"): 60.0}
    schedule = scheduled(made, Expected(rates=rates), nodes=3)
    assert "pip install 'streamgauge[planning]'" in schedule.warnings[0]
    assert schedule.least_remote <= split_traffic(schedule.plan, Expected(rates=rates)).remote


def test_the_same_problem_has_the_same_plan():
    made = topology("s-a", "a-b", s=5, a=7, b=9)
    expected = Expected(rates={HEAVY: 90.0, StreamKey("a", "default"): 60.0})
    assert scheduled(made, expected, nodes=4) == scheduled(made, expected, nodes=4)


@st.composite
def asked(draw):
    """Any topology on a few nodes, with rates, and cores now and then."""
    made = draw(topologies(names=PLAIN_NAMES, most=4))
    rates = {one.key: float(draw(st.integers(0, 100))) for one in made.streams}
    cores = {}
    if draw(st.booleans()):
        cores = {op.name: draw(st.integers(0, 20)) / 10.0 for op in made.operators}
    executors = {op.name: draw(st.integers(1, op.tasks)) for op in made.operators}
    engine = draw(st.sampled_from(("storm-1", "storm-2")))
    workers = draw(st.integers(1, 4))
    configuration = Configuration(engine=engine, executors=executors, workers=workers)
    return made, configuration, Expected(rates=rates, cores=cores)


CLUSTER = Cluster.uniform(nodes=3, slots=2, cores=4.0)


@given(asked())
@settings(max_examples=25)
def test_never_more_remote_traffic_than_even_placement_within_the_same_limits(made):
    job, configuration, expected = made
    scheduler = TrafficAwareScheduler.for_engine(configuration.engine)
    even = EvenScheduler.for_engine(configuration.engine).schedule(
        PlacementRequest(job, configuration, CLUSTER)
    )
    schedule = scheduler.schedule(PlacementRequest(job, configuration, CLUSTER, expected=expected))
    remote = split_traffic(schedule.plan, expected).remote
    assert schedule.least_remote <= remote + 1e-6
    if _busiest(even.plan, expected) <= scheduler.utilisation * 4.0:
        assert remote <= split_traffic(even.plan, expected).remote + 1e-6


@given(asked())
@settings(max_examples=25)
def test_machines_are_kept_at_their_utilisation_or_it_is_said(made):
    job, configuration, expected = made
    schedule = TrafficAwareScheduler.for_engine(configuration.engine).schedule(
        PlacementRequest(job, configuration, CLUSTER, expected=expected)
    )
    fuller = any("keeps machines at" in one for one in schedule.warnings)
    if expected.cores and not fuller:
        assert _busiest(schedule.plan, expected) <= 0.8 * 4.0 * (1.0 + 1e-5)


def _busiest(plan, expected) -> float:
    """Cores of the busiest machine by the even split."""
    traffic = traffic_aware.even_traffic(plan.logical, expected)
    cores = traffic_aware.cores_of(traffic, expected)
    nodes = [plan.workers[worker].node for worker in plan.placement]
    return max(
        float(np.sum([one for one, node in zip(cores, nodes, strict=True) if node == name]))
        for name in set(nodes)
    )
