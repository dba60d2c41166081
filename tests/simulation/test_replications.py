import math
from functools import partial

import pytest
from scipy import stats

from streamgauge.errors import InvalidInput
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.replications import estimate, estimate_of, replicate
from streamgauge.simulation.topology_run import simulate

JOB = """
streamgauge: 1
topology:
  name: t
  operators: {s: {kind: source}, a: {}}
  streams: [{from: s, to: a, grouping: shuffle}]
behaviours: {a: {service: {wait_ms: {exponential: 5}}}}
workload: [{source: s, per_second: 100}]
"""


def runs(replications, **other):
    job = parse_job(JOB)
    run = partial(
        simulate, place_job(job).plan, job.behaviours, job.workload, seconds=50.0, warmup=2.0
    )
    return replicate(run, seed=7, replications=replications, **other)


def test_the_interval_is_student_s():
    values = [3.0, 5.0, 4.0, 8.0]
    found = estimate(values)
    low, high = stats.t.interval(0.95, 3, loc=5.0, scale=stats.sem(values))
    assert found.mean == 5.0
    assert (found.mean - found.half_width, found.mean + found.half_width) == pytest.approx(
        (low, high)
    )


def test_one_run_has_no_interval():
    assert math.isnan(estimate([2.0]).half_width)


def test_runs_are_independent_and_the_same_on_any_number_of_threads():
    alone, together = runs(3, threads=1), runs(3, threads=2)
    means = [one.operators["a"].latency.mean for one in alone]
    assert means == [one.operators["a"].latency.mean for one in together]
    assert len(set(means)) == 3


def test_the_interval_holds_the_throughput():
    found = estimate_of(runs(5, threads=1), lambda one: one.operators["a"].executed_per_second)
    assert abs(found.mean - 100.0) < 3 * found.half_width
    assert found.runs == 5


def test_a_figure_that_no_run_has_is_missing():
    found = estimate_of(runs(2, threads=1), lambda one: one.complete.mean)
    assert found.runs == 0
    assert math.isnan(found.mean)


def test_no_runs_are_refused():
    with pytest.raises(InvalidInput, match="replications"):
        runs(0)
