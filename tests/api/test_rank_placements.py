"""`rank_placements`: plans side by side, the best first, and why schedulers found none."""

import json
import math

import pytest

import streamgauge as sg
from streamgauge.api.rank_placements import rank_placements
from streamgauge.errors import Infeasible, InvalidInput
from streamgauge.planning.scheduling.contract import scheduler_names
from streamgauge.profile.files.jobs import load_job
from tests.cli.conftest import JOB

BEHAVIOURS = """
behaviours:
  work: {service: {cpu_ms: 2}, outputs: {default: 1}}
  out: {service: {cpu_ms: 1}}
workload: [{source: in, per_second: 100}]
"""


@pytest.fixture
def bare(tmp_path):
    """A job of which only the graph and the cluster are known."""
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return path


@pytest.fixture
def described(bare):
    """The job with behaviours and a load."""
    bare.write_text(JOB + BEHAVIOURS)
    return bare


def place(*arguments, **options):
    return rank_placements(*arguments, **options).to_dict()["placement"]


def figures(document, scheduler):
    (placement,) = [
        placement for placement in document["placements"] if placement["scheduler"] == scheduler
    ]
    return placement


def test_every_scheduler_is_asked(described):
    schedulers = {placement["scheduler"] for placement in place(described)["placements"]}
    assert schedulers == set(scheduler_names())


def test_the_best_is_the_one_with_the_lowest_p99(described):
    document = place(described)
    latencies = [
        placement["prediction"]["latency"]["quantiles"]["0.99"]
        for placement in document["placements"]
    ]
    assert document["by"] == "p99"
    assert latencies == sorted(latencies)
    assert document["chosen"] == document["placements"][0]["scheduler"]


def test_the_best_by_traffic_sends_least_between_nodes(described):
    document = place(described, by="remote")
    remote = [placement["remote_per_second"] for placement in document["placements"]]
    assert remote == sorted(remote)


def test_even_placement_is_measured_against_itself_and_bounds_are_kept(described):
    document = place(described)
    assert figures(document, "even")["against_before"] == 0.0
    aware = figures(document, "traffic-aware")
    assert aware["least_remote_per_second"] <= aware["evenly_dealt_remote_per_second"] + 1e-9


def test_without_behaviours_there_is_no_latency_and_traffic_decides(bare):
    report = rank_placements(bare)
    document = report.to_dict()["placement"]
    assert document["by"] == "remote"
    assert all(placement["prediction"] is None for placement in document["placements"])
    assert "every stream counts as if it carried as much" in report.to_text()


def test_a_job_and_a_rate_may_be_objects(described):
    job = load_job(described)
    assert place(job, rate=50)["placements"] == place(described, rate="in=50")["placements"]


def test_a_rate_holds_where_the_file_has_no_load(described):
    """At 2 ms a tuple, 50 tuples a second keep a tenth of a core busy."""
    described.write_text(described.read_text().partition("workload:")[0])
    document = place(described, rate=50)
    prediction = document["placements"][0]["prediction"]
    assert prediction["operators"]["work"]["arrived_per_second"] == pytest.approx(50)
    work = [one for one in prediction["executors"] if one["operator"] == "work"]
    # Wall time is longer where others poll on the same core.
    assert sum(one["utilisation"] / one["stretch"] for one in work) == pytest.approx(0.1)


def test_a_profile_stands_in_for_behaviours(tmp_path):
    from streamgauge.profile.files.jobs import profile_to_data, save
    from tests.profile.measured import word_count

    data = profile_to_data(word_count())
    save(data, tmp_path / "profile.json")
    document = {key: data[key] for key in ("streamgauge", "topology")}
    document["configuration"] = {"workers": 2}
    document["cluster"] = {"uniform": {"nodes": 2, "cores": 8}}
    (tmp_path / "job.json").write_text(json.dumps(document))
    by_file = place(tmp_path / "job.json", tmp_path / "profile.json", rate=50)
    splitter = by_file["placements"][0]["prediction"]["operators"]["splitter"]
    assert splitter["arrived_per_second"] == pytest.approx(50)
    # As measured: 0.415 ms a sentence.
    assert splitter["service_seconds"] == pytest.approx(0.415e-3, rel=0.01)
    by_object = place(tmp_path / "job.json", word_count(), rate=50)
    assert by_object["placements"] == by_file["placements"]


def test_a_profile_is_its_own_job(project):
    profile = project / "examples" / "word-count.profile.json"
    alone, named = place(profile), place(profile, profile)
    assert alone["placements"][0]["prediction"]["latency"]["mean"] > 0.0
    assert alone["placements"] == named["placements"]


