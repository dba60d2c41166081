"""``streamgauge plan place``: options, files it writes, exit codes and refusals."""

import xml.etree.ElementTree as ET

import pytest

from streamgauge.planning.scheduling.contract import scheduler_names
from streamgauge.profile.files.jobs import load_job

BEHAVIOURS = """
behaviours:
  work: {service: {cpu_ms: 2}, outputs: {default: 1}}
  out: {service: {cpu_ms: 1}}
workload: [{source: in, per_second: 100}]
"""


@pytest.fixture
def described(job):
    """The job with behaviours and a load."""
    job.write_text(job.read_text() + BEHAVIOURS)
    return job


def test_every_scheduler_is_asked_and_the_verdict_comes_first(run, described):
    shown = run("plan", "place", described)
    assert shown.code == 0
    for name in scheduler_names():
        assert name in shown.out
    assert " is the best of 6 plans by p99. Fits. " in shown.out.splitlines()[0]
    assert "To apply it" in shown.out


def test_the_written_job_has_the_chosen_plan_and_the_command_applies_it(run, described, tmp_path):
    path = tmp_path / "plan.yaml"
    shown = run("plan", "place", described, "--scheduler", "traffic-aware", "-o", path)
    assert len(load_job(path).explicit_plan().workers) == 1
    assert shown.out.endswith(f"To apply it\n  streamgauge storm apply {path}\n")
    assert f"wrote {path}" in shown.err


def test_pictures_show_the_plan_before_and_after(run, described, tmp_path):
    svg, page = tmp_path / "plan.svg", tmp_path / "plan.html"
    run("plan", "place", described, "--by", "remote", "--svg", svg, "--html", page)
    texts = [node.text for node in ET.parse(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert "before: even" in texts
    assert any(text.startswith("after: ") for text in texts if text)
    assert "streamgauge plan place" in page.read_text()


def test_overload_leaves_with_3_and_names_the_executor(run, described):
    shown = run("plan", "place", described, "--rate", 1e5)
    assert shown.code == 3
    assert shown.out.startswith("Overloaded under the best of 6 plans")


def test_no_plan_at_all_leaves_with_3(run, job):
    job.write_text(job.read_text().replace("nodes: 2, slots: 2", "nodes: 1, slots: 2"))
    shown = run("plan", "place", job, "--scheduler", "isolation")
    assert shown.code == 3
    assert "2 slots are free" in shown.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("nodes: 2", "nodes: 0"), "nodes"),
        (("work: 4", "work: 9"), "9 executors for 4 tasks"),
    ],
)
def test_an_empty_cluster_and_too_few_tasks_are_invalid_input(run, job, change, said):
    job.write_text(job.read_text().replace(*change))
    shown = run("plan", "place", job)
    assert shown.code == 2
    assert said in shown.err


def test_an_unknown_scheduler_or_criterion_names_the_known_ones(run, job):
    shown = run("plan", "place", job, "--scheduler", "evn")
    assert shown.code == 2
    assert "did you mean 'even'?" in shown.err
    shown = run("plan", "place", job, "--by", "p98")
    assert shown.code == 2
    assert "remote" in shown.err


@pytest.mark.parametrize("rate", ["1e308", "1.1e15", "nan", "-1"])
def test_a_rate_that_nothing_could_emit_is_invalid_input(run, described, rate):
    shown = run("plan", "place", described, "--rate", rate)
    assert shown.code == 2
    assert f"--rate: {rate!r}; expected tuples per second above zero and at most" in shown.err


def test_an_unreadable_file_is_named(run, tmp_path):
    shown = run("plan", "place", tmp_path / "none.yaml")
    assert shown.code == 2
    assert "none.yaml" in shown.err


def test_a_rate_that_nothing_could_emit_is_refused_by_its_line(run, project, tmp_path):
    text = (project / "examples" / "word-count.yaml").read_text()
    file = tmp_path / "fast.yaml"
    file.write_text(text.replace("per_second: 91667", "per_second: 1e308"))
    outcome = run("plan", "place", file)
    assert outcome.code == 2
    assert "workload[0].per_second" in outcome.err
    assert "at most 1e+15" in outcome.err


@pytest.mark.parametrize("option", ["-o", "--svg", "--html"])
def test_the_job_itself_is_never_overwritten(run, job, option):
    before = job.read_text()
    outcome = run("plan", "place", job, option, job)
    assert outcome.code == 2
    assert "a file that this command also reads or writes" in outcome.err
    assert job.read_text() == before


@pytest.mark.parametrize("option", ["-o", "--svg", "--html"])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(run, job, tmp_path, option):
    outcome = run("plan", "place", job, option, tmp_path / "none" / "plan.yaml")
    assert outcome.code == 2
    assert "expected a file that can be written" in outcome.err
    assert outcome.out == ""
