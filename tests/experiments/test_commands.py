"""``streamgauge experiment`` as people call it."""

import json
import sys

import pytest

from streamgauge.cli import main
from streamgauge.engines import runner as runners
from streamgauge.errors import SourceUnreachable
from streamgauge.experiments.journal import read_journal
from tests.experiments.judged import keep_profiles, run_small
from tests.experiments.small import FakeRunner, write_experiment

TWO_STEPS = """\
streamgauge: 1
experiment: two
job: {file: job.yaml}
steps: {slow: {rate: 50}, fast: {rate: 200}}
warm_up: {seconds: 1}
windows: 2
window_seconds: 1
repetitions: 2
"""


class GoesAway(FakeRunner):
    """An engine that is gone after three repetitions."""

    def run_step(self, order, progress):
        if len(self.orders) == 3:
            raise SourceUnreachable("nimbus does not answer")
        return super().run_step(order, progress)


class Interrupted(FakeRunner):
    """An engine during whose second repetition somebody presses Ctrl-C."""

    def run_step(self, order, progress):
        if len(self.orders) == 1:
            raise KeyboardInterrupt
        return super().run_step(order, progress)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Calls the command line in this process; exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["streamgauge", "experiment", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def install(monkeypatch):
    """Puts a class in the place of every runner."""

    def installed(runner):
        monkeypatch.setattr(runners, "load_runner", lambda name: runner())

    return installed


def test_an_experiment_on_the_emulator_ends_in_a_report(run, tmp_path):
    path = write_experiment(tmp_path, TWO_STEPS)
    code, out, err = run("run", path, "--engine", "emulator")
    assert code == 0
    assert out.startswith("two on emulator: 2 steps, 4 of 4 repetitions, 8 windows of 1 s")
    assert out.splitlines()[1].startswith("Measured: mean latency since emission is ")
    assert "4 of 4:" in err
    kept = json.loads((tmp_path / "two-emulator" / "truth.json").read_text())
    assert set(kept["steps"]) == {"slow", "fast"}
    code, out, _ = run("report", "two-emulator", "--json", "--html", "page.html")
    found = json.loads(out)["truth"]["steps"]["fast"]["figures"]
    rates = [
        one["value"] for one in found if one["kind"] == "throughput" and one["subject"] == "in"
    ]
    assert code == 0 and rates == [pytest.approx(200, rel=0.2)]
    assert "two on emulator" in (tmp_path / "page.html").read_text()


def test_an_engine_that_goes_away_is_exit_4_and_what_was_measured_is_kept(run, install, tmp_path):
    install(GoesAway)
    code, _, err = run("run", write_experiment(tmp_path), "--engine", "fake", "--output", "out")
    assert code == 4
    assert "nimbus does not answer" in err
    assert "3 of 6 repetitions are kept in out; run the same command to continue" in err
    assert len(read_journal(tmp_path / "out").done) == 3


def test_an_interrupt_is_exit_130_and_leaves_what_can_be_gone_on_with(run, install, tmp_path):
    install(Interrupted)
    path = write_experiment(tmp_path)
    code, _, err = run("run", path, "--engine", "fake", "--output", "out")
    assert code == 130
    assert "1 of 6 repetitions are kept in out" in err
    install(FakeRunner)
    assert run("run", path, "--engine", "fake", "--output", "out")[0] == 0
    assert read_journal(tmp_path / "out").left == []


def test_an_engine_that_is_not_there_is_exit_2_with_those_that_are(run, tmp_path):
    code, _, err = run("run", write_experiment(tmp_path), "--engine", "emulater")
    assert code == 2
    assert "did you mean 'emulator'?" in err


def test_a_wrong_file_is_exit_2_with_line_and_key(run, tmp_path):
    path = write_experiment(tmp_path, TWO_STEPS.replace("windows: 2", "windows: two"))
    code, _, err = run("run", path, "--engine", "emulator")
    assert code == 2
    assert "experiment.yaml:6: windows: 'two'; expected a whole number" in err


def test_a_folder_without_an_experiment_is_exit_2(run, tmp_path):
    code, _, err = run("report", tmp_path / "none")
    assert code == 2 and "no such folder" in err


def test_an_experiment_without_a_repetition_has_no_truth_yet(run, install, tmp_path):
    class Dead(FakeRunner):
        def run_step(self, order, progress):
            raise SourceUnreachable("nimbus does not answer")

    install(Dead)
    run("run", write_experiment(tmp_path), "--engine", "fake", "--output", "out")
    code, _, err = run("report", "out")
    assert code == 5 and "no repetition is done of 6" in err


def test_a_judgement_is_a_table_a_document_and_a_page(run, tmp_path):
    folder = run_small(tmp_path)
    keep_profiles(folder)
    code, out, err = run("judge", folder, "--html", "page.html")
    assert code == 0
    assert out.startswith("judged on emulator, judged: 3 steps predicted from 3 profiles, analytic")
    assert "predicting from slow" in err
    assert "<svg" in (tmp_path / "page.html").read_text()
    code, out, _ = run("judge", folder, "--json", "--model", "analytic", "--model", "jackson")
    assert (code, json.loads(out)["models"]) == (0, ["analytic", "jackson"])


def test_what_cannot_be_judged_is_exit_2(run, tmp_path):
    code, _, err = run("judge", tmp_path)
    assert code == 2
    assert "no experiment.json in it" in err
