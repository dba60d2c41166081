"""Tuples between executors: on paper, and as the models of whole plans have them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.parameters import find_parameters
from streamgauge.planning.scheduling.contract import Expected, PlacementRequest
from streamgauge.planning.scheduling.even import EvenScheduler
from streamgauge.planning.scheduling.job_placement import expected_of_job, place_job
from streamgauge.planning.scheduling.traffic import (
    TrafficSplit,
    even_traffic,
    split_of,
    split_traffic,
)
from streamgauge.profile.files.jobs import load_job
from streamgauge.topology import (
    All,
    Cluster,
    Configuration,
    Custom,
    Fields,
    Global,
    LocalOrShuffle,
    LogicalPlan,
    Shuffle,
    Slot,
    StreamKey,
)
from streamgauge.topology.physical_plan import ConnectionType, PhysicalPlan
from tests.planning.scheduling.graphs import topology
from tests.strategies import PLAIN_NAMES, topologies

HUNDRED = Expected(rates={StreamKey("s", "default"): 100.0})
TWO_NODES = Cluster.uniform(nodes=2, slots=2)
FIRST, SECOND, THIRD, FOURTH = TWO_NODES.slots


def placed(made, workers, *, engine="storm-1", **given):
    """A plan by hand: slots and the labels of their executors; one executor a task."""
    executors = {op.name: op.tasks for op in made.operators}
    configuration = Configuration(engine=engine, executors=executors, **given)
    logical = LogicalPlan.of(made, configuration)
    return PhysicalPlan.explicit(logical, TWO_NODES, workers)


def one_near_one_far(grouping, engine="storm-1"):
    """A source and a target on one node, another target on the other."""
    made = topology("s-b", s=1, b=2, grouping=grouping)
    return placed(made, {FIRST: ["s[1]", "b[2]"], THIRD: ["b[3]"]}, engine=engine)


@pytest.mark.parametrize(
    ("grouping", "remote"),
    [
        (Shuffle(), 50.0),
        (LocalOrShuffle(), 50.0),
        (Fields(keys=("k",)), 50.0),
        (All(), 100.0),
        (Global(), 0.0),
        (Custom(matrix=((0.3, 0.7),)), 70.0),
    ],
)
def test_the_grouping_says_how_much_goes_to_the_other_node(grouping, remote):
    assert split_traffic(one_near_one_far(grouping), HUNDRED).remote == pytest.approx(remote)


@pytest.mark.parametrize(
    ("grouping", "engine", "remote"),
    [
        (LocalOrShuffle(), "storm-1", 0.0),
        (Shuffle(), "storm-1", 50.0),
        (Shuffle(), "storm-2", 0.0),
        (Fields(keys=("k",)), "storm-2", 50.0),
    ],
)
def test_by_the_nearest_split_tuples_stay_where_the_engine_keeps_them(grouping, engine, remote):
    plan = one_near_one_far(grouping, engine)
    assert split_traffic(plan, HUNDRED, nearest=True).remote == pytest.approx(remote)


def test_known_keys_divide_a_stream_as_they_fall():
    plan = one_near_one_far(Fields(keys=("k",)))
    keys = Expected(rates=HUNDRED.rates, task_shares={("s", "default", "b"): (0.9, 0.1)})
    assert split_traffic(plan, keys).remote == pytest.approx(10.0)


def test_what_an_executor_emits_follows_from_what_it_gets():
    made = topology("s-b", "b-c", s=1, b=2, c=1)
    plan = placed(made, {FIRST: ["s[1]", "b[2]"], SECOND: ["c[4]"], THIRD: ["b[3]"]})
    shares = {("s", "default", "b"): (0.8, 0.2)}
    rates = {StreamKey("s", "default"): 100.0, StreamKey("b", "default"): 50.0}
    split = split_traffic(plan, Expected(rates=rates, task_shares=shares))
    # 80 stay with b[2] and 20 go over; of 50 back to c, 40 come from b[2] and 10 from b[3].
    assert split == TrafficSplit(
        local=pytest.approx(80.0), inter_worker=pytest.approx(40.0), remote=pytest.approx(30.0)
    )


@pytest.mark.parametrize("bolts", [1, 2, 4])
def test_of_all_messages_more_than_half_are_acknowledgements(bolts):
    # One root that visits b bolts: b tuples and b + 2 messages (Pagliari 2021, section 2.4).
    names = ["s", *(f"b{number}" for number in range(bolts))]
    edges = [f"{a}-{b}" for a, b in pairwise(names)]
    made = topology(*edges, acked=True, **dict.fromkeys(names, 1))
    logical = LogicalPlan.of(made, Configuration())
    expected = Expected(rates={StreamKey(name, "default"): 1.0 for name in names})
    total = sum(one.received.sum() for one in even_traffic(logical, expected).streams)
    data = sum(one.received.sum() for one in even_traffic(logical, expected, acks=False).streams)
    assert data == pytest.approx(bolts)
    assert (total - data) / total == pytest.approx((bolts + 2) / (2 * bolts + 2))


def test_acks_stay_as_often_as_ackers_are_in_the_worker():
    made = topology("s-b", s=1, b=1, acked=True)
    near = {FIRST: ["s[1]", "b[2]", "__acker[3]"], SECOND: ["__acker[4]"], THIRD: ["__acker[5]"]}
    plan = placed(made, near, ackers=3)
    acks = [one for one in even_traffic(plan.logical, HUNDRED).streams if one.stream.is_system]
    # An init, an ack and an answer for each of 100 roots: a third each way.
    assert split_of(plan, acks) == TrafficSplit(
        local=pytest.approx(100.0), inter_worker=pytest.approx(100.0), remote=pytest.approx(100.0)
    )


@pytest.mark.parametrize(
    "name", ["all-in-one", "join-split", "henge-star", "scale-out-tree", "word-count"]
)
def test_traffic_is_what_the_models_of_a_whole_plan_have(name):
    job = load_job(f"examples/{name}.yaml")
    expected = expected_of_job(job)
    plan = place_job(job, "even").plan
    parameters = find_parameters(JobBehaviour.from_job(job), plan, job.workload)
    remote = sum(
        float(
            (parameters.rates.emitted[block.stream.key][:, np.newaxis] * block.shares)[
                block.types == 2
            ].sum()
        )
        for block in parameters.flow.blocks
    )
    assert split_traffic(plan, expected, nearest=True).remote == pytest.approx(remote, rel=1e-6)


@st.composite
def plans(draw):
    """Any topology on a few workers, with a rate for every stream."""
    made = draw(topologies(names=PLAIN_NAMES))
    engine = draw(st.sampled_from(("storm-1", "storm-2")))
    configuration = Configuration(engine=engine, workers=draw(st.integers(1, 4)))
    plan = (
        EvenScheduler.for_engine(engine)
        .schedule(PlacementRequest(made, configuration, TWO_NODES))
        .plan
    )
    rates = {one.key: float(draw(st.integers(0, 100))) for one in made.streams}
    return plan, Expected(rates=rates)


@given(plans())
@settings(max_examples=40)
def test_every_tuple_goes_one_of_three_ways(made):
    plan, expected = made
    streams = even_traffic(plan.logical, expected).streams
    by_hand = {"local": 0.0, "inter-local": 0.0, "remote": 0.0}
    executors = plan.logical.executors
    for one in streams:
        for (row, column), rate in np.ndenumerate(one.per_second):
            source, target = executors[one.sources[row]], executors[one.targets[column]]
            way = ConnectionType.between(plan.worker_of(source), plan.worker_of(target))
            by_hand[way] += rate
    split = split_traffic(plan, expected)
    assert [split.local, split.inter_worker, split.remote] == pytest.approx(
        list(by_hand.values()), abs=1e-6
    )


def test_slots_of_a_node_are_not_remote():
    made = topology("s-b", s=1, b=1)
    plan = placed(made, {Slot("n1", 6700): ["s[1]"], Slot("n1", 6701): ["b[2]"]})
    assert split_traffic(plan, HUNDRED) == TrafficSplit(inter_worker=100.0)
