"""`sg.predict` and `sg.compare`: paths or objects, sensible defaults, the errors of the CLI."""

import json
from dataclasses import replace

import pytest

import streamgauge as sg
from streamgauge.models.measured_plan import measured_plan
from streamgauge.profile.files.jobs import profile_to_data, save
from tests.profile.measured import word_count

RATE = 2000.0


@pytest.fixture(scope="module")
def files(tmp_path_factory, request):
    """A profile and a job of the bundled example."""
    examples = request.config.rootpath / "examples"
    return examples / "word-count.profile.json", examples / "word-count.yaml"


def test_a_profile_alone_is_predicted_on_its_own_plan_and_load(files):
    report = sg.predict(files[0])
    assert report.predicted.name == "the profile's own plan"
    assert report.predicted.load == "as measured"
    assert 0.0 < report.prediction.latency.mean < report.prediction.latency.quantiles[0.99]


def test_paths_and_objects_give_the_same_answer(files):
    by_path = sg.predict(str(files[0]), str(files[1]), step="splitters-2", rate=RATE)
    profile, job = sg.load_profile(files[0]), sg.load_job(files[1], "splitters-2")
    by_object = sg.predict(profile, job, rate={"spout": RATE})
    assert by_object.prediction == by_path.prediction
    assert sg.predict(profile, by_path.plan, rate=RATE).prediction == by_path.prediction
    assert by_path.predicted.name == "word-count.yaml, splitters-2"


def test_a_job_that_is_only_described_needs_no_profile(files):
    report = sg.predict(files[1], step="splitters-2")
    assert report.profile == "as word-count.yaml, splitters-2 declares"
    assert sg.predict(sg.load_job(files[1], "splitters-2")).prediction == report.prediction


def test_the_plan_before_is_predicted_at_the_load_after(files):
    report = sg.predict(*files, step="splitters-2", rate=RATE, before=True)
    assert report.before.per_second == report.predicted.per_second == RATE
    assert report.before.plan == measured_plan(sg.load_profile(files[0]))
    assert sg.predict(*files, rate=RATE).before is None
    # What a job declares never ran: there is nothing before it.
    assert sg.predict(files[1], rate=RATE, before=True).before is None


def test_the_document_is_that_of_the_command(files, capsys, monkeypatch):
    from streamgauge.cli import main

    words = ["predict", "--profile", str(files[0]), "--rate", "2000", "--json"]
    monkeypatch.setattr("sys.argv", ["streamgauge", *words])
    with pytest.raises(SystemExit):
        main()
    assert sg.predict(str(files[0]), rate=RATE).to_dict() == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: sg.predict("nothing.json"), "nothing.json: no such file"),
        (lambda: sg.load_job("nothing.yaml"), "nothing.yaml: no such file"),
        (sg.predict, "neither --profile nor --lake"),
        (lambda: sg.compare([]), "no plan"),
    ],
)
def test_bad_input_raises_what_the_command_prints(call, named):
    with pytest.raises(sg.StreamgaugeError, match=named):
        call()


@pytest.mark.parametrize("rate", [-1.0, "many", {"ghost": 5.0}, float("nan")])
def test_rates_that_cannot_be_are_refused(files, rate):
    with pytest.raises(sg.StreamgaugeError, match="--rate"):
        sg.predict(files[0], rate=rate)


def test_a_profile_without_a_cluster_says_what_is_assumed_of_its_machines():
    report = sg.predict(word_count(cluster=None), rate=100.0)
    assert "one core for each of its workers" in report.warnings[0]
    assert report.to_dict()["warnings"] == list(report.warnings)


def test_a_job_without_a_cluster_says_what_is_assumed_of_its_machines(files):
    job = replace(sg.load_job(files[1]), cluster=None)
    warning = "no cluster is described: assuming 4 nodes with one slot and one core each"
    assert warning in sg.predict(job).to_dict()["warnings"]
    assert warning in sg.compare([job, job]).to_dict()["warnings"]


def test_models_that_refuse_a_plan_are_left_out_with_their_reason(files):
    """Formulas know no cycles: the simulation, which does, decides."""
    feedback = files[1].parent / "feedback.yaml"
    report = sg.predict(feedback, model="all")
    assert report.prediction.model == "simulation"
    assert not report.others
    (cyclic,) = [warning for warning in report.warnings if "the cycle fetch → parse" in warning]
    names, _, _ = cyclic.removeprefix("models ").partition(" cannot predict this plan: streams: ")
    assert names.split(", ") == ["analytic", "busy-time", "caladrius", "jackson", "kingman", "mmc"]
    with pytest.raises(sg.StreamgaugeError, match="the cycle fetch → parse → fetch"):
        sg.predict(feedback)


def test_plans_are_compared_by_the_first_model_that_can_predict_all(files):
    feedback = files[1].parent / "feedback.yaml"
    report = sg.compare([feedback, f"{feedback}@more-fetchers"], by="mean", model="all")
    assert list(report.ranking.votes) == ["simulation"]
    assert report.ranking.preferred == "feedback.yaml, more-fetchers"


def test_a_profile_in_a_job_position_is_refused_by_what_it_lacks(tmp_path):
    data = profile_to_data(word_count())
    del data["profile"]
    save(data, tmp_path / "job.json")
    with pytest.raises(sg.StreamgaugeError, match="no section 'profile'"):
        sg.predict(tmp_path / "job.json")


def test_plans_are_compared_by_files_steps_and_objects(files):
    profile, job = files
    report = sg.compare([job, f"{job}@splitters-2"], profile, rate=RATE)
    assert report.ranking.order == ("word-count.yaml, splitters-2", "word-count.yaml")
    one, two = (sg.load_job(job, step) for step in (None, "splitters-2"))
    by_object = sg.compare([one, two], sg.load_profile(profile), rate=RATE)
    assert by_object.ranking.preferred == "word-count 2"
    assert by_object.preferred == report.preferred


def test_a_comparison_has_a_page_with_every_plan(files):
    profile, job = files
    page = sg.compare([job, f"{job}@splitters-2"], profile, rate=RATE, model="all").to_html()
    assert "word-count: 2 plans compared" in page
    assert "Votes" in page
    assert page.count("<svg") == 2
