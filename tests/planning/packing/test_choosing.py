"""Plans judged by latency: what is chosen, what is dominated, and what is held beside it."""

from dataclasses import replace

import pytest

import streamgauge as sg
from streamgauge.errors import Infeasible, InvalidInput
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.retasking import with_tasks
from streamgauge.planning.packing.choosing import mark_dominated
from streamgauge.planning.packing.deployment import RecordedPlatform, choose_option, deploy
from streamgauge.profile.files.jobs import parse_job
from tests.planning.packing.random_jobs import make_catalogue

JOB = """\
streamgauge: 1
topology:
  name: tiny
  operators:
    in: {kind: source, tasks: 2}
    work: {tasks: 2}
    out: {tasks: 1}
  streams:
    - {from: in, to: work, grouping: shuffle}
    - {from: work, to: out, grouping: shuffle}
behaviours:
  work: {service: {cpu_ms: 2}, outputs: {default: 1}}
  out: {service: {cpu_ms: 0.5}}
workload: [{source: in, per_second: 600}]
configuration: {executors: {in: 2, work: 2, out: 1}, engine: storm-2}
"""
CATALOGUE = make_catalogue(sizes=(1, 2, 4))


@pytest.fixture(scope="module")
def report() -> sg.PackingReport:
    return sg.pack(
        parse_job(JOB), CATALOGUE, rate=2400, objective="p99<100ms", options=3, copies=10
    )


def test_instances_follow_from_the_load(report):
    # 2400 a second of 2 ms at 90 %: 5.3 executors; of 0.5 ms: 1.3; sources of 300 each: 8.
    best = report.choice.chosen.best
    executors = best.job.executors()
    assert (executors["in"], executors["work"] >= 6, executors["out"] >= 2) == (8, True, True)
    assert best.job.per_second == pytest.approx(2400.0)


def test_m_20_the_plan_keeps_all_capacities_and_every_executor_runs_once(report):
    best = report.choice.chosen.best
    assert list(best.plan.violations()) == []
    assert len(best.physical.placement) == len(best.physical.logical.executors)
    cores = [one.machines[0].cores for one in [best.physical.cluster]]
    assert cores == [best.plan.machines[0].cores]


def test_what_meets_the_objective_is_never_dearer_than_meezan_that_meets_it(report):
    for option in report.choice.options:
        assert option.best.meets
        if option.meezan.meets:
            assert option.best.price <= option.meezan.price + 1e-9


def test_m_04_the_spectrum_goes_from_one_source_to_the_whole_load_and_grows(report):
    options = report.choice.options
    assert [one.sources for one in options] == [1, 4, 8]
    assert [one.per_second for one in options] == pytest.approx([300.0, 1200.0, 2400.0])
    assert options[0].best.price < options[-1].best.price


def test_options_that_carry_less_for_as_much_are_dominated(report):
    first, second, last = report.choice.options
    dear = replace(second, best=last.best)
    assert [one.is_dominated for one in mark_dominated([first, dear, last])] == [False, True, False]


def test_m_16_the_comparison_has_costs_fragmentation_and_throughput_of_all(report):
    rivals = {rival.name: rival.judged for rival in report.choice.rivals}
    assert list(rivals) == ["meezan", "exact program", "round robin"]
    exact, meezan = rivals["exact program"], rivals["meezan"]
    assert exact.plan.proven - 1e-9 <= meezan.price
    assert rivals["round robin"].plan.machines[0] == CATALOGUE.largest_first[0]
    assert len(rivals["round robin"].plan.machines) == len(exact.plan.machines)
    text = report.to_text()
    for heading in ("unused", "product", "each", "lower bound", "What runs where"):
        assert heading in text


def test_m_18_the_chosen_option_is_deployed_through_the_hook_of_a_platform(report):
    option = choose_option(report.choice.options, 4)
    platform = RecordedPlatform()
    hosts = deploy(option.best, platform)
    assert platform.bought == [machine.name for machine in option.best.plan.machines]
    [(plan, named)] = platform.started
    assert plan is option.best.physical
    assert list(named) == [node.name for node in plan.cluster.nodes] == list(hosts)
    with pytest.raises(InvalidInput, match="expected one of 1, 4, 8"):
        choose_option(report.choice.options, 5)


def test_the_placed_job_comes_back_and_is_predicted_alike(report):
    placed = report.placed_job()
    again = AnalyticModel().predict(
        JobBehaviour.from_job(placed), placed.explicit_plan(), placed.workload
    )
    chosen = report.choice.chosen.best.prediction
    assert again.latency.quantiles[0.99] == pytest.approx(chosen.latency.quantiles[0.99], rel=0.02)


def test_an_objective_that_cannot_be_met_says_the_best_there_is():
    report = sg.pack(parse_job(JOB), CATALOGUE, objective="p99<0.5ms", options=1)
    assert report.verdict.word == "Not feasible"
    assert report.verdict.grade == "bad"
    assert "no plan meets p99<500us" in str(report.verdict) or "no plan meets" in str(
        report.verdict
    )


def test_a_tighter_objective_never_costs_less():
    prices = [
        sg.pack(parse_job(JOB), CATALOGUE, objective=goal, options=1).choice.chosen.best.price
        for goal in ("p99<1s", "p99<12ms")
    ]
    assert prices[0] <= prices[1] + 1e-9


def test_an_executor_larger_than_every_machine_is_named():
    big = JOB.replace(
        "engine: storm-2}",
        "engine: storm-2, resources: {work: {memory_bytes: 99000000000}},"
        " settings: {topology.worker.max.heap.size.mb: 200000}}",
    )
    with pytest.raises(
        Infeasible, match=r"an instance of work .*the most that a type leaves is 32"
    ):
        sg.pack(parse_job(big), CATALOGUE, options=1)


def test_a_profile_without_bytes_is_refused_where_the_network_is_limited():
    limited = replace(
        CATALOGUE,
        machines=tuple(replace(m, network_bytes_per_second=1e8) for m in CATALOGUE.machines),
    )
    with pytest.raises(InvalidInput, match=r"no size of the tuples of in/default.*--tuple-bytes"):
        sg.pack(parse_job(JOB), limited, options=1)
    report = sg.pack(parse_job(JOB), limited, options=1, tuple_bytes=100.0)
    needs = report.choice.chosen.best.plan.instances
    # 600 a second leave the sources, come to and leave `work`, and come to `out`.
    assert needs.total[3] == pytest.approx(4 * 600 * 100.0)


def test_throughput_is_no_objective_here():
    with pytest.raises(InvalidInput, match="--rate"):
        sg.pack(parse_job(JOB), CATALOGUE, objective="rate>=100")


def test_other_numbers_of_tasks_leave_means_as_they_are():
    behaviour = JobBehaviour.from_job(parse_job(JOB))
    wide = with_tasks(behaviour, {"work": 7})
    assert wide.topology.operator("work").tasks == 7
    [one] = wide.operators["work"].inputs.values()
    assert one.outputs["default"].by_task.value.tolist() == [1.0] * 7
    assert with_tasks(behaviour, {"work": 2}) is behaviour
