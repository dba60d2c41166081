import json
import re
import sys

import pytest

from streamgauge.cli.demo import NEXT, RECORDED
from streamgauge.cli.examples import examples_folder
from streamgauge.errors import NotEnoughData

COMMANDS = [
    line.partition("#")[0].split()[1:]
    for line in NEXT.splitlines()
    if line.strip().startswith("streamgauge ")
]


def test_the_first_answer_stands_beside_what_was_measured(run, tmp_path):
    outcome = run("demo", "--no-spark", "--output", tmp_path / "demo")
    assert outcome.code == 0
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert names == {
        *("topology.svg", "plan.svg", "first-answer.html", "outlook.html"),
        *("recommendation.svg", "recommendation.html"),
    }
    assert re.search(
        r"Saturates at 6\d\d tuples/s \(\d+ to \d+\); store\[14-15\] is full", outcome.out
    )
    assert "made-up traffic" in outcome.out
    assert "recorded on a real Storm cluster" in outcome.out
    assert re.search(r"latency, p95 .* ms .* ms +[-+]\d", outcome.out)
    assert "Java 17" in outcome.out.splitlines()[-1]


def test_the_demo_ends_with_a_recommendation_drawn_before_and_after_with_its_price(run, tmp_path):
    outcome = run("demo", "--no-spark", "--output", tmp_path)
    last = " ".join(outcome.out.partition("Recommendation: ")[2].split())
    assert re.search(r"Price: [\d.]+ → [\d.]+ USD an hour", last)
    picture = (tmp_path / "recommendation.svg").read_text()
    assert "as it is" in picture
    assert "as recommended" in picture


def test_the_demo_needs_neither_simulator_nor_storm(run, tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise NotEnoughData("the simulator was asked for")

    monkeypatch.setattr("streamgauge.api.simulator.load_simulator", refuse)
    assert run("demo", "--no-spark", "--output", tmp_path).code == 0


def test_without_the_package_for_prices_the_demo_says_so_and_goes_on(run, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("ortools")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ortools", None)
    outcome = run("demo", "--no-spark", "--output", tmp_path)
    assert outcome.code == 0
    last = " ".join(outcome.out.partition("Recommendation: ")[2].split())
    assert "streamgauge[planning]" in last
    assert "as recommended" in (tmp_path / "recommendation.svg").read_text()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_to_do_next_are_commands_that_exist(run, command):
    outcome = run(*command, "--help")
    assert outcome.code == 0
    assert "Usage" in outcome.out


def test_what_to_do_next_leads_from_metrics_to_a_plan():
    verbs = [command[0] for command in COMMANDS]
    chain = ["storm", "collect", "ingest", "calibrate", "predict", "plan", "plan", "recommend"]
    assert verbs == chain


def test_the_demo_may_run_twice(run, tmp_path):
    assert [run("demo", "--no-spark", "--output", tmp_path).code for _ in range(2)] == [0, 0]


def test_a_folder_that_cannot_be_made_is_said_so(run, tmp_path):
    (tmp_path / "file").write_text("")
    outcome = run("demo", "--no-spark", "--output", tmp_path / "file" / "demo")
    assert outcome.code == 2
    assert "Traceback" not in outcome.err


def test_predictions_of_the_recorded_run_are_near_what_was_measured(run, tmp_path):
    document = json.loads(run("demo", "--no-spark", "--output", tmp_path, "--json").out)
    (measured,) = (
        figure["value"]
        for figure in document["truth"]
        if (figure["kind"], figure["quantity"]) == ("latency", "mean")
        and figure["subject"].startswith("from ")
    )
    assert document["prediction"]["latency"]["mean"] == pytest.approx(measured, rel=0.12)


def test_the_bundled_run_is_small():
    files = [path for path in (examples_folder() / RECORDED).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 2_000_000


@pytest.mark.slow
def test_the_demo_tells_seven_steps_and_ends_with_what_to_do_next(run, spark, tmp_path):
    outcome = run("demo", "--output", tmp_path)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert len(lines) <= 60
    steps = [line.split(":")[0] for line in lines if line[:1].isdigit()]
    titles = ["The job", "First answer", "Profile", "Prediction", "Plan"]
    titles += ["Outlook", "Recommendation"]
    assert steps == [f"{number}. {title}" for number, title in enumerate(titles, start=1)]
    # The bundled profile is the one that the same metrics give.
    first, second = re.findall(r"Fits. Up to [\d,]+ tuples/s", outcome.out)
    assert first == second
    named = re.compile(r"   → ([\w.-]+/?(, [\w.-]+/?)*)")
    written = [name for line in lines if (m := named.fullmatch(line)) for name in m[1].split(", ")]
    assert all((tmp_path / name).exists() for name in written)
    assert len(written) == 10
    assert outcome.out.endswith(NEXT + "\n")
    # The shared session is left running.
    assert spark.range(3).count() == 3
