"""`rank_scalings`: which operators get units, what that brings, and how to apply it."""

import io
import json

import pytest

from streamgauge.api.rank_scalings import rank_scalings
from streamgauge.errors import CyclicTopology, Infeasible
from streamgauge.planning.scaling.contract import scaler_names
from streamgauge.planning.scaling.files.scale_out_file import load_scale_out
from streamgauge.profile.files.jobs import load_job, profile_to_data, save
from tests.described_profiles import described_profile
from tests.planning.scaling.tiny_job import COMPONENTS, JOB


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return path


@pytest.fixture
def components(tmp_path):
    path = tmp_path / "two.json"
    path.write_text(json.dumps(COMPONENTS))
    return path


def scale(*arguments, **options):
    return rank_scalings(*arguments, **options).to_dict()["scaling"]


def test_the_congested_operator_gets_the_units_until_the_next_one_is_full(job):
    """With 4 more: 3 of `work` do 300 or 4 do 400, and 2 of `out` do 400."""
    document = scale(job, 4)
    found = document["planners"]["combined"]
    assert found["allocation"] == {"work": 3, "out": 1}
    assert (found["throughput"], found["expected"]) == pytest.approx((100.0, 400.0))


def test_a_cluster_that_cannot_carry_it_is_said(job):
    """Four of `work` and two of `out` keep six cores busy; two machines of two have four."""
    # By keys, as shuffle would keep to the few executors near the source.
    text = JOB.replace("grouping: shuffle", "grouping: {fields: [k]}")
    text = text.replace("work: {tasks: 6}", "work: {tasks: 4}")
    job.write_text(text)
    fits = scale(job, 4, rate=390)
    assert fits["verdict"].startswith("Fits with work +3, out +1 (combined, 4 units), placed")
    job.write_text(text.replace("cores: 4", "cores: 2"))
    full = scale(job, 4, rate=390)
    assert full["verdict"].startswith("Overloaded even with work +3, out +1")
    assert full["on_cluster"].startswith("Overloaded: m")


def test_a_job_may_come_from_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(JOB.encode())))
    document = scale("-", 4)
    assert document["planners"]["combined"]["allocation"] == {"work": 3, "out": 1}


def test_units_that_bring_nothing_stay_unused(job):
    """What sources emit is the workload: no planner gives them executors."""
    document = scale(job, 10, planner="all", sweep=True)
    for one in (*document["planners"].values(), *document["sweep"]):
        assert "in" not in one["allocation"]
    assert document["planners"]["combined"]["allocation"] == {"work": 3, "out": 1}


def test_where_nothing_is_congested_no_unit_is_needed(job):
    job.write_text(JOB.replace("cluster: {uniform: {nodes: 2, slots: 2, cores: 4}}", ""))
    document = scale(job, 3, step="wide")
    assert document["verdict"] == "No unit is needed: nothing is congested."
    assert document["commands"] == []


def test_a_higher_rate_congests_again(job):
    document = scale(job, 3, step="wide", rate=600)
    assert document["planners"]["combined"]["allocation"] == {"work": 2, "out": 1}


def test_every_planner_is_asked_and_none_beats_the_exact_one(job):
    document = scale(job, 3, planner="all")
    assert set(document["planners"]) == set(scaler_names())
    best = document["planners"]["exact"]["expected"]
    assert all(one["expected"] <= best + 1e-9 for one in document["planners"].values())


def test_the_sweep_has_a_row_for_every_number_of_units(job):
    document = scale(job, 4, sweep=True)
    assert [row["units"] for row in document["sweep"]] == [1, 2, 3, 4]
    rows = [row["throughput"] for row in document["sweep"]]
    assert rows == pytest.approx([200.0, 200.0, 300.0, 400.0])
    text = rank_scalings(job, 4, sweep=True).to_text()
    assert "What fewer units would bring" in text


def test_components_alone_are_scaled_by_what_their_file_has_to_give(components):
    document = scale(components)
    assert document["units"] == 2
    assert document["planners"]["combined"]["allocation"] == {"b": 2}
    assert document["planners"]["combined"]["expected"] == pytest.approx(100.0)
    assert document["commands"] == []


def test_rates_that_contradict_each_other_are_named(tmp_path):
    wrong = json.loads(json.dumps(COMPONENTS))
    wrong["components"][1]["inputRate"] = 70
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(wrong))
    document = scale(path)
    assert any("inputRate" in note for note in document["notes"])


def test_a_profile_stands_in_for_behaviours(job, tmp_path):
    described = load_job(job)
    save(profile_to_data(described_profile(described)), tmp_path / "profile.json")
    bare = tmp_path / "bare.yaml"
    head, _, rest = JOB.partition("behaviours:")
    bare.write_text(head + rest[rest.index("configuration:") :])
    for profile in (tmp_path / "profile.json", described_profile(described)):
        document = scale(bare, 4, profile)
        assert document["planners"]["combined"]["allocation"] == {"work": 3, "out": 1}


