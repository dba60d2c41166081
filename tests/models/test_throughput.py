"""Throughput: Caladrius' worked examples on whole plans (Kalim 2020, section 3), and laws."""

import json

import numpy as np
import pytest

from streamgauge.models.held_back import Holding, share_capacity
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.throughput import Risk, predict_throughput
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job

# The worked examples count in millions a minute; here they are tuples a second.

BACK_PRESSURE = {"topology.backpressure.enable": True}


def throughput(
    operators, streams, behaviours, rates, *, engine="storm-1", settings=None, workers=1, **asked
):
    """Of a job on as many nodes as workers; `operators` are numbers of executors."""
    sources = {name for name, _ in rates}
    job = parse_job(
        json.dumps(
            {
                "streamgauge": 1,
                "topology": {
                    "name": "t",
                    "operators": {
                        name: {"tasks": count, "kind": "source" if name in sources else "processor"}
                        for name, count in operators.items()
                    },
                    "streams": streams,
                },
                "behaviours": behaviours,
                "configuration": {
                    "engine": engine,
                    "executors": operators,
                    "workers": workers,
                    "settings": settings or {},
                },
                "cluster": {"uniform": {"nodes": workers, "cores": 64}},
                "workload": [{"source": source, "per_second": rate} for source, rate in rates],
            }
        )
    )
    behaviour = JobBehaviour.from_job(job)
    return predict_throughput(behaviour, place_job(job).plan, job.workload, **asked)


def serves(per_second, **outputs):
    """A behaviour by what one executor can do."""
    return {"service": {"wait_ms": 1000.0 / per_second}, "outputs": outputs}


def shuffled(one, other):
    return {"from": one, "to": other, "grouping": "shuffle"}


def test_q1_a_source_that_emits_three_of_five_leaves_two_behind():
    found = throughput(
        {"s": 1, "a": 1},
        [shuffled("s", "a")],
        {"s": serves(3.0), "a": serves(100.0)},
        [("s", 5.0)],
        engine="storm-2",
    )
    (backlog,) = found.backlogs
    assert (backlog.name, backlog.at_source) == ("s", True)
    assert backlog.per_second == pytest.approx(2.0, rel=2e-3)


@pytest.mark.parametrize(
    ("due", "out"), [(10.0, 76.378), (18.0, 137.481), (20.0, 140.159), (40.0, 140.159)]
)
def test_q7_a_splitter_of_two_puts_out_what_it_gets_up_to_its_plateau(due, out):
    found = throughput(
        {"s": 1, "splitter": 2, "counter": 4},
        [shuffled("s", "splitter"), shuffled("splitter", "counter")],
        {"s": serves(1e3), "splitter": serves(9.17533, default=7.6378), "counter": serves(1e4)},
        [("s", due)],
    )
    assert found.sinks["counter"] == pytest.approx(out, rel=2e-3)


@pytest.mark.parametrize(("due", "out"), [(8.0, 16.0), (16.0, 26.0)])
def test_q13_executors_with_fixed_shares_saturate_one_after_the_other(due, out):
    shares = {"from": "s", "to": "a", "grouping": {"custom": {"matrix": [[0.5, 0.3, 0.2]]}}}
    found = throughput(
        {"s": 1, "a": 3, "sink": 1},
        [shares, shuffled("a", "sink")],
        {"s": serves(1e3), "a": serves(5.0, default=2), "sink": serves(1e4)},
        [("s", due)],
    )
    assert found.sinks["sink"] == pytest.approx(out, rel=2e-3)


def test_q15_two_inputs_share_one_capacity():
    found = throughput(
        {"s1": 1, "s2": 1, "a": 1, "sink": 1},
        [shuffled("s1", "a"), shuffled("s2", "a"), shuffled("a", "sink")],
        {"s1": serves(1e3), "s2": serves(1e3), "a": serves(5.0, default=2), "sink": serves(1e4)},
        [("s1", 4.0), ("s2", 4.0)],
    )
    assert found.sinks["sink"] == pytest.approx(10.0, rel=2e-3)


