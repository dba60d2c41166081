import json

from tests.cli.conftest import JOB

BEHAVIOURS = """
behaviours:
  work: {service: {wait_ms: {exponential: 10}}, outputs: {default: 1}}
  out: {service: {cpu_ms: 0.1}}
workload: [{source: in, per_second: 100}]
"""


def test_a_job_is_simulated_and_shown(run, job):
    job.write_text(JOB + BEHAVIOURS)
    shown = run("simulate", job, "--seconds", "20", "--warmup", "5")
    assert shown.code == 0
    assert "tiny: 20 s simulated after a warm-up of 5 s" in shown.out
    assert "source to sink" in shown.out
    assert "complete (acker)" in shown.out


def test_the_document_has_rates_and_percentiles(run, job):
    job.write_text(JOB + BEHAVIOURS)
    document = json.loads(run("simulate", job, "--seconds", "50", "--rate", "40", "--json").out)
    assert 36 < document["operators"]["work"]["executed_per_second"] < 44
    latency = document["latencies"]["source to sink"]
    assert latency["p50_ms"] < latency["mean_ms"] < latency["p99_ms"]


def test_overload_is_an_answer_with_an_exit_code_of_its_own(run, job):
    job.write_text(JOB + BEHAVIOURS)
    outcome = run("simulate", job, "--rate", "1e6", "--seconds", "30", "--json")
    assert outcome.code == 3
    assert json.loads(outcome.out)["overloaded"]
    assert "overloaded" in outcome.err


def test_a_job_without_a_workload_cannot_be_simulated(run, job):
    outcome = run("simulate", job)
    assert outcome.code == 2
    assert "no workload" in outcome.err


def test_several_runs_give_intervals(run, job):
    job.write_text(JOB + BEHAVIOURS)
    arguments = ("simulate", job, "--seconds", "10", "--replications", "3")
    document = json.loads(run(*arguments, "--json").out)
    rate = document["estimates"]["out"]["executed_per_second"]
    assert rate["runs"] == 3
    assert abs(rate["mean"] - 100.0) < 5 * rate["half_width_95"]
    assert "Means over 3 independent runs" in run(*arguments).out
