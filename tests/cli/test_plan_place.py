"""``streamgauge plan place``: plans side by side, the best first, and why others have none."""

import json
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


def placed(run, *arguments, code=0):
    shown = run("plan", "place", *arguments, "--json")
    assert shown.code == code
    return json.loads(shown.out)["placement"]


def figures(document, scheduler):
    (one,) = [one for one in document["placements"] if one["scheduler"] == scheduler]
    return one


def test_every_scheduler_is_asked_and_the_verdict_comes_first(run, described):
    shown = run("plan", "place", described)
    assert shown.code == 0
    for name in scheduler_names():
        assert name in shown.out
    assert " against even" in shown.out.splitlines()[0]
    assert "Fits. " in shown.out
    assert "To apply it" in shown.out


def test_the_best_is_the_one_with_the_lowest_p99(run, described):
    document = placed(run, described)
    latencies = [
        one["prediction"]["latency"]["quantiles"]["0.99"] for one in document["placements"]
    ]
    assert document["by"] == "p99"
    assert latencies == sorted(latencies)
    assert document["chosen"] == document["placements"][0]["scheduler"]


def test_the_best_by_traffic_sends_least_between_nodes(run, described):
    document = placed(run, described, "--by", "remote")
    remote = [one["remote_per_second"] for one in document["placements"]]
    assert remote == sorted(remote)


def test_even_placement_is_measured_against_itself_and_bounds_are_kept(run, described):
    document = placed(run, described)
    assert figures(document, "even")["against_before"] == 0.0
    aware = figures(document, "traffic-aware")
    assert aware["least_remote_per_second"] <= aware["evenly_dealt_remote_per_second"] + 1e-9


def test_without_behaviours_there_is_no_latency_and_traffic_decides(run, job):
    document = placed(run, job)
    assert document["by"] == "remote"
    assert all(one["prediction"] is None for one in document["placements"])
    assert "every stream is taken to carry as much" in run("plan", "place", job).out


def test_a_rate_holds_where_the_file_has_no_load(run, described):
    """An executor of 2 ms a tuple keeps a tenth of a core busy at 50 a second."""
    described.write_text(described.read_text().partition("workload:")[0])
    document = placed(run, described, "--rate", 50)
    assert document["placements"][0]["prediction"]["latency"]["mean"] > 0.0


def test_a_profile_stands_in_for_behaviours(run, tmp_path):
    from streamgauge.profile.files.jobs import profile_to_data, save
    from tests.profile.measured import word_count

    data = profile_to_data(word_count())
    save(data, tmp_path / "profile.json")
    document = {key: data[key] for key in ("streamgauge", "topology")}
    document["configuration"] = {"workers": 2}
    document["cluster"] = {"uniform": {"nodes": 2, "cores": 8}}
    (tmp_path / "job.json").write_text(json.dumps(document))
    found = placed(run, tmp_path / "job.json", "--profile", tmp_path / "profile.json", "--rate", 50)
    assert found["placements"][0]["prediction"]["latency"]["mean"] > 0.0


def test_the_written_job_has_the_chosen_plan(run, described, tmp_path):
    path = tmp_path / "plan.yaml"
    document = placed(run, described, "--scheduler", "traffic-aware", "-o", path)
    plan = load_job(path).explicit_plan()
    assert len(plan.workers) == figures(document, "traffic-aware")["workers"]
    assert document["commands"] == [f"streamgauge storm apply {path}"]


def test_a_plan_that_is_not_written_yet_is_made_again_with_the_same_options(run, described):
    document = placed(run, described, "--scheduler", "isolation", "--rate", 50, "--step", "slim")
    again = f"{described} --scheduler isolation --step slim --rate 50 -o plan.yaml"
    assert document["commands"] == [
        f"streamgauge plan place {again}",
        "streamgauge storm apply plan.yaml",
    ]


def test_nimbus_itself_makes_the_even_plan(run, described):
    document = placed(run, described, "--scheduler", "even")
    assert document["commands"] == ["storm rebalance tiny -n 2 -e in=2 -e out=2 -e work=4"]


def test_ackers_that_a_scheduler_counts_are_in_the_written_job(run, described, tmp_path):
    """One-per-worker gives an acker to each worker that it fills, not to each asked for."""
    path = tmp_path / "plan.yaml"
    document = placed(run, described, "--scheduler", "one-per-worker", "-o", path)
    found = figures(document, "one-per-worker")
    assert load_job(path).configuration.ackers == found["diagnostics"]["ackers"]


def test_a_job_with_a_plan_of_its_own_is_compared_with_that(run, described, tmp_path):
    path = tmp_path / "plan.yaml"
    placed(run, described, "--scheduler", "isolation", "-o", path)
    document = placed(run, path)
    assert document["before"] == "own plan"
    assert figures(document, "own plan")["against_before"] == 0.0


def test_pictures_show_the_plan_before_and_after(run, described, tmp_path):
    svg, page = tmp_path / "plan.svg", tmp_path / "plan.html"
    run("plan", "place", described, "--by", "remote", "--svg", svg, "--html", page)
    texts = [one.text for one in ET.parse(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert "before: even" in texts
    assert any(text.startswith("after: ") for text in texts if text)
    for heading in ("Where executors run", "How far tuples go", "Latency", "How to apply it"):
        assert f">{heading}</h2>" in page.read_text()


def test_overload_leaves_with_3_and_names_the_executor(run, described):
    shown = run("plan", "place", described, "--rate", 1e5)
    assert shown.code == 3
    assert "Overloaded: " in shown.out


def test_a_step_configures_the_job(run, described):
    document = placed(run, described, "--step", "slim")
    assert figures(document, "even")["diagnostics"]["ackers"] == 2
    executors = [label for one in document["plan"]["workers"] for label in one["executors"]]
    assert len([label for label in executors if label.startswith("work")]) == 1


def needing_memory(job, bytes_each):
    text = job.read_text().replace(
        "workers: 2}", f"workers: 2, resources: {{work: {{memory_bytes: {bytes_each}}}}}}}"
    )
    text = text.replace("cores: 2}", "cores: 2, memory_bytes: 1000000000}")
    job.write_text(text)
    return job


def test_not_enough_memory_names_the_unplaced_executors_and_leaves_with_3(run, described):
    job = needing_memory(described, 700_000_000)
    shown = run("plan", "place", job, "--scheduler", "resource-aware")
    assert shown.code == 3
    assert "have no slot: work[" in shown.err


def test_of_all_schedulers_those_that_cannot_say_why_and_the_others_go_on(run, described):
    job = needing_memory(described, 700_000_000)
    document = placed(run, job)
    assert "resource-aware" in document["refused"]
    assert figures(document, "even")
    shown = run("plan", "place", job)
    assert shown.code == 0
    assert "Cannot place it" in shown.out
    assert "heap is too small in" in shown.out


def test_too_few_slots_are_named_and_leave_with_3(run, job):
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


def test_a_profile_is_its_own_job(run, project):
    profile = project / "examples" / "word-count.profile.json"
    alone = run("plan", "place", profile)
    assert alone.code == 0, alone.err
    assert "p99" in alone.out.splitlines()[0]
    named = run("plan", "place", profile, "--profile", profile)
    assert alone.out.partition("To apply it")[0] == named.out.partition("To apply it")[0]
