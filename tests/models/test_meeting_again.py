"""Tuples of one root that meet again: against exact queues, Lindley and the simulator."""

import json
from dataclasses import replace

import numpy as np
import pytest

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.arrival_variability import Bursts
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.meeting_again import (
    Apart,
    Clusters,
    Queues,
    answer_time,
    cluster_size,
    leave,
    left_over,
    meet,
)
from streamgauge.models.queueing import BulkQueue, Moments, wait
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.topology_run import simulate

ONE = np.ones(1)


def queue_of(load, *, scv=1.0, third=0.0):
    """M/G/1 of services of a second."""
    alone = load * (1.0 + scv) / 2.0 / (1.0 - load)
    return Queues(
        wait=alone * ONE,
        service=Moments(mean=ONE, variance=scv * ONE),
        per_second=load * ONE,
        release=0.0,
        released=0.0 * ONE,
        third=third * ONE,
    )


def wait_of(load, siblings, apart, *, scv=1.0):
    """Mean wait where each tuple has so many siblings so far apart."""
    queue = queue_of(load, scv=scv, third=(siblings - 1.0) / siblings)
    met, _ = meet(np.full((1, 1), siblings), [apart], queue)
    return float(queue.wait[0] + met[0] / (2.0 * queue.spare[0]))


def lindley(gaps_after_root, load, *, scv=1.0, roots=400_000, seed=5):
    """Mean wait in a queue of services of a second, by Lindley's recursion.

    `gaps_after_root` gives the times at which a root's tuples come after it, roots × tuples.
    """
    random = np.random.default_rng(seed)
    begun = np.cumsum(random.exponential(1.0, roots))
    offsets = gaps_after_root(random, roots)
    came = np.sort((begun[:, np.newaxis] * offsets.shape[1] / load + offsets).ravel())
    shape = 1.0 / scv
    served = random.gamma(shape, scv, len(came))
    steps = np.concatenate([[0.0], np.cumsum(served[:-1] - np.diff(came))])
    return float((steps - np.minimum.accumulate(steps))[len(came) // 20 :].mean())


def clusters_of(met, siblings, per_root):
    none = Clusters.none(1)
    return replace(none, met=met * ONE, siblings=siblings * ONE, per_root=per_root * ONE)


def test_siblings_that_come_at_once_are_a_batch():
    alone = Bursts(per_second=0.4 * ONE, mean=ONE, variance=0.0 * ONE)
    met, _ = meet(np.full((1, 1), 2.0), [Apart(0.0, 0.0)], queue_of(0.4))
    joined = clusters_of(met, 2.0, 3.0).join(alone)
    assert joined.mean == pytest.approx([3.0])
    assert joined.variance == pytest.approx([0.0])
    assert joined.per_second == pytest.approx([0.4 / 3.0])
    # M^X/M/1: 0.4/0.6 for the batches before, and 1/0.6 for two siblings, half of them before.
    assert wait_of(0.4, 2.0, Apart(0.0, 0.0)) == pytest.approx(1.0 / 0.6 + 0.4 / 0.6)
    queue = BulkQueue(batches_per_second=0.4 / 3.0, batch_mean=3.0, service_seconds=1.0)
    assert float(wait(queue).mean) == pytest.approx(1.0 / 0.6 + 0.4 / 0.6)


def test_siblings_far_apart_do_not_meet():
    assert wait_of(0.4, 2.0, Apart(1e4, 0.0)) == pytest.approx(0.4 / 0.6, rel=1e-6)


def test_batches_of_which_a_part_are_clusters_have_as_many_siblings_as_are_met():
    bursts = Bursts(per_second=ONE, mean=2.0 * ONE, variance=0.5 * ONE)
    joined = clusters_of(1.5, 4.0, 5.0).join(bursts)
    assert joined.dispersion == pytest.approx(bursts.dispersion + 1.5)
    assert joined.per_second * joined.mean == pytest.approx([2.0])


@pytest.mark.parametrize("scv", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_what_is_left_of_a_busy_period_has_the_moments_of_takacs(load, scv):
    """E[B²] = m₂/(1 − ρ)³ and E[B³] = m₃/(1 − ρ)⁴ + 3λm₂²/(1 − ρ)⁵ for a busy period B."""
    second, third, spare = 1.0 + scv, (1.0 + scv) * (1.0 + 2.0 * scv), 1.0 - load
    mean, varied = left_over(queue_of(load, scv=scv), queue_of(load, scv=scv).wait)
    assert mean == pytest.approx([second / spare**2 / 2.0])
    cube = third / spare**4 + 3.0 * load * second**2 / spare**5
    assert (varied + 1.0) * mean**2 == pytest.approx([cube * spare / 3.0])


@pytest.mark.parametrize("scv", [0.25, 1.0])
@pytest.mark.parametrize("load", [0.2, 0.5, 0.7])
@pytest.mark.parametrize("later", [0.5, 2.0, 8.0])
def test_a_sibling_that_comes_later_lengthens_waits_as_lindley_says(later, load, scv):
    seen = lindley(lambda random, roots: np.tile([0.0, later], (roots, 1)), load, scv=scv)
    assert wait_of(load, 1.0, Apart(later, 0.0), scv=scv) == pytest.approx(seen, rel=0.06)


@pytest.mark.parametrize("load", [0.2, 0.5, 0.7])
@pytest.mark.parametrize(
    ("tuples", "strewn", "within"),
    [(4, 1.0, 0.12), (4, 10.0, 0.12), (20, 1.0, 0.12), (20, 10.0, 0.12), (20, 40.0, 0.28)],
)
def test_many_siblings_that_come_at_random_times_wait_for_each_other(tuples, strewn, within, load):
    """Exponential times after their root: the difference of two has twice their variance.

    Where they keep a queue busy for a while only, most come while others do: more than is foreseen.
    """
    seen = lindley(
        lambda random, roots: random.exponential(strewn, (roots, tuples)),
        load,
        roots=1_600_000 // tuples,
    )
    found = wait_of(load, tuples - 1.0, Apart(0.0, 2.0 * strewn**2))
    assert found == pytest.approx(seen, rel=within)


def test_how_far_two_exponential_times_are_apart_is_exponential():
    distance = Apart(0.0, 2.0).distance
    assert distance.mean == pytest.approx(1.0)
    assert distance.variance == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("siblings", "per_root", "size"),
    [(3.0, 4.0, 4.0), (2.0, 2.0, 2.0 / (1.0 - np.exp(-2.0))), (1.5, 2.0, 2.0 / (1.0 - 0.5**4))],
)
def test_a_cluster_is_as_large_as_its_siblings_and_its_mean_say(siblings, per_root, size):
    """Four always; Poisson; each of four with a probability of a half."""
    assert cluster_size(siblings * ONE, per_root * ONE) == pytest.approx([size], rel=1e-6)


def test_a_queue_answers_one_tuple_more_as_late_as_a_tuple_that_gives_way_to_all():
    """M/M/1 at a half: 1/(1 − ρ)² and 16 + 16 (Takacs)."""
    found = answer_time(queue_of(0.5), Moments(mean=ONE, variance=3.0 * ONE), 0.0 * ONE)
    assert found.mean == pytest.approx([4.0])
    assert found.variance == pytest.approx([32.0])


def test_siblings_of_an_idle_executor_leave_it_a_service_apart():
    idle = queue_of(1e-9, scv=0.0)
    none = Moments(mean=0.0 * ONE, variance=0.0 * ONE)
    left = leave(Apart(0.0, 0.0), ONE, idle, none, ONE, alike=True)
    assert left.apart.mean == pytest.approx(1.0, abs=1e-3)
    assert left.apart.variance == pytest.approx(0.0, abs=1e-3)


def test_siblings_far_apart_leave_an_idle_executor_as_they_came():
    idle = queue_of(1e-9, scv=0.0)
    none = Moments(mean=0.0 * ONE, variance=0.0 * ONE)
    left = leave(Apart(-50.0, 4.0), ONE, idle, none, ONE, alike=False)
    assert left.apart.mean == pytest.approx(-50.0, rel=1e-3)
    assert left.apart.variance == pytest.approx(4.0, rel=1e-2)


def job_of(operators, streams, *, rate, engine="storm-2", executors=None, workers=1):
    """A job whose operators wait so many milliseconds and emit so many tuples for one."""
    executors = {"source": 1, **dict.fromkeys(operators, 1), **(executors or {})}
    document = {
        "streamgauge": 1,
        "topology": {
            "name": "again",
            "acked": True,
            "operators": {
                name: {"tasks": count, "kind": "processor" if name in operators else "source"}
                for name, count in executors.items()
            },
            "streams": [{"from": a, "to": b, "grouping": "shuffle"} for a, b in streams],
        },
        "behaviours": {
            "source": {"service": {"cpu_ms": 0.005}},
            **{
                name: {
                    "service": {"wait_ms": {"gamma": {"mean": mean, "scv": scv}}},
                    **({"outputs": {"default": out}} if out else {}),
                }
                for name, (mean, scv, out) in operators.items()
            },
        },
        "configuration": {"engine": engine, "executors": executors, "workers": workers},
        "cluster": {"uniform": {"nodes": workers, "cores": 64}},
        "workload": [{"source": "source", "per_second": rate}],
    }
    return parse_job(json.dumps(document))


def compare(job, *, seconds):
    """Predicted over simulated: mean latency, its 99th percentile, and mean complete latency."""
    plan = place_job(job).plan
    found = AnalyticModel().predict(JobBehaviour.from_job(job), plan, job.workload)
    seen = simulate(
        plan, job.behaviours, job.workload, seconds=seconds, warmup=seconds / 10.0, seed=3
    )
    return (
        found.latency.mean / seen.latency.mean,
        found.latency.quantiles[0.99] / seen.latency.quantile(0.99),
        found.complete.mean / seen.complete.mean,
    )


@pytest.mark.parametrize("engine", ["storm-1", "storm-2"])
def test_children_of_children_meet_again_in_one_executor(engine):
    operators = {"a": (2.0, 0.5, 2), "b": (2.0, 0.5, 2), "sink": (1.0, 0.5, 0)}
    streams = [("source", "a"), ("a", "b"), ("b", "sink")]
    ratios = compare(job_of(operators, streams, rate=100.0, engine=engine), seconds=1500.0)
    assert ratios == pytest.approx((1.0, 1.0, 1.0), abs=0.08)


def test_what_went_two_ways_meets_again():
    operators = {"a": (2.0, 0.5, 4), "b": (3.0, 0.5, 4), "sink": (1.0, 0.5, 0)}
    streams = [("source", "a"), ("source", "b"), ("a", "sink"), ("b", "sink")]
    ratios = compare(job_of(operators, streams, rate=60.0), seconds=1500.0)
    # Who waits long on the way comes late among its siblings, and waits long again: not foreseen.
    assert ratios == pytest.approx((1.0, 1.0, 1.0), abs=0.12)
    assert ratios[0] == pytest.approx(1.0, abs=0.04)


@pytest.mark.parametrize("engine", ["storm-1", "storm-2"])
def test_siblings_dealt_over_several_executors_meet_behind_them(engine):
    """In turn on Storm 1.x, at random on Storm 2.x: half or fewer meet than were sent."""
    operators = {"a": (1.0, 0.5, 8), "b": (6.0, 0.5, 1), "sink": (1.0, 0.5, 0)}
    streams = [("source", "a"), ("a", "b"), ("b", "sink")]
    job = job_of(operators, streams, rate=80.0, engine=engine, executors={"b": 8, "sink": 2})
    ratios = compare(job, seconds=800.0)
    assert ratios == pytest.approx((1.0, 1.0, 1.0), abs=0.1)


def test_a_row_without_fan_out_has_no_siblings():
    operators = {"a": (2.0, 0.5, 1), "sink": (1.0, 0.5, 0)}
    job = job_of(operators, [("source", "a"), ("a", "sink")], rate=200.0)
    assert compare(job, seconds=300.0)[0] == pytest.approx(1.0, abs=0.05)
