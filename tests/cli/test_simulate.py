import json

import pytest

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
    assert "Overloaded: queues outgrew all bounds" in outcome.err


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


def test_samples_and_a_page_are_written(run, job, tmp_path):
    job.write_text(JOB + BEHAVIOURS)
    folder, page = tmp_path / "samples", tmp_path / "page.html"
    arguments = ("--samples", folder, "--bucket", "2", "--html", page)
    outcome = run("simulate", job, "--seconds", "10", *arguments)
    assert outcome.code == 0
    assert {path.name for path in folder.iterdir()} >= {"samples-0001.jsonl.gz", "plans.jsonl"}
    assert "<svg" in page.read_text()


def test_a_rate_of_zero_gives_an_empty_result(run, job):
    text = JOB + BEHAVIOURS
    job.write_text(text.replace("per_second: 100", "per_second: 0"))
    outcome = run("simulate", job)
    assert outcome.code == 0
    assert "no tuple came to the end of its way" in outcome.out


def test_a_busy_job_is_simulated_for_less_than_a_minute(run, job):
    job.write_text(JOB + BEHAVIOURS)
    document = json.loads(run("simulate", job, "--rate", "20000", "--json").out)
    # As long as 50,000 tuples take, and at most a quarter more.
    assert 2.5 <= document["seconds"] <= 3.125
    assert document["operators"]["work"]["saturated"] or document["overloaded"]


def test_samples_are_of_one_run(run, job, tmp_path):
    job.write_text(JOB + BEHAVIOURS)
    outcome = run("simulate", job, "--samples", tmp_path / "s", "--replications", "2")
    assert outcome.code == 2
    assert "one run" in outcome.err


def test_a_page_that_cannot_be_written_costs_only_the_page(run, job, tmp_path):
    job.write_text(JOB + BEHAVIOURS)
    outcome = run("simulate", job, "--seconds", "5", "--html", tmp_path / "no" / "page.html")
    assert outcome.code == 2
    assert "source to sink" in outcome.out
    assert "page.html" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        (("--seed", "-1"), "seed: -1"),
        (("--replications", "0"), "replications: 0"),
        (("--replications", "-2"), "replications: -2"),
        (("--quantum", "0"), "quantum_seconds: 0"),
        (("--switch", "-1"), "switch_seconds"),
        (("--warmup", "-1"), "warmup: -1"),
        (("--rate", "nan"), "--rate: 'nan'"),
    ],
)
def test_numbers_that_cannot_be_are_refused(run, job, arguments, seen):
    job.write_text(JOB + BEHAVIOURS)
    outcome = run("simulate", job, "--seconds", "5", *arguments)
    assert outcome.code == 2
    assert seen in outcome.err


def test_the_verdict_is_said_in_words(run, job):
    job.write_text(JOB + BEHAVIOURS)
    fine = run("simulate", job, "--seconds", "20", "--rate", "30")
    assert "Fine: the busiest executor" in fine.out
    # Four executors of 10 ms serve 400 in a second.
    full = run("simulate", job, "--seconds", "20", "--rate", "600", "--json")
    verdict = json.loads(full.out)["verdict"]
    assert (verdict["grade"], verdict["word"]) == ("bad", "Saturated")
    assert "Saturated: work gets" in full.err
