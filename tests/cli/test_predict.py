"""``streamgauge predict``: the verdict first, overload as an answer, errors that name things."""

import json
from pathlib import Path

import pytest

from streamgauge.models.contract import model_names
from streamgauge.profile.files.jobs import profile_to_data, save
from tests.profile.measured import word_count

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "profile.json"
    save(profile_to_data(word_count()), path)
    return path


@pytest.fixture
def plan(tmp_path):
    """The profile's topology with other executors, without a placement."""
    data = profile_to_data(word_count())
    document = {key: data[key] for key in ("streamgauge", "topology")}
    document["configuration"] = {
        "executors": {"splitter": 2, "counter": 3},
        "workers": 1,
    }
    document["cluster"] = {"uniform": {"nodes": 1, "cores": 8}}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    return path


def test_a_doubtful_answer_is_refused_if_that_is_asked_for(run, profile, plan):
    refused = run("predict", "--profile", profile, "--plan", plan, "--rate", 100, "--strict")
    assert refused.code == 5
    assert "[saturated-period]" in refused.err
    assert refused.out == ""


def test_doubts_come_first_then_the_verdict_and_then_tables(run, profile, plan):
    shown = run("predict", "--profile", profile, "--plan", plan, "--rate", 100)
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert "100 tuples/s (the given rate), model analytic" in lines[0]
    assert lines[1].startswith("Doubtful: The job was saturated while it was measured")
    verdict = next(place for place, line in enumerate(lines) if line.startswith("Fits. Up to "))
    assert lines[verdict - 1].endswith("]")
    for title in ("Latency", "What is full first", "Operators", "Machines"):
        assert title in shown.out
    assert "splitter" in shown.out


def test_overload_leaves_with_3_and_says_what_would_fit(run, profile, plan):
    shown = run("predict", "--profile", profile, "--plan", plan, "--rate", 1e6)
    assert shown.code == 3
    assert "Overloaded: " in shown.out
    assert "would fit" in shown.out


def test_one_document_for_programs(run, profile, plan):
    shown = run("predict", "--profile", profile, "--plan", plan, "--rate", 100, "--json")
    document = json.loads(shown.out)
    found = document["prediction"]
    assert found["verdict"] == "fits"
    assert found["latency"]["mean"] > 0
    assert set(found["latency"]["quantiles"]) == {"0.5", "0.9", "0.95", "0.99"}
    assert document["verdict"].startswith("Fits")
    overloaded = json.loads(
        run("predict", "--profile", profile, "--plan", plan, "--rate", 1e6, "--json").out
    )
    assert overloaded["prediction"]["latency"]["mean"] is None


def test_an_unknown_model_is_named_with_those_there_are(run, profile):
    shown = run("predict", "--profile", profile, "--model", "crystal-ball")
    assert shown.code == 2
    assert "'crystal-ball'" in shown.err
    assert "analytic" in shown.err


def test_a_plan_of_another_topology_is_refused(run, profile, job):
    shown = run("predict", "--profile", profile, "--plan", job, "--rate", 10)
    assert shown.code == 2
    assert "operators only in the plan: " in shown.err
    assert "in, out, work" in shown.err
    assert "job.yaml" in shown.err


def test_a_profile_without_one_of_its_operators_is_refused_by_name(run, profile, plan, tmp_path):
    document = json.loads(profile.read_text())
    del document["profile"]["operators"]["counter"]
    torn = tmp_path / "torn.json"
    torn.write_text(json.dumps(document))
    shown = run("predict", "--profile", torn, "--plan", plan)
    assert shown.code == 2
    assert "no figures of counter" in shown.err


def test_a_model_that_cannot_judge_any_plan_is_named_once(run, profile, plan):
    shown = run("compare", plan, plan, "--profile", profile, "--rate", 100, "--model", "all")
    assert shown.err.count("storm-tracer cannot predict this plan") == 1


@pytest.mark.parametrize(("wanted", "seen"), [(["101"], "101"), (["90", "--model", "mmc"], "mmc")])
def test_percentiles_of_links_that_cannot_be_are_refused(run, profile, plan, wanted, seen):
    shown = run("predict", "--profile", profile, "--plan", plan, "--link-percentile", *wanted)
    assert shown.code == 2
    assert seen in shown.err


def test_a_negative_rate_is_refused(run, profile, plan):
    shown = run("predict", "--profile", profile, "--plan", plan, "--rate", -5)
    assert shown.code == 2
    assert "-5" in shown.err


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        (["ghost=5"], "no source 'ghost'"),
        (["sentences=-1"], "sentences=-1"),
        (["sentences=5", "7"], "together with other rates"),
        (["many"], "'many'"),
    ],
)
def test_rates_of_sources_that_cannot_be_are_refused_by_name(run, profile, plan, wanted, named):
    rates = [part for one in wanted for part in ("--rate", one)]
    shown = run("predict", "--profile", profile, "--plan", plan, *rates)
    assert shown.code == 2
    assert named in shown.err


def test_a_source_has_its_own_rate(run, profile, plan):
    shown = run("predict", "--profile", profile, "--plan", plan, "--rate", "sentences=100")
    assert shown.code == 0
    assert "100 tuples/s (the given rate)" in shown.out


def test_pictures_and_a_page_show_the_plan(run, profile, plan, tmp_path):
    svg, page = tmp_path / "plan.svg", tmp_path / "plan.html"
    files = ("--svg", svg, "--html", page)
    shown = run("predict", "--profile", profile, "--plan", plan, "--rate", 100, *files)
    assert shown.code == 0
    assert svg.read_text().startswith("<svg")
    assert "What is full first" in page.read_text()
    # The fixture's executors ran on nodes that its cluster does not have.
    assert "no prediction of the plan before" in shown.err


