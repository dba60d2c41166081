"""Draws of parameters: balanced signs, exact variances of linear figures, Student's reach."""

import numpy as np
import pytest
from scipy import stats

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.parameter_noise import (
    COUNT,
    MOST_GROUPS,
    Draws,
    balance_signs,
    is_parameter,
)
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.changed_figures import change_figures
from streamgauge.profile.files.jobs import load_job, load_profile
from streamgauge.profile.resampled import find_influences
from tests.resampled_profiles import BLOCKS, resample, with_replicas

PROFILE = with_replicas(load_profile("examples/word-count.profile.json"))
JOB = load_job("examples/word-count.yaml")


def draw(error=0.02):
    influences = find_influences(resample(PROFILE, error=error), PROFILE)
    assert influences is not None
    return Draws.of(PROFILE, influences)


def test_any_two_groups_have_all_pairs_of_signs_equally_often():
    signs = balance_signs()
    assert signs.shape == (COUNT, MOST_GROUPS)
    assert np.array_equal(signs.T @ signs, COUNT * np.eye(MOST_GROUPS))
    assert not signs.sum(axis=0).any()


def test_draws_of_a_figure_scatter_by_its_standard_error():
    draws = draw(error=0.02)
    path = next(iter(draws.changes[0]))
    drawn = np.asarray([changes[path] for changes in draws.changes])
    # The influences' squares sum to 0.02², and n/(n − 1) of that is the variance.
    assert drawn.std() / drawn.mean() == pytest.approx(0.02 * np.sqrt(BLOCKS / (BLOCKS - 1)))


def test_all_service_times_of_a_draw_move_together():
    draws = draw()
    for changes in draws.changes:
        moved = [changes[path] / draws.changes[0][path] for path in changes]
        assert moved == pytest.approx([moved[0]] * len(moved))


def test_the_reach_is_students_and_grows_with_likeness_of_neighbours():
    draws = draw()
    first = draws.signs[:, 0].copy()
    # One group alone: no likeness but the 1/n that estimates miss.
    likeness = 1.0 / BLOCKS
    widened = np.sqrt((1.0 + likeness) / (1.0 - likeness))
    reach = draws.half_width(0.1 * first, 0.9)
    assert reach == pytest.approx(0.1 * widened * stats.t.ppf(0.95, BLOCKS - 1))
    alike = draws.half_width(0.1 * (first + draws.signs[:, 1]) / np.sqrt(2.0), 0.9)
    assert alike > 1.4 * reach


def test_what_does_not_vary_has_no_reach():
    assert draw().half_width(np.ones(COUNT), 0.9) == 0.0


@pytest.mark.parametrize("load", [0.5, 0.9])
def test_a_latency_scatters_by_draws_as_by_a_hundred_replicas(load):
    resampled, draws = resample(PROFILE, error=0.02), draw(error=0.02)
    plan, model = place_job(JOB).plan, AnalyticModel(brief=True)
    behaviour = JobBehaviour.from_profile(PROFILE)
    limit = AnalyticModel().predict(behaviour, plan, JOB.workload).limit.per_second
    workload = JOB.workload.at_rate(load * limit)
    replicas = [
        JobBehaviour.from_profile(change_figures(PROFILE, resampled.replica(index)))
        for index in range(resampled.count)
    ]

    def spread(behaviours):
        # Over that of the service time, as a hundred replicas have one by chance, too.
        found = [model.predict(one, plan, workload) for one in behaviours]
        latencies = np.log([one.operators["splitter"].delay_seconds for one in found])
        return np.std(latencies) / np.std(
            np.log([one.operators["splitter"].busiest for one in found])
        )

    assert spread(draws.behaviours) == pytest.approx(spread(replicas), rel=0.2)


@pytest.mark.parametrize(
    ("path", "used"),
    [
        ("tasks/send/0/inputs/complete/root/cpu/mean_ms", True),
        ("tasks/spout/0/outputs/complete/per_second", True),
        ("tasks/spout/0/outputs/default/complete/mean_ms", False),
        ("tasks/sink/0/end_to_end/spout/mean_ms", False),
        ("executors/send[1]/cores", True),
        ("executors/send[1]/receive/length", False),
        ("workers/n1:6700/transfer_cores", True),
        ("machines/m1/cores", True),
        ("nodes/n1/cores", False),
        ("juice/topology", False),
    ],
)
def test_results_and_queues_are_not_drawn_whatever_operators_are_called(path, used):
    assert is_parameter(path) is used
