"""Congestion metrics that can be exchanged: capacity, queue length, ETP."""

from dataclasses import replace

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.planning.sharing.congestion import Congestion, find_etp, find_pressures
from streamgauge.planning.sharing.henge import Henge, HengeParameters
from streamgauge.planning.sharing.observation import JobSeen, OperatorSeen
from streamgauge.planning.sharing.policy import load_policy
from streamgauge.planning.sharing.slo import Quality, Slo
from tests.planning.sharing.clusters import cluster


def operator(executed, **figures):
    return OperatorSeen(executors=2, tasks=100, executed=executed, **figures)


# `work` and `store` are sent twice what they execute; sinks are `store` (100/s) and `show` (300/s).
TREE = JobSeen(
    slo=Slo(juice=1.0),
    operators={
        "s": OperatorSeen(executors=1, tasks=1, is_source=True, sent_per_second=800.0),
        "work": operator({"s": 400.0}, arrived_per_second=800.0, capacity=1.0, queue=50.0),
        "store": operator({"work": 100.0}, arrived_per_second=200.0, capacity=0.45, queue=20.0),
        "show": operator({"work": 300.0}, arrived_per_second=300.0, capacity=0.1, queue=1.0),
    },
    offered_per_second=800.0,
    quality=Quality(juice=0.5),
)


def test_h08_etp_is_the_part_of_sinks_that_no_other_congested_operator_holds_up():
    # `work` reaches `show` alone, as `store` is congested itself.
    assert find_etp(TREE) == pytest.approx({"s": 0.0, "work": 0.75, "store": 0.25, "show": 0.75})


def test_a_sink_that_is_reached_on_two_ways_counts_once():
    shortcut = replace(TREE.operators["show"], executed={"work": 200.0, "s": 100.0})
    tree = replace(TREE, operators={**TREE.operators, "show": shortcut})
    assert find_etp(tree)["s"] == pytest.approx(0.75)
    assert max(find_etp(tree).values()) <= 1.0


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (Congestion.CAPACITY, {"work": 1.0 / 0.3, "store": 1.5, "show": 1.0 / 3.0}),
        (Congestion.QUEUE, {"work": 2.5, "store": 1.0, "show": 0.05}),
        (Congestion.ETP, {"work": 1.75, "store": 1.25, "show": 0.0}),
    ],
)
def test_h08_every_metric_gives_a_pressure_of_all_but_sources(by, expected):
    assert find_pressures(TREE, by) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("by", "grown"),
    [
        # 2 + ⌈(pressure − 1) × 10⌉, of a full operator 24 more at the most.
        ("capacity", {"work": 26, "store": 7}),
        ("queue", {"work": 17}),
        ("etp", {"work": 10, "store": 5}),
    ],
)
def test_h08_henge_takes_any_of_them(by, grown):
    henge = Henge(HengeParameters(congestion=Congestion(by)))
    assert henge.decide(cluster(0, a=TREE)).executors == {"a": grown}


def test_the_metric_is_a_setting_of_the_policy():
    assert load_policy("henge:congestion=etp").parameters.congestion is Congestion.ETP
    with pytest.raises(InvalidInput, match="one of capacity, queue, etp"):
        load_policy("henge:congestion=luck")


def test_senders_that_are_held_back_count_as_sent():
    held = replace(TREE.operators["show"], held_back=0.5)
    tree = replace(TREE, operators={**TREE.operators, "show": held})
    assert find_pressures(tree, Congestion.ETP)["show"] > 1.0