@pytest.mark.parametrize(
    ("counter", "rate", "first"), [(60.0, 18.351, "splitter"), (30.0, 15.711, "counter")]
)
def test_q16_the_topology_saturates_where_the_first_operator_does(counter, rate, first):
    found = throughput(
        {"s": 1, "splitter": 2, "counter": 4},
        [shuffled("s", "splitter"), shuffled("splitter", "counter")],
        {"s": serves(1e3), "splitter": serves(9.17533, default=7.6378), "counter": serves(counter)},
        [("s", 10.0)],
    )
    assert found.saturation.per_second == pytest.approx(rate, rel=2e-3)
    assert found.bottlenecks[0].operator == first
    assert found.paths[0].operators == ("s", "splitter", "counter")
    assert found.risk is Risk.LOW


def test_risk_is_high_from_the_margin_on_and_may_be_asked_of_another_margin():
    def risk(rate, **asked):
        jobs = ({"s": 1, "a": 1}, [shuffled("s", "a")], {"s": serves(1e3), "a": serves(100.0)})
        return throughput(*jobs, [("s", rate)], **asked).risk

    assert [risk(rate) for rate in (94.0, 96.0, 200.0)] == [Risk.LOW, Risk.HIGH, Risk.HIGH]
    assert risk(94.0, margin=0.9) is Risk.HIGH


def test_a_backlog_drains_by_what_the_plan_could_do_beyond_what_is_due():
    found = throughput(
        {"s": 1, "a": 1},
        [shuffled("s", "a")],
        {"s": serves(1e3), "a": serves(100.0)},
        [("s", 150.0)],
        engine="storm-2",
    )
    assert found.drain_seconds(3000.0, 40.0) == pytest.approx(50.0, rel=2e-3)
    assert found.drain_seconds(3000.0, 100.0) == float("inf")


def test_a_plan_that_fits_processes_all_that_is_due():
    found = throughput(
        {"s": 1, "a": 1},
        [shuffled("s", "a")],
        {"s": serves(1e3), "a": serves(100.0)},
        [("s", 50.0)],
    )
    assert (found.processed_part, found.backlogs, found.is_held_back) == (1.0, (), False)


def two_branches(**options):
    """`slow` holds back what feeds it, and with it the branch beside it."""
    return throughput(
        {"s": 1, "slow": 1, "fast": 1},
        [shuffled("s", "slow"), shuffled("s", "fast")],
        {"s": serves(1e4), "slow": serves(100.0), "fast": serves(1e3)},
        [("s", 400.0)],
        **options,
    )


def test_back_pressure_slows_down_other_branches_too_and_growing_queues_do_not():
    held, growing = two_branches(engine="storm-2"), two_branches()
    assert (held.holding, growing.holding) == (Holding.BLOCKING, Holding.NOTHING)
    assert held.sinks == pytest.approx({"slow": 100.0, "fast": 100.0}, rel=2e-3)
    assert growing.sinks == pytest.approx({"slow": 100.0, "fast": 400.0}, rel=2e-3)
    assert growing.backlogs[0].name.startswith("slow")
    assert growing.backlogs[0].per_second == pytest.approx(300.0, rel=2e-3)


def two_sources(**options):
    """Two sources on the way to one consumer, and one beside them; s2 needs ten times as long."""
    return throughput(
        {"s1": 1, "s2": 1, "apart": 1, "c": 1, "d": 1},
        [shuffled("s1", "c"), shuffled("s2", "c"), shuffled("apart", "d")],
        {
            "s1": serves(20_000.0),
            "s2": serves(2_000.0),
            "apart": serves(20_000.0),
            "c": serves(600.0),
            "d": serves(1e4),
        },
        [("s1", 1000.0), ("s2", 700.0), ("apart", 800.0)],
        **options,
    )


def emitted(found):
    return [found.operators[name].processed_per_second for name in ("s1", "s2", "apart")]


def test_a_full_queue_lets_senders_of_its_worker_in_by_turns():
    assert emitted(two_sources(engine="storm-2")) == pytest.approx([300, 300, 800], rel=2e-3)


def test_water_marks_stop_all_sources_and_each_goes_on_as_fast_as_it_can():
    found = two_sources(settings=BACK_PRESSURE)
    assert found.holding is Holding.WATER_MARKS
    # s1 and s2 in the proportion of their speeds; what comes to `d` stops as well.
    assert emitted(found) == pytest.approx([545.5, 54.5, 545.5], rel=5e-3)


def test_capacity_is_divided_max_min_fairly():
    level = share_capacity(np.asarray([700.0, 200.0, 600.0]), np.ones(3), 1000.0, np.inf)
    assert level == pytest.approx(400.0)
