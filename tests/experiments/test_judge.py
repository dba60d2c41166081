"""Judging an experiment on the emulator: every step from every step, and what cannot be judged."""

import json
import shutil
import statistics
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.api.predict import predict
from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.experiments.journal import read_journal
from streamgauge.experiments.observing import observe
from streamgauge.experiments.quantities import MEAN_SINCE_DUE, MEAN_SINCE_EMISSION, SATURATION
from streamgauge.overwrite_guard import protect_inputs
from streamgauge.topology.files.document import write_whole
from tests.experiments.judged import keep_profiles, run_small


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """An experiment that has run, with profiles of what its jobs declare."""
    folder = run_small(tmp_path_factory.mktemp("judged"))
    keep_profiles(folder)
    return folder


@pytest.fixture(scope="module")
def judged(measured):
    return sg.judge(measured)


@pytest.fixture
def copied(measured, tmp_path):
    """The same folder, to be spoilt."""
    return Path(shutil.copytree(measured, tmp_path / "out"))


def test_every_step_is_predicted_from_every_step(judged):
    pairs = judged.judgement.matrix(MEAN_SINCE_EMISSION, "analytic")
    steps = ("slow", "fast", "flood")
    assert set(pairs) == {(source, proposed) for source in steps for proposed in steps}


def test_cells_are_predictions_beside_medians_of_what_was_measured(judged, measured):
    """By a program of its own: predictions one by one, and the formulas of the thesis."""
    journal = read_journal(measured)
    truth = observe(journal, measured)
    errors = {}
    for source in ("slow", "fast"):
        for proposed in ("slow", "fast"):
            step = journal.experiment.step(proposed)
            plan = step.schedule(journal.experiment.cluster).plan
            profile = next((measured / "judge" / "profiles").glob(f"*-{source}.json"))
            rate = step.job.workload.emissions[0].per_second
            report = predict(profile, plan, rate=rate)
            actual = truth.step(proposed).figure("latency-since-due", "from in", "mean").value
            errors[source, proposed] = (report.prediction.since_due.mean - actual) / actual
    cells = [
        cell
        for cell in judged.judgement.cells
        if cell.quantity == MEAN_SINCE_DUE and not cell.is_apart
    ]
    found = {(cell.source, cell.proposed): cell.error for cell in cells}
    assert found == pytest.approx(errors)
    counted = [abs(errors[cell.source, cell.proposed]) for cell in cells if cell.is_measurable]
    (summary,) = [one for one in judged.judgement.summarise() if one.quantity == MEAN_SINCE_DUE]
    assert summary.cells == len(counted) > 0
    assert summary.median == pytest.approx(statistics.median(counted))
    assert summary.worst == pytest.approx(max(counted))


def test_predictions_of_what_is_declared_are_near(judged):
    """The emulator runs what is declared: nothing but queues and chance is left."""
    for summary in judged.judgement.summarise():
        if summary.quantity.scope == "stage" and summary.cells:
            assert summary.median < 0.02, summary.quantity.name
    for quantity in (MEAN_SINCE_DUE, MEAN_SINCE_EMISSION):
        for pair, one in judged.judgement.matrix(quantity, "analytic").items():
            if "flood" not in pair:
                assert abs(one.rough_bias) < 0.1


def test_an_overloaded_step_is_judged_apart_and_its_saturation_is_judged(judged):
    flood = next(step for step in judged.judgement.steps if step.name == "flood")
    assert flood.overloads
    # One executor of 2 ms serves 500 a second.
    assert flood.carried_per_second == pytest.approx(500.0, rel=0.01)
    cells = [cell for cell in judged.judgement.cells if cell.quantity == SATURATION]
    assert {(cell.source, cell.is_apart) for cell in cells} == {
        ("slow", False),
        ("fast", False),
        ("flood", True),
    }
    assert all(abs(cell.error) < 0.03 for cell in cells)
    said = [fits for (_, step, _), fits in judged.judgement.verdicts.items() if step == "flood"]
    assert said == [False, False, False]


def test_text_page_and_document_say_the_same(judged):
    document = judged.to_dict()
    text, page = judged.to_text(), judged.to_html()
    assert document["schema_version"] == 1
    assert document["verdict"][0] in " ".join(text.split())
    assert "Mean latency since due: error" in text
    assert page.count("<svg") == len(judged.charts) == len(document["matrices"]) > 10
    assert {one["quantity"] for one in document["summaries"]} >= {
        "routing shares",
        "arrival rates of executors",
        "mean latency since due",
        "mean latency of paths since emission",
        "ground truth, cleaned",
        "CPU of workers",
    }
    assert len(document["cells"]) == len(judged.judgement.cells)
    assert not judged.to_pandas().empty


