"""The analytic model: from an emulated job's metrics to another plan, the simulator as truth."""

import math
import re
from dataclasses import replace

import pytest

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.contract import load_model, model_names
from streamgauge.models.delays import Part
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import load
from streamgauge.models.measured_plan import measured_plan, measured_workload
from streamgauge.models.parameters import find_parameters
from streamgauge.models.prediction import Verdict
from streamgauge.pipeline.estimation.assembly import profile_of
from streamgauge.pipeline.estimation.subjects import figures_of
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.figures import Figure, LinkFigures, TimeFigures
from streamgauge.profile.files.jobs import parse_job
from streamgauge.reports.prediction_verdict import judge_prediction
from streamgauge.simulation.topology_run import simulate
from tests.engines.emulator.emulations import emulated
from tests.pipeline.estimation.aggregation import partials

JOB = """
streamgauge: 1
topology:
  name: t
  acked: true
  operators:
    s: {{kind: source, tasks: 2}}
    a: {{tasks: 8}}
    w: {{tasks: 4, window: {{length_tuples: 6}}}}
    b: {{tasks: 4}}
  streams:
    - {{from: s, to: a, grouping: {{fields: [k]}}}}
    - {{from: a, to: w, stream: many, grouping: shuffle}}
    - {{from: a, to: b, stream: few, grouping: shuffle}}
    - {{from: w, to: b, grouping: shuffle}}
behaviours:
  s: {{service: {{cpu_ms: 0.1}}, keys: {{default: {{zipf: {{count: 30, exponent: 0.7}}}}}}}}
  a:
    service: {{cpu_ms: {{gamma: {{mean: 2, scv: 0.5}}}}}}
    outputs: {{many: {{poisson: 3}}, few: 0.5}}
  w:
    service: {{cpu_ms: 0.1}}
    window: {{service: {{cpu_ms: 1}}, outputs: {{default: 2}}}}
  b: {{service: {{wait_ms: {{exponential: 4}}}}}}
configuration:
  engine: {engine}
  executors: {{s: 1, a: 2, w: 4, b: 2}}
  workers: 2
  ackers: 1
cluster: {{uniform: {{nodes: 2, slots: 2, cores: 2, latency_ms: 0.3}}}}
workload: [{{source: s, per_second: 60}}]
steps:
  wide: {{executors: {{s: 2, a: 8, b: 4}}, workers: 4}}
  heavy: {{executors: {{a: 4, b: 4}}, workers: 3}}
"""


@pytest.fixture(scope="module", params=["storm-1", "storm-2"])
def measured(request, tmp_path_factory):
    """The job, its plan, and four minutes of its metrics."""
    text = JOB.format(engine=request.param)
    folder = tmp_path_factory.mktemp(request.param)
    seen = emulated(text, folder, seconds=240.0, bucket_seconds=6.0, trace_every=0)
    profile = profile_of(figures_of(partials(seen.samples), replicas=0), seen.plans[0])[0]
    return parse_job(text), seen.plan, profile


def truth_of(job, plan, rate=None):
    workload = job.workload
    if rate is not None:
        emission = replace(workload.emissions[0], per_second=rate)
        workload = replace(workload, emissions=(emission,))
    seconds = 20_000 / workload.emissions[0].per_second
    result = simulate(plan, job.behaviours, workload, seconds=seconds, warmup=30.0, seed=11)
    return result, workload


@pytest.mark.parametrize(("step", "rate"), [("wide", None), ("heavy", 120.0)])
def test_another_plan_is_as_slow_as_simulated(measured, step, rate):
    job, _, profile = measured
    plan = place_job(job.at_step(step)).plan
    truth, workload = truth_of(job, plan, rate)
    found = AnalyticModel().predict(JobBehaviour.from_profile(profile), plan, workload)
    assert found.verdict is Verdict.FITS
    assert found.latency.mean == pytest.approx(truth.latency.mean, rel=0.1)
    assert found.latency.quantiles[0.9] == pytest.approx(truth.latency.quantile(0.9), rel=0.15)
    for mine, theirs in (
        (found.complete, truth.complete),
        (found.seen_by_source, truth.seen_by_source),
    ):
        assert mine.mean == pytest.approx(theirs.mean, rel=0.15)
        # That there are three siblings on the mean does not tell how often there are six.
        assert mine.quantiles[0.9] == pytest.approx(theirs.quantile(0.9), rel=0.25)
    for name, figures in truth.operators.items():
        if name != "s":
            # 20,000 roots, and keys of which each is one of thirty. How much outputs vary in number
            # is not in a profile, and so neither how many of a window's tuples share a root.
            assert found.operators[name].arrived_per_second == pytest.approx(
                figures.executed_per_second, rel=0.06 if name == "__acker" else 0.03
            )
            assert found.operators[name].busiest == pytest.approx(
                figures.busiest, rel=0.15, abs=0.02
            )
    for mine, theirs in zip(found.machines, truth.machines, strict=True):
        # What a trigger takes of a core is known by regression only, beside threads that poll.
        assert mine.busy == pytest.approx(theirs.busy, rel=0.2)
        assert mine.polling == pytest.approx(theirs.polling, rel=0.35, abs=0.05)


