import json
import re

import pytest

from streamgauge.cli.demo import NEXT
from streamgauge.cli.examples import example_path
from streamgauge.errors import NotEnoughData

COMMANDS = [
    line.partition("#")[0].split()[1:]
    for line in NEXT.splitlines()
    if line.strip().startswith("streamgauge ")
]


def test_the_demo_shows_a_plan_and_writes_its_pictures(run, tmp_path):
    outcome = run("demo", "--no-spark", "--output", tmp_path / "demo")
    assert outcome.code == 0
    assert "word-count" in outcome.out
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert names == {"topology.svg", "plan.svg", "first-answer.html", "samples"}
    assert "Java 17" in outcome.out.splitlines()[-1]


def test_the_first_answer_does_not_wait_for_the_compiler(run, tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise NotEnoughData("the simulator was asked for")

    monkeypatch.setattr("streamgauge.api.demonstration.load_simulator", refuse)
    outcome = run("demo", "--no-spark", "--output", tmp_path)
    assert outcome.code == 5
    assert "2. First answer" in outcome.out
    assert "p99 latency" in outcome.out


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_to_do_next_are_commands_that_exist(run, command):
    outcome = run(*command, "--help")
    assert outcome.code == 0
    assert "Usage" in outcome.out


def test_what_to_do_next_leads_from_metrics_to_a_plan():
    verbs = [command[0] for command in COMMANDS]
    assert verbs == ["storm", "collect", "ingest", "calibrate", "predict", "plan", "plan"]


def test_the_demo_may_run_twice(run, tmp_path):
    assert [run("demo", "--no-spark", "--output", tmp_path).code for _ in range(2)] == [0, 0]


def test_a_folder_that_cannot_be_made_is_said_so(run, tmp_path):
    (tmp_path / "file").write_text("")
    outcome = run("demo", "--no-spark", "--output", tmp_path / "file" / "demo")
    assert outcome.code == 2
    assert "Traceback" not in outcome.err


def test_the_demo_job_is_bundled():
    assert example_path("word-count.yaml").is_file()


def test_the_demo_is_a_document_too(run, tmp_path):
    document = json.loads(run("demo", "--no-spark", "--output", tmp_path, "--json").out)
    assert document["paths"] == 24
    assert document["simulated"]["latencies"]["source to sink"]["tuples"] > 1000


@pytest.mark.slow
def test_the_demo_tells_six_steps_and_ends_with_what_to_do_next(run, spark, tmp_path):
    del spark
    outcome = run("demo", "--output", tmp_path)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert len(lines) <= 60
    steps = [line.split(":")[0] for line in lines if line[:1].isdigit()]
    assert steps == [
        "1. The job",
        "2. First answer",
        "3. Metrics",
        "4. Profile",
        "5. Prediction",
        "6. Plan",
    ]
    named = re.compile(r"   → ([\w.-]+/?(, [\w.-]+/?)*)")
    written = [name for line in lines if (m := named.fullmatch(line)) for name in m[1].split(", ")]
    assert all((tmp_path / name).exists() for name in written)
    assert len(written) == 8
    assert outcome.out.endswith(NEXT + "\n")


@pytest.mark.slow
def test_the_demo_makes_a_profile_of_what_it_measured(run, spark, tmp_path):
    outcome = run("demo", "--output", tmp_path, "--json")
    assert outcome.code == 0
    document = json.loads(outcome.out)
    assert document["profile"]["topology"]["name"] == "word-count"
    assert (tmp_path / "profile.json").is_file()
    assert (tmp_path / "prediction.html").is_file()
    mean, truth = document["prediction"]["latency"]["mean"], document["truth"]["latency"]["mean"]
    assert mean == pytest.approx(truth, rel=0.1)
    assert (tmp_path / "growth.svg").is_file()
    # 300,000 sentences a second are 1.6 times what a splitter takes.
    assert document["scaling"]["planners"]["combined"]["allocation"] == {"splitter": 1}
    assert (tmp_path / "lake" / "samples").is_dir()
    # The shared session is left running.
    assert spark.range(3).count() == 3