def test_what_was_read_and_predicted_is_kept_and_not_done_again(judged, copied, monkeypatch):
    def refuse(*_args, **_options):
        raise AssertionError("asked again")

    monkeypatch.setattr("streamgauge.experiments.cross_prediction.CrossPrediction.predict", refuse)
    monkeypatch.setattr("streamgauge.experiments.observing.observe_repetition", refuse)
    again = sg.judge(copied)
    assert again.judgement == judged.judgement


def test_half_of_a_kept_prediction_is_predicted_again(judged, copied):
    (path, *_) = sorted((copied / "judge" / "predictions").iterdir())
    path.write_text(path.read_text()[:40])
    assert sg.judge(copied).judgement == judged.judgement


def test_a_step_without_lines_is_marked_and_averaged_into_nothing(judged, copied):
    shutil.rmtree(copied / "raw" / "2-fast-1")
    report = sg.judge(copied)
    (fast,) = [step for step in report.judgement.steps if step.name == "fast"]
    assert "no raw lines" in fast.no_truth
    assert not [cell for cell in report.judgement.cells if "fast" in (cell.source, cell.proposed)]
    same = [cell for cell in judged.judgement.cells if "fast" not in (cell.source, cell.proposed)]
    assert list(report.judgement.cells) == same
    assert "Left out: fast." in report.verdict.cautions


def test_a_step_whose_lines_are_cut_off_is_marked(copied):
    path = max((copied / "raw" / "1-slow-2").glob("*.gz"), key=lambda one: one.stat().st_size)
    path.write_bytes(path.read_bytes()[:-200])
    report = sg.judge(copied)
    (slow,) = [step for step in report.judgement.steps if step.name == "slow"]
    assert "read only in part" in slow.no_truth


def test_without_any_truth_nothing_is_judged(copied):
    for folder in (copied / "raw").iterdir():
        shutil.rmtree(folder)
    with pytest.raises(NotEnoughData, match="no step can be judged: slow: there are no raw lines"):
        sg.judge(copied)


def test_a_folder_that_is_no_experiment_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"no experiment\.json in it"):
        sg.judge(tmp_path)


def test_judgements_of_another_experiment_are_refused(copied):
    path = copied / "judge" / "judge.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "experiment": "other"}))
    with pytest.raises(InvalidInput, match="judgements of 'other'"):
        sg.judge(copied)
    path.unlink()
    with pytest.raises(InvalidInput, match=r"no judge\.json"):
        sg.judge(copied)


def test_an_experiment_of_an_earlier_version_is_refused(copied):
    path = copied / "experiment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "streamgauge_experiment": 1}))
    with pytest.raises(InvalidInput, match="earlier version"):
        sg.judge(copied)


def test_an_unknown_model_is_refused_before_anything_is_done(copied):
    with pytest.raises(InvalidInput, match="crystal-ball"):
        sg.judge(copied, model="crystal-ball")


def test_a_model_that_cannot_answer_says_why_once(copied):
    report = sg.judge(copied, model=["analytic", "storm-tracer"])
    refused = [text for text in report.warnings if text.startswith("storm-tracer said nothing")]
    assert len(refused) == 1
    assert "in 9 cases" in refused[0]
    assert {cell.model for cell in report.judgement.cells} == {"stages", "analytic"}


def test_a_profile_without_machines_takes_those_of_the_experiment(measured, judged, tmp_path):
    folder = Path(shutil.copytree(measured, tmp_path / "out"))
    shutil.rmtree(folder / "judge")
    keep_profiles(folder, machines=False)
    report = sg.judge(folder)
    assert not [text for text in report.warnings if "assuming" in text]
    found = report.judgement.matrix(MEAN_SINCE_DUE, "analytic")
    for pair, one in judged.judgement.matrix(MEAN_SINCE_DUE, "analytic").items():
        assert found[pair].rough_bias == pytest.approx(one.rough_bias, abs=0.01)


def test_machines_that_nothing_describes_are_assumed_and_it_is_said(measured, tmp_path):
    folder = Path(shutil.copytree(measured, tmp_path / "out"))
    shutil.rmtree(folder / "judge")
    path = folder / "experiment.json"
    data = json.loads(path.read_text())
    for executor in (one for done in data["done"] for one in done["executors"]):
        executor["machine"] = f"elsewhere-{executor['machine']}"
    path.write_text(json.dumps(data))
    keep_profiles(folder, machines=False)
    report = sg.judge(folder)
    assert [text for text in report.warnings if "assuming a core for each worker" in text]


def test_the_journal_of_what_was_measured_is_not_written_over(copied):
    """As `--html FOLDER/experiment.json` would."""
    journal = copied / "experiment.json"
    before = journal.read_bytes()
    with protect_inputs():
        sg.judge(copied)
        with pytest.raises(InvalidInput, match="also reads or writes"):
            write_whole(journal, "<html>")
    assert journal.read_bytes() == before


def test_a_file_in_place_of_the_folder_is_refused(copied):
    with pytest.raises(InvalidInput, match="a file; expected a folder"):
        sg.judge(copied / "experiment.json")
