"""Latency by path: sums of mean delays along single ways, and summaries over a source's paths."""

import math
from dataclasses import replace

import numpy as np
import pytest

from streamgauge.errors import CyclicTopology
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.latency_by_path import _weighted_quantile, predict_paths
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import load_job


def paths_of(job):
    return predict_paths(JobBehaviour.from_job(job), place_job(job).plan, job.workload)


@pytest.fixture
def word_count(project):
    return load_job(project / "examples" / "word-count.yaml")


def test_the_mean_over_the_paths_of_a_chain_is_the_predicted_latency(word_count):
    (row,) = paths_of(word_count).by_source.values()
    behaviour, plan = JobBehaviour.from_job(word_count), place_job(word_count).plan
    predicted = AnalyticModel(brief=True).predict(behaviour, plan, word_count.workload)
    assert row.mean == pytest.approx(predicted.by_source["spout"].mean)


def test_of_24_paths_the_slowest_crosses_nodes_twice(word_count):
    """8 spouts, 1 splitter and 3 counters; a path to an acker is longer still."""
    latencies = paths_of(word_count)
    row = latencies.by_source["spout"]
    assert row.paths == 24
    assert row.mean < row.p90 <= row.longest < row.complete
    (logical,) = latencies.logical
    assert logical.operators == ("spout", "splitter", "counter")
    assert (logical.paths, logical.mean) == (24, pytest.approx(row.mean))
    assert logical.longest == pytest.approx(row.longest)


def test_without_acks_nothing_is_complete(word_count):
    unacked = replace(word_count, topology=replace(word_count.topology, acked=False))
    assert paths_of(unacked).by_source["spout"].complete is None


def test_paths_through_an_overloaded_executor_take_infinitely_long(word_count):
    busy = replace(word_count, workload=word_count.workload.at_rate(1e6))
    row = paths_of(busy).by_source["spout"]
    assert (row.mean, row.p90, row.longest) == (math.inf, math.inf, math.inf)


def test_too_many_paths_have_no_percentile(word_count, monkeypatch):
    monkeypatch.setattr("streamgauge.models.latency_by_path.MOST_PATHS", 23)
    assert paths_of(word_count).by_source["spout"].p90 is None


def test_a_cycle_has_infinitely_many_paths(project):
    with pytest.raises(CyclicTopology):
        paths_of(load_job(project / "examples" / "feedback.yaml"))


@pytest.mark.parametrize(
    ("probability", "value"), [(0.5, 2.0), (0.51, 3.0), (0.9, 4.0), (0.1, 1.0)]
)
def test_a_quantile_over_paths_weighs_them_by_their_tuples(probability, value):
    """Up to 1, 2, 3 and 4 lie 10, 50, 80 and 100 % of the weight."""
    values, weights = np.asarray([4.0, 1.0, 3.0, 2.0]), np.asarray([2.0, 1.0, 3.0, 4.0])
    assert _weighted_quantile(values, weights, probability) == value
