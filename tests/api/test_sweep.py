"""`sg.sweep` and ``streamgauge sweep``: plans × rates × models, kept, resumed, chosen from."""

import json
import shlex
import sys
from dataclasses import replace

import numpy as np
import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

import streamgauge as sg
from streamgauge.api import sweep as api
from streamgauge.cli import main
from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.planning.sweeping import sweep as sweeping
from streamgauge.planning.sweeping.choice import find_front, read_conditions
from streamgauge.planning.sweeping.sweep import draw_plans, list_grid
from streamgauge.topology import Cluster

JOB = """
streamgauge: 1
topology:
  name: logs
  operators: {spout: {kind: source, tasks: 32}, bolt: {tasks: 32}}
  streams: [{from: spout, to: bolt, grouping: shuffle}]
behaviours:
  spout: {service: {cpu_ms: 0.007}, bytes: {default: 38}}
  bolt: {service: {cpu_ms: 0.021}}
configuration: {ackers: 0, settings: {topology.disable.loadaware.messaging: true}}
workload: [{source: spout, per_second: 1000}]
"""
SWEEP = """
streamgauge: 1
sweep: sizes
job: job.yaml
plans:
  grid: {nodes: [1, 2], executors: {spout: [1, 2], bolt: [2, 4]}, workers: [1, 2]}
rates: [1000, 20000, 60000]
node: {cores: 8, price: 2}
"""


@pytest.fixture
def files(tmp_path):
    def write(text=SWEEP, job=JOB):
        (tmp_path / "job.yaml").write_text(job)
        path = tmp_path / "sweep.yaml"
        path.write_text(text)
        return path

    return write


def rows_of(report, **wanted):
    rows = report.rows.to_pylist()
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def test_every_plan_is_evaluated_at_every_rate(files):
    report = sg.sweep(files())
    assert len(report.rows) == 2 * 2 * 2 * 2 * 3
    found = {(r["nodes"], tuple(r["executors"]), r["workers"], r["rate"]) for r in rows_of(report)}
    assert len(found) == len(report.rows)


def test_figures_of_the_cost_model_grow_with_the_rate(files):
    """28 µs a tuple on a core; two bolts do 2/21 µs; the cost is two for each node."""
    report = sg.sweep(files())
    row = rows_of(report, nodes=1, executors=[1, 2], workers=1, rate=20000.0)[0]
    assert row["cores"] == pytest.approx(20_000 * 28e-6)
    assert row["limit"] == pytest.approx(2 / 21e-6)
    assert row["saturation"] == pytest.approx(0.21)
    assert row["cost"] == 2.0


def test_the_analytic_model_predicts_each_case_as_it_would_alone(files):
    text = SWEEP.replace("rates: [1000, 20000, 60000]", "rates: [1000, 60000]\nmodels: [analytic]")
    report = sg.sweep(files(text))
    row = rows_of(report, nodes=2, executors=[2, 4], workers=2, rate=60000.0)[0]
    job = sg.load_job(files().parent / "job.yaml")
    configuration = replace(job.configuration, executors={"spout": 2, "bolt": 4}, workers=4)
    cluster = Cluster.uniform(nodes=2, slots=2, cores=8)
    placed = place_job(replace(job, configuration=configuration, cluster=cluster))
    found = AnalyticModel().predict(
        JobBehaviour.from_job(job), placed.plan, job.workload.times(60.0)
    )
    assert row["p99"] == pytest.approx(found.latency.quantiles[0.99])
    assert row["limit"] == pytest.approx(found.limit.per_second)


def test_both_models_see_the_same_plans(files):
    report = sg.sweep(files(SWEEP + "models: [cost, analytic]\n"))
    moved = {
        model: np.asarray([row["remote_bytes"] for row in rows_of(report, model=model)])
        for model in ("cost", "analytic")
    }
    # Of 44 bytes; up to two more at the end of a batch, which the cost model leaves out.
    assert (moved["cost"] <= moved["analytic"]).all()
    assert (moved["analytic"] <= moved["cost"] * 46 / 44).all()
    assert max(moved["cost"]) > 0.0


def test_the_best_is_the_first_that_meets_all_conditions(files):
    report = sg.sweep(files(), best="limit", where="cost<3 and rate=20000")
    best = report.to_dict()["best"][0]
    assert best["configuration"].startswith("<1,")
    assert report.columns["cost"][report.ranked].max() == 2.0
    limits = [one["limit"] for one in report.to_dict()["best"]]
    assert limits == sorted(limits, reverse=True)


def test_a_grid_without_a_feasible_plan_says_what_comes_nearest(files):
    report = sg.sweep(files(SWEEP.replace("[1000, 20000, 60000]", "[10000000]")))
    assert report.verdict.word == "No plan"
    assert "Nearest is <" in report.verdict.sentence and "it carries" in report.verdict.sentence
    assert report.to_text() and report.to_html()


