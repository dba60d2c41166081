import json

import pytest

from streamgauge.cli.examples import example_path


def test_the_demo_shows_a_plan_and_writes_its_pictures(run, tmp_path):
    outcome = run("demo", "--no-spark", "--output", tmp_path / "demo")
    assert outcome.code == 0
    assert "word-count" in outcome.out
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert names == {"topology.svg", "plan.svg", "samples"}


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