def test_a_profile_is_asked_for_once(run, profile):
    assert "neither --profile nor --lake" in run("predict").err
    assert run("predict", "--profile", profile, "--lake", "x").code == 2


def test_measured_parameters_are_those_of_the_measured_plan(run, profile, plan):
    shown = run("predict", "--profile", profile, "--plan", plan, "--measured")
    assert shown.code == 2
    assert "--measured" in shown.err


def test_every_model_answers_with_figures_but_the_one_that_does_not_know_the_engine(
    run, profile, plan
):
    """A splitter takes 0.415 ms: two of them are full at 2/0.415 tuples a millisecond."""
    common = ("--profile", profile, "--plan", plan, "--rate", 100, "--model", "all", "--json")
    shown = run("predict", *common)
    assert shown.code == 0
    document = json.loads(shown.out)
    found = {one["model"]: one for one in (document["prediction"], *document["others"])}
    assert set(found) == set(model_names()) - {"storm-tracer"}
    refusal, no_intervals = shown.err.splitlines()
    assert "intervals are not known" in no_intervals
    assert "storm-tracer cannot predict this plan" in refusal
    assert "engine 'storm-2'" in refusal
    for one in found.values():
        splitter = one["operators"]["splitter"]
        assert one["verdict"] == "fits"
        assert splitter["arrived_per_second"] == pytest.approx(100.0, rel=0.01)
        assert splitter["utilisation"] == pytest.approx(100 * 0.415e-3 / 2, rel=0.01)
        assert one["limit"]["per_second"] == pytest.approx(2 / 0.415e-3, rel=0.01)
    mean = {name: one["latency"]["mean"] for name, one in found.items()}
    # The report waits for a window of ten seconds, of which only two models know.
    assert mean["analytic"] == pytest.approx(mean["simulation"], rel=0.02)
    assert mean["analytic"] == pytest.approx(5.0, rel=0.02)
    # What the others add to the time of work is queueing, of which there is hardly any.
    for name in ("jackson", "kingman", "mmc"):
        assert mean["busy-time"] < mean[name] < 1.05 * mean["busy-time"]


def test_plans_are_ranked_and_models_vote(run, profile, plan, tmp_path):
    narrow = tmp_path / "narrow.json"
    document = json.loads(plan.read_text())
    document["configuration"]["executors"] = {"splitter": 1, "counter": 1}
    narrow.write_text(json.dumps(document))
    common = ("--profile", profile, "--rate", 3000)
    shown = run("compare", narrow, plan, *common)
    assert shown.code == 0
    assert shown.out.startswith("analytic prefers plan.json.")
    found = json.loads(run("compare", narrow, plan, *common, "--model", "all", "--json").out)
    assert found["preferred"] == "plan.json"
    assert found["ranking"] == ["plan.json", "narrow.json"]
    assert set(found["votes"]) <= set(model_names())
    assert len(found["votes"]) > 2
    assert "As good: narrow.json." in run("compare", plan, narrow, *common[:2], "--rate", 300).out
    refused = run("compare", plan, *common, "--by", "p98")
    assert refused.code == 2
    assert "p99" in refused.err


def test_where_no_plan_carries_the_load_the_best_is_still_named(run, profile, plan):
    shown = run("compare", plan, plan, "--profile", profile, "--rate", 1e6)
    assert shown.code == 3
    assert "no plan carries the load" in " ".join(shown.out.split())


def test_a_step_needs_a_plan(run, profile):
    shown = run("predict", "--profile", profile, "--step", "wide")
    assert shown.code == 2
    assert "--step" in shown.err


def described(tmp_path, job):
    """The job of these tests with behaviours and a load."""
    text = job.read_text() + (
        "behaviours:\n"
        "  work: {service: {cpu_ms: 2}, outputs: {default: 1}}\n"
        "  out: {service: {cpu_ms: 1}}\n"
        "workload: [{source: in, per_second: 100}]\n"
    )
    path = tmp_path / "described.yaml"
    path.write_text(text)
    return path


def test_a_plan_with_behaviours_needs_no_profile(run, tmp_path, job):
    shown = run("predict", "--plan", described(tmp_path, job), "--json")
    document = json.loads(shown.out)
    assert document["prediction"]["verdict"] == "fits"
    assert "figures are declared, not measured" in document["prediction"]["notes"]
    assert document["profile"] == "as described.yaml declares"


def test_plans_with_behaviours_are_compared_without_a_profile(run, tmp_path, job):
    path = described(tmp_path, job)
    shown = run("compare", path, f"{path}@slim", "--by", "rate")
    assert shown.code == 0
    assert "analytic prefers described.yaml." in shown.out


def test_without_profile_and_behaviours_both_are_named(run, job):
    shown = run("predict", "--plan", job)
    assert shown.code == 2
    assert "a plan with behaviours" in shown.err


def test_a_plan_that_a_limit_holds_back_leaves_with_3_and_says_which_would_fit(run):
    job = EXAMPLES / "held-back.yaml"
    shown = run("predict", job)
    assert shown.code == 3
    assert "held back by topology.max.spout.pending = 5: at most 22" in shown.out
    document = json.loads(run("predict", job, "--json").out)
    pending = document["prediction"]["pending"]
    assert (pending["limit"], pending["holds_back"]) == (5, "orders")
    assert 5 < pending["smallest"] < pending["ample"]
    assert pending["sources"]["orders"]["wait_seconds"] is None
    assert document["prediction"]["since_due"]["mean"] is None
    fits = run("predict", job, "--step", "limit-20")
    assert fits.code == 0