def test_conditions_that_nothing_meets_are_no_error(files):
    report = sg.sweep(files(), where="cost<1")
    assert "48 carry their load" in report.verdict.sentence
    assert "Relax the conditions" in report.verdict.sentence


def test_a_condition_of_which_no_model_says_anything_is_named(files):
    """The cost model does not queue."""
    report = sg.sweep(files(), where="p99<1")
    assert "Of p99 cost says nothing: ask another model." in report.verdict.sentence


def test_a_sweep_that_is_killed_goes_on_where_it_was(files, tmp_path, monkeypatch):
    monkeypatch.setattr(sweeping, "BLOCK_OF_ARRAYS", 10)
    evaluated = []

    def die(message):
        evaluated.append(message)
        if len(evaluated) == 4:
            raise KeyboardInterrupt

    folder = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        sg.sweep(files(), output=folder, say=die)
    kept = DeltaTable(str(folder / "results")).to_pyarrow_table()
    assert len(kept) == 30
    said = []
    report = sg.sweep(files(), output=folder, say=said.append)
    assert said[0] == "18 cases to evaluate"
    # As text, as NaN is not equal to itself.
    assert [*map(str, rows_of(report))] == [*map(str, rows_of(sg.sweep(files())))]


def test_a_sweep_whose_file_changed_is_refused_with_what_changed(files, tmp_path):
    sg.sweep(files(), output=tmp_path / "out")
    changed = files(SWEEP.replace("cores: 8", "cores: 4"))
    with pytest.raises(InvalidInput, match=r"node\.cores: 4\.0, was 8\.0"):
        sg.sweep(changed, output=tmp_path / "out")
    changed = files(job=JOB.replace("0.021", "0.022"))
    with pytest.raises(InvalidInput, match=r"cpu_ms"):
        sg.sweep(changed, output=tmp_path / "out")
    assert len(sg.sweep(files(), output=tmp_path / "out").rows) == 48


def test_what_it_is_for_may_change(files, tmp_path):
    sg.sweep(files(), output=tmp_path / "out")
    sg.sweep(files(SWEEP + "about: other words\n"), output=tmp_path / "out")


def test_a_folder_with_something_else_is_left_alone(files, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("")
    with pytest.raises(InvalidInput, match=r"a folder that holds 'thesis\.tex'"):
        sg.sweep(files(), output=tmp_path / "out")


def test_the_grid_of_the_paper_has_4116_cases_with_the_bandwidth_of_the_paper(files, tmp_path):
    """Section 4.3: 7·7 executors, 4 cluster sizes, 7 numbers of workers, 3 rates; K3 for two."""
    (tmp_path / "costs.yaml").write_text(
        "{streamgauge: 1, raw_bytes: {spout: 360}, management: {most_bytes_per_second: 56000}}"
    )
    text = SWEEP.replace(SWEEP[SWEEP.index("  grid") : SWEEP.index("rates")], "  paper: true\n")
    text = text.replace("20000, 60000", "10000, 50000") + "constants: costs.yaml\n"
    report = sg.sweep(files(text))
    for rate, nodes, bandwidth in ((10_000.0, 4, 3_986_000), (50_000.0, 2, 19_156_000)):
        row = rows_of(report, nodes=nodes, executors=[8, 8], workers=2, rate=rate)[0]
        assert row["bandwidth"] == pytest.approx(bandwidth)
    assert len(report.rows) == 4116
    row = rows_of(report, nodes=1, executors=[8, 8], workers=16, rate=1000.0)[0]
    assert (row["local"], row["node"], row["remote"]) == pytest.approx((0.0, 1.0, 0.0))


def test_lists_and_random_plans_join_the_grid_each_once(files):
    text = SWEEP.replace(
        "rates",
        "  list: ['<1,1,2,1>', '<4,8,8,2>']\n  random: {count: 50, nodes: [1, 4],"
        " executors: {spout: [1, 8], bolt: [1, 8]}, workers: [1, 3]}\nrates",
        1,
    )
    plans = {(r["nodes"], *r["executors"], r["workers"]) for r in rows_of(sg.sweep(files(text)))}
    assert (4, 8, 8, 2) in plans
    assert 17 < len(plans) <= 17 + 50


@given(st.integers(0, 2**31))
def test_random_plans_are_the_same_for_the_same_seed_and_within_their_ranges(seed):
    drawn, again = (draw_plans(20, seed, (1, 3), [(2, 5)], (1, 1)) for _ in "12")
    assert drawn == again
    assert {plan.workers for plan in drawn} == {1}
    assert all(2 <= plan.executors[0] <= 5 and 1 <= plan.nodes <= 3 for plan in drawn)


def test_a_grid_that_is_too_large_is_refused():
    with pytest.raises(InvalidInput, match="at most 10,000,000"):
        list_grid(range(1, 1001), [range(1, 101), range(1, 101)], [1, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[2, 4]", "[2, 64]"), "64 executors of bolt; expected at most as many as it has tasks"),
        (("bolt: [2, 4]", "blot: [2, 4]"), "unknown operator 'blot'"),
        (("[1000, 20000, 60000]", "[0]"), "rates"),
        (("[1000, 20000, 60000]", "[]"), "no rates"),
        (("job.yaml", "none.yaml"), "none.yaml"),
        (("node: {", "models: [magic]\nnode: {"), "magic"),
        (("node: {", "replicas: 3\nnode: {"), "replicas are of what was measured"),
    ],
)
def test_what_makes_no_sense_is_refused(files, change, message):
    with pytest.raises(InvalidInput, match=message):
        sg.sweep(files(SWEEP.replace(*change)))


def test_a_job_without_a_load_is_refused(files):
    with pytest.raises(NotEnoughData, match="add a workload"):
        sg.sweep(files(job=JOB.partition("workload")[0]))


@pytest.mark.parametrize("text", ["cost", "cost<", "costs<3", "cost<3 or p99<1", "cost<3 and"])
def test_conditions_are_figures_compared_with_numbers(text):
    with pytest.raises(InvalidInput, match="--where"):
        read_conditions(text)


def test_a_figure_that_no_model_gives_cannot_decide(files):
    with pytest.raises(InvalidInput, match="add a model that predicts it"):
        sg.sweep(files(), best="p99")


points = st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=30)