def test_a_rate_holds_where_the_file_has_no_load(job):
    """200 a second need 2 of `work`; 400 were measured, and need 4 and 2 of `out`."""
    measured = described_profile(load_job(job))
    head, _, rest = JOB.partition("workload:")
    job.write_text(head + rest[rest.index("configuration:") :])
    for profile in (None, measured):
        document = scale(job, 4, profile, rate=200)
        assert document["planners"]["combined"]["allocation"] == {"work": 1}


def test_far_more_units_than_tasks_end_where_tasks_do(job):
    """Each number of units from 20,000 downwards would be tried for hours."""
    document = scale(job, 20_000, rate=1e6)
    assert document["planners"]["combined"]["allocation"] == {"work": 5, "out": 2}


def test_fewer_units_are_handed_out_where_tasks_end(job):
    """600 a second would need 6 of `work` and 3 of `out`; `out` has 2 tasks here."""
    job.write_text(JOB.replace("out: {tasks: 4}", "out: {tasks: 2}"))
    document = scale(job, 7, rate=600, sweep=True)
    found = document["planners"]["combined"]
    assert document["sweep"][-1]["throughput"] == pytest.approx(found["expected"])
    assert found["allocation"]["out"] <= 1
    assert any("cannot all be used" in reason for reason in found["reasons"])


@pytest.mark.parametrize("planner", scaler_names())
def test_units_that_find_no_task_go_to_others(job, planner):
    """`work` gains 100 a unit and `more` 10; of 5 units one finds a task of `work`."""
    job.write_text(
        JOB.partition("steps:")[0]
        .replace("work: {tasks: 6}", "work: {tasks: 2}\n    more: {tasks: 9}")
        .replace("  streams:", "  streams:\n    - {from: in, to: more, grouping: shuffle}")
        .replace("behaviours:", "behaviours:\n  more: {service: {cpu_ms: 100}}")
    )
    document = scale(job, 5, planner=planner)
    assert document["planners"][planner]["allocation"] == {"work": 1, "more": 4}


def test_where_tasks_allow_nothing_it_is_infeasible(job):
    job.write_text(JOB.partition("steps:")[0].replace("work: {tasks: 6}", "work: {tasks: 1}"))
    with pytest.raises(Infeasible, match="work has as many executors as tasks, 1"):
        rank_scalings(job, 2)


def test_a_cycle_is_named_and_invalid(job):
    text = JOB.replace(
        "    - {from: work, to: out",
        "    - {from: out, to: work, grouping: shuffle}\n    - {from: work, to: out",
    )
    job.write_text(
        text.replace(
            "out: {service: {cpu_ms: 5}}", "out: {service: {cpu_ms: 5}, outputs: {default: 0.1}}"
        )
    )
    with pytest.raises(CyclicTopology, match="cycle"):
        rank_scalings(job, 2)


def test_a_profile_is_its_own_job(project):
    profile = project / "examples" / "word-count.profile.json"
    document = scale(profile, 2, rate=300000)
    assert document["planners"]["combined"]["allocation"] == {"splitter": 1}


def test_the_verdict_names_one_bottleneck_and_says_what_throughput_is(project):
    """The job's own cluster leads; the graph, whose keys are even, names no other bottleneck."""
    report = rank_scalings(
        project / "examples" / "word-count.yaml", 4, rate=300000, step="large-buffers"
    )
    text = report.to_text(200).partition("Components")[0]
    assert text.startswith("Fits with splitter +1 (combined, 1 of 4 units), placed evenly on its")
    assert "then counter[5-8] is full" in text
    assert "splitter, 81.8 %" not in text
    assert "delivered by the sinks 1,400,000 → 2,290,000 tuples/s (+63.6 %)" in text


def test_overload_leads_even_where_the_graph_gains_much(project):
    report = rank_scalings(project / "examples" / "word-count.yaml", 4, rate=1e6)
    assert report.verdict.grade == "bad"
    assert str(report.verdict).startswith("Overloaded even with ")
    (caution,) = report.verdict.cautions
    assert "With a core for every executor" in caution
    assert "(+200.0 %)" in caution


def test_a_graph_is_scaled_as_it_is(components):
    graph = load_scale_out(components).graph
    assert scale(graph, 2)["planners"] == scale(components)["planners"]


