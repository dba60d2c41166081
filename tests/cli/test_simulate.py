import json
import re

import pytest

from streamgauge.cli import progress
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
    assert "Fine: the busiest executor" in shown.out
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
    document = json.loads(outcome.out)
    assert document["overloaded"]
    assert "queues grew without bound" in document["verdict"]["reason"]


def test_a_job_without_a_workload_cannot_be_simulated(run, job):
    outcome = run("simulate", job)
    assert outcome.code == 2
    assert "no workload" in outcome.err


def test_several_runs_give_intervals(run, job, monkeypatch):
    # On one core runs follow each other in this process; starting others takes seconds.
    monkeypatch.setattr("os.cpu_count", lambda: 1)
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
    assert "Nothing arrived: no tuple reached a sink" in outcome.out


def test_a_busy_job_is_simulated_for_less_than_a_minute(run, job):
    job.write_text(JOB + BEHAVIOURS)
    document = json.loads(run("simulate", job, "--rate", "20000", "--json").out)
    # As long as 50,000 tuples take, and at most a quarter more.
    assert 2.5 <= document["seconds"] <= 3.125
    work = document["operators"]["work"]
    # Four executors of 10 ms serve 400 in a second.
    assert work["saturated"]
    assert work["executed_per_second"] == pytest.approx(400, rel=0.1)


def test_samples_are_of_one_run(run, job, tmp_path):
    job.write_text(JOB + BEHAVIOURS)
    outcome = run("simulate", job, "--samples", tmp_path / "s", "--replications", "2")
    assert outcome.code == 2
    assert "one run" in outcome.err


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_simulated(run, job, tmp_path):
    job.write_text(JOB + BEHAVIOURS)
    outcome = run("simulate", job, "--seconds", "1e9", "--html", tmp_path / "no" / "page.html")
    assert (outcome.code, outcome.out) == (2, "")
    assert "page.html" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        (("--seed", "-1"), "seed: -1"),
        (("--replications", "0"), "replications: 0"),
        (("--replications", "-2"), "replications: -2"),
        (("--warmup", "-1"), "warmup: -1"),
        (("--rate", "nan"), "--rate: 'nan'"),
    ],
)
def test_numbers_that_cannot_be_are_refused(run, job, arguments, seen):
    job.write_text(JOB + BEHAVIOURS)
    outcome = run("simulate", job, "--seconds", "5", *arguments)
    assert outcome.code == 2
    assert seen in outcome.err


def test_more_than_executors_can_serve_is_an_overload(run, job):
    job.write_text(JOB + BEHAVIOURS)
    # Four executors of 10 ms serve 400 in a second.
    full = run("simulate", job, "--seconds", "20", "--rate", "600", "--json")
    assert full.code == 3
    verdict = json.loads(full.out)["verdict"]
    assert (verdict["grade"], verdict["word"]) == ("bad", "Overloaded")
    assert "work receives" in verdict["reason"]


def test_blocked_sources_are_an_overload_and_no_longer_run_is_advised(run, project):
    # One splitter takes about 180,000 sentences in a second.
    file = project / "examples" / "word-count.yaml"
    outcome = run("simulate", file, "--rate", "300000", "--seconds", "0.5")
    assert outcome.code == 3
    assert "Overloaded: sources emit" in outcome.out
    assert "of the 300,000 tuples/s asked for" in outcome.out
    assert "Sources: asked and delivered" in outcome.out
    assert "longer time" not in outcome.out + outcome.err


def test_a_warm_up_that_is_simulated_in_addition_is_said(run, job):
    job.write_text(JOB + BEHAVIOURS)
    shown = run("simulate", job, "--seconds", "5")
    assert "tiny: 6.25 s simulated: 5 s, and 1.25 s in addition for a warm-up" in shown.out


def test_a_run_that_would_take_days_is_refused_with_a_time_that_would_not(run, job):
    job.write_text(JOB + BEHAVIOURS)
    outcome = run("simulate", job, "--seconds", "1e12")
    assert outcome.code == 2
    assert re.search(r"about [\d,]+ days of computing", outcome.err)
    assert "expected at most a day, about" in outcome.err


def test_off_a_terminal_a_long_run_says_once_how_long_it_will_take(run, job, monkeypatch):
    job.write_text(JOB + BEHAVIOURS)
    monkeypatch.setattr(progress, "SECONDS_UNTIL_LINE", 0.0)
    outcome = run("simulate", job, "--seconds", "50", "--rate", "200")
    assert len(re.findall(r"of 62.5 s simulated after \d+ s; about \d+ s left", outcome.err)) == 1


def test_a_page_over_the_job_itself_is_refused(run, job):
    job.write_text(JOB + BEHAVIOURS)
    outcome = run("simulate", job, "--html", job)
    assert outcome.code == 2
    assert job.read_text() == JOB + BEHAVIOURS
