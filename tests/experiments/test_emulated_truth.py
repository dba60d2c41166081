"""The truth of an emulated step beside the simulation's own figures, which come another way."""

from dataclasses import replace
from datetime import timedelta

import pytest

from streamgauge.engines.emulator.session import EmulatorRunner, trace_every
from streamgauge.experiments.controller import run_experiment
from streamgauge.experiments.observing import observe
from streamgauge.profile.files.jobs import load_job
from streamgauge.simulation.topology_run import simulate
from tests.experiments.small import small_experiment

TEXT = """\
streamgauge: 1
experiment: known
job: {file: job.yaml}
steps: {only: {rate: 300}}
warm_up: {seconds: 1.5}
windows: 1
window_seconds: 10
repetitions: 1
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A step's truth, and the simulation of the same seed."""
    folder = tmp_path_factory.mktemp("known")
    experiment = small_experiment(folder, TEXT)
    journal = run_experiment(experiment, EmulatorRunner(), folder / "out", lambda reached: None)
    step = experiment.step("only")
    # The warm-up ends with a bucket: after two seconds.
    result = simulate(
        step.schedule(experiment.cluster).plan,
        step.job.behaviours,
        step.job.workload,
        seconds=10.0,
        warmup=2.0,
        seed=experiment.seed_of(experiment.turns()[0]),
    )
    return observe(journal, folder / "out").step("only"), result, journal


def value(step, *key):
    return step.figure(*key).value


def test_mean_latency_is_the_simulations(measured):
    step, result, _ = measured
    assert value(step, "latency", "all", "mean") == pytest.approx(result.latency.mean, rel=1e-6)


@pytest.mark.parametrize(("name", "probability"), [("p50", 0.5), ("p90", 0.9), ("p95", 0.95)])
def test_quantiles_are_the_simulations_within_a_class(measured, name, probability):
    step, result, _ = measured
    expected = result.latency.quantile(probability)
    assert value(step, "latency", "all", name) == pytest.approx(expected, rel=0.0905)


def test_quantiles_of_traced_paths_are_nearer(measured):
    step, result, _ = measured
    figures = {
        figure.quantity: figure
        for figure in step.figures
        if figure.kind == "path" and figure.subject.startswith("in → work → out")
    }
    in_all = sum(one.count for one in step.figures if one.kind == "path" and one.quantity == "p50")
    # Every root is traced, but for those that were open at the end.
    assert in_all == pytest.approx(result.latency.count, abs=10)
    assert figures["p50"].value == pytest.approx(result.latency.quantile(0.5), rel=0.25)


def test_throughput_is_the_simulations(measured):
    step, result, _ = measured
    for operator in ("work", "out"):
        assert value(step, "throughput", operator, "executed_per_second") == pytest.approx(
            result.operators[operator].executed_per_second
        )
    assert value(step, "throughput", "all", "emitted_per_second") == pytest.approx(
        result.operators["in"].emitted_per_second
    )


def test_complete_latency_is_the_simulations(measured):
    step, result, _ = measured
    assert value(step, "complete", "all", "mean") == pytest.approx(result.complete.mean, rel=1e-6)


def test_cpu_is_the_work_and_the_polling_of_the_simulation(measured):
    step, result, _ = measured
    busy = sum(one.busy + one.polling for one in result.machines)
    machines = [one for one in step.figures if one.subject.startswith("machine ")]
    assert sum(one.value for one in machines) == pytest.approx(busy, rel=1e-3)


def test_time_goes_on_from_step_to_step_and_from_session_to_session(tmp_path):
    text = TEXT.replace("only: {rate: 300}", "a: {}, b: {}").replace("10\n", "1\n")
    experiment = small_experiment(tmp_path, text)

    def leave(reached):
        if reached.is_end and reached.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment, EmulatorRunner(), tmp_path / "out", leave)
    journal = run_experiment(experiment, EmulatorRunner(), tmp_path / "out", lambda reached: None)
    first, second = journal.done
    assert second.began_at == first.measured_to + timedelta(seconds=60)


def test_more_is_traced_where_less_happens_and_windows_are_traced_thinly(project):
    job = load_job(project / "examples" / "word-count.yaml")
    # 91,667 sentences of 7.638 words for a second are 700 thousand paths.
    assert trace_every(job, 1.0) == 47
    slow = replace(job, workload=job.workload.times(1e-3))
    assert trace_every(slow, 1.0) == 1
    windowed = load_job(project / "examples" / "windowed.yaml")
    assert trace_every(windowed, 1.0) == 1000