@given(points)
def test_the_front_is_what_nothing_else_dominates(given_points):
    """By brute force over all pairs."""
    front = {given_points[place] for place in find_front([*np.asarray(given_points, float).T])}

    def is_dominated(point):
        return any(
            other != point and all(a <= b for a, b in zip(other, point, strict=True))
            for other in given_points
        )

    assert front == {point for point in given_points if not is_dominated(point)}


def test_replicas_are_resampled_profiles(project, tmp_path):
    examples = project / "examples"
    path = tmp_path / "sweep.yaml"
    path.write_text(
        f"""
streamgauge: 1
sweep: chance
job: {examples / "word-count.profile.json"}
plans: {{list: ["<2,8,2,4,1>"]}}
rates: [2000]
models: [analytic]
replicas: 3
node: {{cores: 4}}
"""
    )
    latencies = sg.sweep(path).columns["mean"]
    assert len(set(latencies.tolist())) == 3
    assert np.ptp(latencies) < 0.05 * latencies.mean()


def test_the_example_finds_a_plan(project):
    report = sg.sweep(
        project / "examples/sweeps/word-count.yaml", best="cost", where="rate=60000 and p99<0.01"
    )
    assert report.verdict.word.startswith("<")
    assert len(report.charts) >= 4
    assert all(chart.svg().startswith("<svg") for chart in report.charts)


def test_the_command_prints_one_document_and_leaves_with_three_without_a_plan(
    files, monkeypatch, capsys
):
    command = f"streamgauge sweep {files()} --where cost<1 --json"
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as leaving:
        main()
    document = json.loads(capsys.readouterr().out)
    assert leaving.value.code == 3
    assert (document["cases"], document["feasible"], document["where"]) == (48, 0, ["cost<1"])


def test_spark_is_asked_where_one_process_would_take_minutes(files):
    wanted = api._guess_seconds
    text = SWEEP + "models: [analytic]\n"
    from streamgauge.planning.sweeping.files.sweep_file import load_sweep

    small = load_sweep(files(text), api.load_job)
    assert wanted(small, list(small.blocks())) < api.WORTH_SPARK_SECONDS
    many = load_sweep(
        files(text.replace("[1000, 20000, 60000]", str([float(n) for n in range(1, 301)]))),
        api.load_job,
    )
    assert wanted(many, list(many.blocks())) > api.WORTH_SPARK_SECONDS


def test_without_a_condition_on_it_plans_are_compared_at_the_highest_rate_that_any_carries(files):
    """Four bolts do 190k tuples/s, two 95k: at 150k only some fit, at 1M none."""
    report = sg.sweep(files(SWEEP.replace("60000]", "150000, 1000000]")))
    assert {float(report.columns["rate"][place]) for place in report.ranked} == {150_000.0}
    assert all(one["rate"] == 150_000.0 for one in report.to_dict()["best"])
    assert {one["rate"] for one in report.to_dict()["front"]} == {1000.0, 20000.0, 150000.0}