def test_a_written_job_has_the_best_plan(described, tmp_path):
    report = rank_placements(described, scheduler="traffic-aware")
    report.save_job(tmp_path / "plan.yaml")
    plan = load_job(tmp_path / "plan.yaml").explicit_plan()
    assert len(plan.workers) == len(report.plan.workers) == 1


def test_a_plan_that_is_not_written_yet_is_made_again_with_the_same_options(described):
    document = place(described, scheduler="isolation", rate=50, step="slim")
    again = f"{described} --scheduler isolation --step slim --rate 50 -o plan.yaml"
    assert document["commands"] == [
        f"streamgauge plan place {again}",
        "streamgauge storm apply plan.yaml",
    ]
    assert place(load_job(described), scheduler="isolation")["commands"] == []


def test_the_engine_itself_makes_the_even_plan(described):
    document = place(described, scheduler="even")
    assert document["commands"] == ["storm rebalance tiny -n 2 -e in=2 -e out=2 -e work=4"]


def test_ackers_that_a_scheduler_counts_are_in_the_written_job(described):
    """One-per-worker gives an acker to each worker that it fills, not to each asked for."""
    report = rank_placements(described, scheduler="one-per-worker")
    ackers = report.ranking.best.diagnostics.ackers
    assert report.ranking.placed_job.configuration.ackers == ackers


def test_a_job_with_a_plan_of_its_own_is_compared_with_that(described, tmp_path):
    path = tmp_path / "plan.yaml"
    rank_placements(described, scheduler="isolation").save_job(path)
    document = place(path)
    assert document["before"] == "own plan"
    assert figures(document, "own plan")["against_before"] == 0.0


def test_a_step_configures_the_job(described):
    document = place(described, step="slim")
    assert figures(document, "even")["diagnostics"]["ackers"] == 2
    executors = [label for worker in document["plan"]["workers"] for label in worker["executors"]]
    assert len([label for label in executors if label.startswith("work")]) == 1


@pytest.fixture
def needing_memory(described):
    """Four executors of 700 MB, two nodes of 1 GB."""
    text = described.read_text().replace(
        "workers: 2}", "workers: 2, resources: {work: {memory_bytes: 700000000}}}"
    )
    described.write_text(text.replace("cores: 2}", "cores: 2, memory_bytes: 1000000000}"))
    return described


def test_not_enough_memory_names_the_executors_without_a_place(needing_memory):
    with pytest.raises(Infeasible, match=r"have no slot: work\["):
        rank_placements(needing_memory, scheduler="resource-aware")


def test_of_all_schedulers_some_find_no_plan_and_the_others_go_on(needing_memory):
    report = rank_placements(needing_memory)
    document = report.to_dict()["placement"]
    assert "resource-aware" in document["refused"]
    assert figures(document, "even")
    text = report.to_text()
    assert "resource-aware: " in text.partition("No plan found")[2]
    assert "Heap is too small in " in text.partition("Placements")[0]


def test_an_unknown_criterion_is_refused(described):
    with pytest.raises(InvalidInput, match="'p98'"):
        rank_placements(described, by="p98")


def test_the_traffic_aware_scheduler_fills_machines_as_far_as_it_is_told(project):
    """Together on one machine, all executors keep 41.5 % of its cores busy."""
    file = project / "examples" / "word-count.yaml"
    for utilisation, nodes in ((None, 1), (0.3, 2)):
        report = rank_placements(file, scheduler="traffic-aware", utilisation=utilisation)
        assert len(report.plan.nodes) == nodes
    assert report.commands[0].endswith("--utilisation 0.3 -o plan.yaml")


@pytest.mark.parametrize("utilisation", [0.0, 1.1, math.nan])
def test_a_utilisation_that_is_no_part_is_refused(described, utilisation):
    with pytest.raises(InvalidInput, match="--utilisation"):
        rank_placements(described, utilisation=utilisation)


def test_the_best_plan_of_what_was_measured_is_shown_with_its_intervals(request):
    """The same as `predict` says of that plan; what is only declared has none."""
    profile = request.config.rootpath / "examples/word-count.profile.json"
    found = sg.rank_placements(profile)
    interval = found.intervals.of("latency", "source to sink", "p99")
    same = sg.predict(profile, found.ranking.placed_job).intervals
    assert interval.low == pytest.approx(same.of("latency", "source to sink", "p99").low, rel=1e-6)
    (shown,) = [term.value for term in found.headline if term.name.startswith("p99")]
    assert "±" in shown
    assert found.document()["placement"]["intervals"]["figures"]


def test_the_best_plan_of_what_is_declared_has_no_intervals(request):
    found = sg.rank_placements(request.config.rootpath / "examples/word-count.yaml")
    assert found.intervals.of("latency", "source to sink", "p99") is None
    assert not any("±" in term.value for term in found.headline)