def test_the_measured_plan_and_load_are_those_it_was_measured_on(measured):
    job, plan, profile = measured
    found = measured_plan(profile)
    assert [str(found.worker_of(one)) for one in found.logical.executors] == [
        str(plan.worker_of(one)) for one in plan.logical.executors
    ]
    emission = measured_workload(profile).emissions[0]
    assert emission.per_second == pytest.approx(job.workload.emissions[0].per_second, rel=0.02)


def test_with_measured_parameters_only_queues_and_windows_are_predicted(measured):
    job, plan, profile = measured
    truth, _ = truth_of(job, plan)
    found = AnalyticModel().as_measured(profile)
    assert found.latency.mean == pytest.approx(truth.latency.mean, rel=0.1)
    assert found.complete.mean == pytest.approx(truth.complete.mean, rel=0.15)
    # Rates are those of the emulated minutes, to the last digit that a profile keeps.
    for name in ("a", "b"):
        tasks = profile.tasks_of(name).values()
        seen = sum(one.per_second.value for task in tasks for one in task.inputs.values())
        assert found.operators[name].arrived_per_second == pytest.approx(seen)
    assert math.isnan(found.limit.factor)


def test_overload_is_an_answer_and_the_limit_is_where_it_begins(measured):
    job, plan, profile = measured
    found = AnalyticModel().predict(
        JobBehaviour.from_profile(profile), plan, truth_workload(job, 5000.0)
    )
    assert found.verdict is Verdict.OVERLOADED
    assert max(found.overloaded.values()) == pytest.approx(next(iter(found.overloaded.values())))
    assert math.isinf(found.latency.mean)
    limit = found.limit.per_second
    assert 0 < limit < 5000
    for factor, verdict in ((0.98, Verdict.FITS), (1.02, Verdict.OVERLOADED)):
        again = AnalyticModel().predict(
            JobBehaviour.from_profile(profile), plan, truth_workload(job, factor * limit)
        )
        assert again.verdict is verdict
        assert again.limit.per_second == pytest.approx(limit, rel=1e-3)
    assert found.limit.by in again.overloaded


def truth_workload(job, rate):
    emission = replace(job.workload.emissions[0], per_second=rate)
    return replace(job.workload, emissions=(emission,))


def test_more_load_stretches_service_on_shared_cores(measured):
    """Two cores of a node under up to five threads with work."""
    job, plan, profile = measured
    parameters = find_parameters(JobBehaviour.from_profile(profile), plan, job.workload)
    stretches = [load(parameters, factor).contention.stretch.max() for factor in (0.5, 1.0, 2.0)]
    assert stretches == sorted(stretches)
    assert stretches[0] >= 1.0
    assert stretches[-1] > stretches[0]


def test_a_plan_of_another_job_is_refused_by_name(measured):
    job, _, profile = measured
    text = re.sub(r"\ba\b", "z", JOB.format(engine="storm-2"))
    other = parse_job(text)
    with pytest.raises(InvalidInput, match="operators only in the plan: z"):
        AnalyticModel().predict(
            JobBehaviour.from_profile(profile), place_job(other).plan, job.workload
        )


def test_a_profile_without_a_placement_says_so(measured):
    _, _, profile = measured
    with pytest.raises(NotEnoughData, match="places 0 executors"):
        measured_plan(replace(profile, placement={}))
    odd = dict.fromkeys(profile.placement, "somewhere")
    with pytest.raises(InvalidInput, match="worker 'somewhere'; expected NODE:PORT"):
        measured_plan(replace(profile, placement=odd, workers={}))


def test_models_are_found_by_name():
    assert "analytic" in model_names()
    assert load_model("analytic").describe()
    with pytest.raises(InvalidInput, match="analytic"):
        load_model("analitic")


def test_where_nothing_fits_the_limit_is_nothing(measured):
    """A machine that others keep busy altogether, or nearly."""
    job, _, profile = measured
    for background, most in ((2.0, 0.0), (1.9999, 1.0)):
        machines = tuple(replace(one, background_cores=background) for one in job.cluster.machines)
        crowded = replace(job, cluster=replace(job.cluster, machines=machines))
        found = AnalyticModel().predict(
            JobBehaviour.from_profile(profile), place_job(crowded).plan, job.workload
        )
        assert found.verdict is Verdict.OVERLOADED
        assert found.limit.per_second <= most
        assert next(iter(found.overloaded)) in ("m1", "m2")
        assert str(judge_prediction(found)).startswith("Overloaded: m")
        if most == 0.0:
            assert str(judge_prediction(found)).endswith(
                "(no free core). No rate at all would fit."
            )


def test_links_count_by_the_percentile_that_is_asked_for(measured):
    job, _, profile = measured
    times = TimeFigures(mean_ms=Figure(value=0.3), quantiles_ms={0.5: 0.2, 0.9: 0.5})
    links = (LinkFigures(source="n1", target="n2", latency=times),)
    case = (
        JobBehaviour.from_profile(replace(profile, links=links)),
        place_job(job).plan,
        job.workload,
    )
    usual, worse = (AnalyticModel(link_percentile=one).predict(*case) for one in (0.5, 0.9))
    ratio = worse.latency.parts[Part.NETWORK] / usual.latency.parts[Part.NETWORK]
    assert ratio == pytest.approx(0.5 / 0.2)
    assert worse.complete.mean > usual.complete.mean
