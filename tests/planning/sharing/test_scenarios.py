"""Henge's published experiments, H1 to H18, and what was said of them; figures are ours."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from streamgauge.planning.sharing.files.shared_cluster_file import (
    json_schema,
    load_shared_cluster,
)
from streamgauge.planning.sharing.henge import Henge, Mode, Rule
from streamgauge.planning.sharing.offered import Diurnal
from streamgauge.planning.sharing.policy import load_policy
from streamgauge.topology.files.document import read_document

FOLDER = Path(__file__).parents[3] / "examples/sharing/henge"
NAMES = sorted(path.stem for path in FOLDER.glob("h*.yaml"))


@cache
def load(name):
    return load_shared_cluster(FOLDER / f"{name}.yaml")


@cache
def run(name, policy="henge", seed=1):
    (course,) = load(name).replay([load_policy(policy)], seed)
    return course


def at(course, seconds):
    """The step of a time."""
    return round(seconds / course.step_seconds)


def rules(course):
    return [one.decision.rule for one in course.acted]


def changed(course):
    """Jobs in the order in which they were reconfigured."""
    return [
        job
        for one in course.acted
        if one.decision.rule is Rule.RECONFIGURATION
        for job in one.decision.executors
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_follows_the_schema_and_names_its_policies(name):
    Draft202012Validator(json_schema()).validate(read_document(FOLDER / f"{name}.yaml").data)
    assert load(name).about
    assert load(name).policies


def test_there_is_a_file_for_each_of_the_18():
    assert {name[:3] for name in NAMES} == {f"h{number:02}" for number in range(1, 19)}


def test_h1_the_same_executors_do_not_bring_the_same():
    left = []
    for seed in range(1, 9):
        course = run("h01", "static", seed)
        before, after = (course.latency_seconds[at(course, one), 0] for one in (900, 2690))
        left.append(after / before)
    assert min(left) < 0.1
    assert max(left) > 0.9


def test_h2_juice_is_below_one_while_the_queue_grows_and_one_once_it_is_gone():
    course = run("h02", "static")
    juice, lag = course.juice[:, 0], course.lag[:, 0]
    assert (juice[: at(course, 900)] < 0.97).all()
    assert (np.diff(lag[: at(course, 900)]) > 0).all()
    assert (lag[at(course, 1000) :] == 0.0).all()
    assert juice[at(course, 1010) :] == pytest.approx(1.0)


def test_h3_juice_is_one_again_after_three_times_as_much_comes():
    course = run("h03")
    assert (course.juice[: at(course, 900)] < 0.99).any()
    assert course.juice[at(course, 3000) : at(course, 4000)] == pytest.approx(1.0)
    assert course.juice[at(course, 5734) :] == pytest.approx(1.0)
    # A filter passes on less than half.
    assert course.offered[-1] == pytest.approx(1560.0)


def latencies_by_executors():
    course = run("h04", "static")
    return dict(zip((5, 10, 15, 20, 25), 1e3 * course.latency_seconds[-1], strict=True))


def test_h4_few_executors_miss_and_strict_objectives_need_more():
    latencies = latencies_by_executors()
    assert latencies[5] > 70.0
    assert latencies[10] > 70.0
    needed = [min(n for n, ms in latencies.items() if ms <= slo) for slo in (70, 60)]
    assert needed == sorted(needed)
    assert needed[0] < needed[1]
    assert min(latencies.values()) > 50.0


@cache
def run_line(latency_ms, times):
    """Rounds, executors of `work` at the end, and whether the objective is met then."""
    cluster = load("h05")
    (line,) = cluster.jobs
    slo = replace(line.slo, latency_seconds=latency_ms / 1e3)
    line = replace(line, slo=slo, offered=Diurnal(mean=times * 269.0))
    (course,) = replace(cluster, jobs=(line,)).replay([Henge()], 1)
    # All but `work` stay as they are: a source, and 200 of `report`.
    return len(changed(course)), int(course.executors[-1, 0]) - 201, bool(course.met[-1, 0])


def test_h5_two_published_rows_come_out_as_calibrated():
    assert run_line(70, 1) == (1, 18, True)
    assert run_line(60, 1) == (2, 21, True)


def test_h5_the_other_rows_are_of_the_published_order():
    # Published: 36 executors in 2 rounds, 44 in 5; no objective of 50 ms is met.
    rounds, executors, met = run_line(70, 2)
    assert (rounds, met) == (2, True)
    assert executors == pytest.approx(36, rel=0.25)
    rounds, executors, _ = run_line(60, 2)
    assert 2 <= rounds <= 7
    assert executors == pytest.approx(44, rel=0.25)
    assert not run_line(50, 2)[2]
    # The strictest is given up no later.
    assert run_line(40, 2)[:2] <= run_line(50, 2)[:2]


def test_h6_the_most_valuable_goes_first_and_all_meet_within_15_minutes():
    course = run("h06")
    order = list(dict.fromkeys(changed(course)))
    assert order[0] == "t9"
    assert order == sorted(order, reverse=True)
    assert course.met[at(course, 900 + 900) :].all()


def test_h7_hybrid_objectives_are_met_mostly_with_one_step_each():
    course = run("h07")
    steps = [changed(course).count(job) for job in course.jobs]
    assert course.met[at(course, 1900) :].all()
    assert sum(one <= 1 for one in steps) >= 8
    assert max(steps) <= 3


def test_h8_tails_are_cut_with_one_step_each():
    course = run("h08")
    assert course.met[-1].all()
    assert max(changed(course).count(job) for job in course.jobs) == 1
    before = course.latency_seconds[at(course, 890)]
    assert (course.latency_seconds[-1] < before).all()


def test_h9_spikes_are_processed_and_utility_stays_at_its_maximum():
    course = run("h09")
    spikes = slice(at(course, 3700), None)
    assert course.juice[spikes].mean() == pytest.approx(1.0, abs=0.01)
    assert np.mean(course.system[at(course, 3600) :] >= 0.99) > 0.95


@pytest.mark.slow
def test_h10_henge_learns_the_day_and_does_what_a_person_would():
    henge, default = run("h10"), run("h10", "static")
    manual = run("h10-manual", "static")
    assert henge.satisfaction > 0.8
    assert default.satisfaction < 0.3
    assert henge.satisfaction > manual.satisfaction - 0.05
    half = len(henge.system) // 2
    assert henge.met[half:].mean() > henge.met[:half].mean()
    first = sum(one.at < 4 * 3600 for one in henge.acted)
    assert first > len(henge.acted) / 2


def test_h11_the_constant_job_is_best_and_the_short_one_worst():
    course = run("h11")
    late = course.share[at(course, 1800) :]
    low = np.quantile(late, 0.05, axis=0)
    assert low[4] == 1.0
    assert np.median(late, axis=0).argmin() == 3


def test_h12_henge_reverts_to_the_best_that_it_has_seen():
    cluster, henge = load("h12"), Henge()
    (course,) = cluster.replay([henge], 1)
    assert Rule.REVERSION in rules(course)
    assert henge.state.mode is Mode.CONVERGED
    best = max(henge.state.history, key=lambda one: one.utility)
    reverted = next(one for one in reversed(course.acted) if one.decision.rule is Rule.REVERSION)
    for job, executors in reverted.decision.executors.items():
        assert executors.items() <= best.executors[job].items()
    assert 0.4 < course.final < 0.95


def test_h13_a_spike_of_other_programs_is_got_over_within_20_minutes():
    course = run("h13")
    before = course.system[at(course, 3000) : at(course, 3600)].mean()
    assert course.system[at(course, 3700) : at(course, 4200)].mean() < before - 0.05
    assert [one for one in course.acted if 3600 <= one.at < 4800]
    assert course.system[at(course, 4200 + 1200) :].mean() == pytest.approx(before, abs=0.03)


def test_h14_stateful_jobs_take_no_fewer_steps():
    course = run("h14")
    steps = {job: changed(course).count(job) for job in course.jobs}
    stateless = [count for job, count in steps.items() if job.startswith("stateless")]
    stateful = [count for job, count in steps.items() if job.startswith("stateful")]
    assert course.met[-1].all()
    assert np.mean(stateful) > np.mean(stateless)


@pytest.mark.slow
def test_h15_jobs_that_join_are_satisfied_until_there_is_contention():
    course = run("h15")
    for hour in (2, 4, 6):
        assert course.system[at(course, hour * 3600 - 600) : at(course, hour * 3600)].min() > 0.95
    steps = np.asarray([changed(course).count(job) for job in course.jobs])
    assert steps[:5].mean() <= steps[5:].mean() + 1.0
    assert course.present[-1].sum() == 85


def with_machines(number):
    cluster = load("h16")
    more = replace(cluster, machines=cluster.machines[:1] * number)
    (course,) = more.replay([load_policy("henge")], 1)
    return course


@pytest.mark.slow
def test_h16_more_machines_satisfy_more_jobs():
    courses = [with_machines(number) for number in (10, 20, 30, 40)]
    last = [one.share[-60:].mean(axis=0) for one in courses]
    low = [np.quantile(one, 0.05) for one in last]
    assert low == sorted(low)
    assert low[0] < 0.6 < low[-1]
    satisfied = [np.mean(one >= 0.99) for one in last]
    assert 0.0 < satisfied[0] < 0.5 < satisfied[-1]
    # Where cores are scarce there are more reconfigurations.
    assert len(courses[0].acted) > len(courses[-1].acted)


def test_h17_nothing_is_done_in_an_outage_nor_five_minutes_after():
    course = run("h17")
    times = [one.at for one in course.acted]
    # What was seen just before the outage may still be acted on: policies see a window late.
    assert not [one for one in times if 1030 < one < 1680]
    assert [one for one in times if one <= 1030]
    assert [one for one in times if one >= 1680]
    assert course.met[-1].all()


def test_h18_joins_reach_all_of_their_utility_and_keep_it():
    course = run("h18")
    assert (course.system[at(course, 2444) :] == 1.0).all()