# `a` and `b` get 100 a second each and do 50.
TWINS = {
    "components": [
        {"id": "s", "type": "spout", "outputRate": 200, "childOutputRatio": {"a": 0.5, "b": 0.5}},
        {"id": "a", "type": "bolt", "maxProcessingRate": 50, "outInRatio": 1},
        {"id": "b", "type": "bolt", "maxProcessingRate": 50, "outInRatio": 1},
    ]
}


@pytest.fixture
def twins(tmp_path):
    path = tmp_path / "twins.json"
    path.write_text(json.dumps(TWINS))
    return path


@pytest.mark.parametrize(("ties", "winner"), [("first", "a"), ("last", "b"), ("most-dropped", "a")])
def test_the_tie_rule_decides_among_equals(twins, ties, winner):
    document = scale(twins, 1, planner="stela", ties=ties)
    assert document["planners"]["stela"]["allocation"] == {winner: 1}


def test_weights_of_sinks_decide_who_gains_most(twins):
    document = scale(twins, 1, planner="exact", sink_weights={"b": 3})
    assert document["planners"]["exact"]["allocation"] == {"b": 1}
    assert document["planners"]["exact"]["expected"] == pytest.approx(50.0 + 3 * 100.0)
    assert document["before"]["throughput"] == pytest.approx(50.0 + 3 * 50.0)


def test_drops_that_are_tolerated_congest_nobody(twins):
    """With 50 a second tolerated nobody is congested, and the source may grow."""
    for tolerated, winner in ((49, "a"), (50, "s")):
        document = scale(twins, 1, planner="stela", tolerate_drops=tolerated)
        assert document["planners"]["stela"]["allocation"] == {winner: 1}


def test_candidates_list_the_packages_that_were_taken_and_left(components):
    document = scale(components, planner="predictive")
    candidates = document["planners"]["predictive"]["candidates"]
    assert [(one["head"], one["units"], one["taken"]) for one in candidates] == [
        ("b", 1, False),
        ("b", 2, True),
    ]
    assert [one["increase"] for one in candidates] == pytest.approx([40.0, 60.0])


def test_packages_may_be_chosen_as_a_knapsack(project):
    """Over the published graphs the best set never gains less than the greedy one."""
    for file in sorted((project / "examples" / "scale-out").glob("*.json")):
        greedy, best = (
            scale(file, 4, planner="predictive", packages=how)["planners"]["predictive"]
            for how in ("greedy", "knapsack")
        )
        assert sum(best["allocation"].values()) <= 4
        gains = [
            sum(one["increase"] for one in found["candidates"] if one["taken"])
            for found in (greedy, best)
        ]
        assert gains[1] >= gains[0] - 1e-9


def test_isolated_workers_give_every_executor_a_worker(job):
    job.write_text(JOB.replace("slots: 2", "slots: 8"))
    document = scale(job, 4, unit="isolated-worker")
    # 1 of the source, 4 of `work` and 2 of `out`.
    assert document["commands"] == ["storm rebalance tiny -n 7 -e work=4 -e out=2"]
    assert "placed in isolation on its own cluster" in document["verdict"]


def test_isolated_workers_end_where_slots_do(job):
    """Three workers run now, and there are four slots: one unit finds a place."""
    document = scale(job, 4, unit="isolated-worker")
    combined = document["planners"]["combined"]
    assert combined["allocation"] == {"work": 1}
    assert "4 units cannot all be used: 7 workers are needed" in combined["reasons"][-1]


def test_rates_of_a_run_are_compared_with_the_estimate(job):
    """Of 400 a second one executor of `work` processes 100, of which `out` gets all."""
    wide = described_profile(load_job(job).at_step("wide"))
    document = scale(job, 4, against=wide)
    components = document["accuracy"]["components"]
    assert components["work"]["measured_per_second"] == pytest.approx(400.0)
    assert components["work"]["estimated_per_second"] == pytest.approx(400.0)
    assert "Measured" not in rank_scalings(job, 4).to_text()
    assert (
        "Tuples per second that components process" in rank_scalings(job, 4, against=wide).to_text()
    )


def test_components_of_a_job_are_written_with_the_rates_of_a_run(job, tmp_path):
    """What one executor of `work` does is 100 a second; 400 were measured with four."""
    path = tmp_path / "components.json"
    report = rank_scalings(job, 4, against=described_profile(load_job(job).at_step("wide")))
    report.save_components(path)
    assert load_scale_out(path).graph.by_name["work"].law.rate(1) == pytest.approx(100.0)
    rows = {row["id"]: row for row in json.loads(path.read_text())["components"]}
    assert rows["work"]["processingRate"] == pytest.approx(400.0)


def test_a_unit_of_half_a_core_processes_half(job):
    document = scale(job, 4, unit_cores=0.5)
    assert document["before"]["components"]["work"]["capacity"] == pytest.approx(50.0)
