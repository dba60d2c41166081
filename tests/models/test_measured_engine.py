"""Costs of an engine that were planted into the metrics of an emulated job, and found again."""

from dataclasses import replace

import pytest

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import CostEstimates, JobBehaviour, Origin, handling
from streamgauge.models.measured_engine import NOT_COUNTED, NOT_MEASURED
from streamgauge.models.measured_plan import measured_plan, measured_workload
from streamgauge.pipeline.estimation.assembly import profile_of
from streamgauge.pipeline.estimation.subjects import figures_of
from streamgauge.profile.figures import WorkerFigures
from streamgauge.transport.storm2 import COSTS
from tests.engines.emulator.emulations import emulated
from tests.models.planted_costs import HANDLED, JOB, PLANTED, WAKING, planted
from tests.pipeline.estimation.aggregation import partials


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bare")
    return emulated(JOB, folder, seconds=60.0, bucket_seconds=5.0, trace_every=0)


def profiled(bare, samples):
    return profile_of(figures_of(partials(list(samples)), replicas=0), bare.plans[0])[0]


@pytest.fixture(scope="module")
def profile(bare):
    return profiled(bare, planted(bare, noise=0.05, groups=True))


@pytest.fixture(scope="module")
def learned(profile):
    return JobBehaviour.from_profile(profile).costs


@pytest.mark.parametrize(
    ("name", "within"), [("network_cores", 0.1), ("worker_cores", 0.05), ("executed_seconds", 0.2)]
)
def test_costs_of_workers_are_found(learned, name, within):
    assert learned.value(name) == pytest.approx(PLANTED[name], rel=within)
    assert learned.values.origin is Origin.MEASURED


def test_costs_of_messages_are_found_together_and_each_within_two_errors(learned):
    both = learned.value("sent_seconds") + learned.value("received_seconds")
    assert both == pytest.approx(15e-6, rel=0.15)
    for name in ("network_cores", "sent_seconds", "received_seconds"):
        error = learned.values.standard_error[learned.names.index(name)]
        assert abs(learned.value(name) - PLANTED[name]) < 2.0 * error


@pytest.mark.parametrize("operator", HANDLED)
def test_what_handling_costs_is_found_by_operator(learned, operator):
    true = {handling(operator): HANDLED[operator], "waking": WAKING / 0.020}
    for name, value in true.items():
        error = learned.values.standard_error[learned.names.index(name)]
        assert abs(learned.value(name) - value) < 2.0 * error


def test_what_waits_cost_is_known_where_somebody_looked_at_them(learned):
    error = learned.values.standard_error[learned.names.index("waking")]
    assert learned.value("waking") == pytest.approx(WAKING / 0.020, rel=0.1)
    assert error < 0.1


def test_a_source_whose_own_time_is_not_known_costs_what_its_thread_used(bare, profile):
    """As the agent sees sources that know nothing of it."""
    tasks = {
        task: replace(
            one,
            outputs={name: replace(out, wall=None, cpu=None) for name, out in one.outputs.items()},
        )
        for task, one in profile.tasks.items()
    }
    costs = JobBehaviour.from_profile(replace(profile, tasks=tasks)).costs
    assert costs.value(handling("s")) == pytest.approx(20e-6 + HANDLED["s"], rel=0.1)


def test_workers_are_predicted_as_they_were_measured(profile):
    found = AnalyticModel().predict(
        JobBehaviour.from_profile(profile), measured_plan(profile), measured_workload(profile)
    )
    for one in found.workers:
        seen = profile.workers[one.name].cores.value
        assert one.cores == pytest.approx(seen, rel=0.03)
        # The errors of single costs are larger by far; here they cancel.
        assert one.engine_error < 0.1 * one.engine


def test_a_load_that_changes_tells_fixed_costs_from_those_that_grow(tmp_path):
    """Of workers of which only the sum of all threads is known."""
    halves = JOB.replace(
        "per_second: 4000}", "per_second: 2000, shape: {burst: {on_seconds: 60, off_seconds: 60}}}"
    )
    bare = emulated(halves, tmp_path, seconds=480.0, bucket_seconds=6.0, trace_every=0)
    samples = partials(list(planted(bare, noise=0.05, groups=False)))
    profile = profile_of(figures_of(samples, replicas=100), bare.plans[0])[0]
    costs = JobBehaviour.from_profile(profile).costs
    fixed = costs.value("network_cores") + costs.value("worker_cores")
    assert fixed == pytest.approx(0.11, rel=0.1)
    for name in ("sent_seconds", "received_seconds"):
        assert costs.value(name) == pytest.approx(PLANTED[name], rel=0.1)


def test_without_groups_of_threads_the_sum_is_found(bare):
    profile = profiled(bare, planted(bare, noise=0.05, groups=False))
    found = AnalyticModel().predict(
        JobBehaviour.from_profile(profile), measured_plan(profile), measured_workload(profile)
    )
    for one in found.workers:
        assert one.cores == pytest.approx(profile.workers[one.name].cores.value, rel=0.05)


def test_an_emulated_engine_costs_nothing(bare):
    costs = JobBehaviour.from_profile(profiled(bare, bare.samples)).costs
    assert [costs.value(name) for name in PLANTED] == pytest.approx([0.0] * 5, abs=1e-9)
    assert costs.value("waking") < 0.05


def test_where_workers_were_not_measured_the_engines_record_counts(profile):
    unmeasured = replace(
        profile,
        executors={},
        workers={name: WorkerFigures(threads=one.threads) for name, one in profile.workers.items()},
    )
    behaviour = JobBehaviour.from_profile(unmeasured)
    assert behaviour.costs.value("worker_cores") == COSTS.worker_cores.mean
    assert behaviour.costs.values.origin is Origin.ASSUMED
    assert NOT_MEASURED in behaviour.notes


def test_a_profile_without_workers_says_that_the_engine_is_left_out(profile):
    behaviour = JobBehaviour.from_profile(replace(profile, workers={}))
    assert behaviour.costs.names == CostEstimates().names
    assert NOT_COUNTED in behaviour.notes
