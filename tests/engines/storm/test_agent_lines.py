"""Lines that agents wrote in three workers of a real topology, which knew nothing of us."""

import gzip
import hashlib
from collections import Counter
from pathlib import Path

import pytest

from streamgauge.lake.histogram import bounds_of
from streamgauge.lake.plans import plan_id_of
from streamgauge.lake.raw import Event, Link, Plan, Sample, decode
from streamgauge.profile.files.jobs import parse_job

RECORDED = Path(__file__).parent / "data" / "agent-lines.jsonl.gz"


@pytest.fixture(scope="module")
def records():
    return [decode(line) for line in gzip.decompress(RECORDED.read_bytes()).splitlines()]


@pytest.fixture(scope="module")
def samples(records):
    return [one for one in records if isinstance(one, Sample)]


@pytest.fixture(scope="module")
def plan(records):
    (found,) = (one for one in records if isinstance(one, Plan))
    return found


def summed(samples, metric, *keys):
    sums = Counter()
    for one in samples:
        if one.metric == metric:
            sums[tuple(getattr(one, key) for key in ("bucket_start_us", *keys))] += one.value
    return sums


def test_every_line_is_accepted(records):
    assert {type(one) for one in records} == {Sample, Plan, Link, Event}


def test_the_plan_has_a_job_file_whose_tasks_it_places(plan):
    topology = parse_job(plan.document).topology
    tasks = Counter()
    for one in plan.executors:
        tasks[one.component] += one.last_task - one.first_task + 1
    assert tasks.pop("__acker") == 3
    assert tasks == {operator.name: operator.tasks for operator in topology.operators}


def test_the_plans_id_follows_from_executors_and_workers(plan):
    lines = []
    for one in sorted(plan.executors, key=lambda one: one.first_task):
        last = "" if one.first_task == one.last_task else f"-{one.last_task}"
        lines.append(f"{one.component}[{one.first_task}{last}] {one.worker}\n")
    assert hashlib.sha256("".join(lines).encode()).hexdigest()[:12] == plan.plan_id


def test_others_that_see_the_plan_call_it_the_same(plan):
    assert plan_id_of(plan.executors) == plan.plan_id


def test_all_workers_know_the_plan(samples, plan):
    assert {one.plan_id for one in samples if one.topology} == {plan.plan_id}


def test_copies_sent_are_those_that_went_to_tasks(samples):
    sent = summed(samples, "sent", "task", "stream")
    assert sent
    assert sent == summed(samples, "transferred", "source_task", "stream")


def test_every_execution_is_timed_once_and_lies_in_one_bin(samples):
    keys = ("task", "source_component", "stream")
    executed = summed(samples, "executed", *keys)
    assert executed
    assert executed == summed(samples, "execute_latency_bin", *keys)


def test_sums_lie_within_the_edges_of_their_bins(samples):
    keys = ("task", "source_component", "stream")
    low, high = Counter(), Counter()
    for one in samples:
        if one.metric == "execute_latency_bin":
            series = (one.bucket_start_us, *(getattr(one, key) for key in keys))
            low[series] += one.value * bounds_of(one.bin)[0]
            high[series] += one.value * bounds_of(one.bin)[1]
    for series, total in summed(samples, "execute_latency_sum", *keys).items():
        assert low[series] <= total <= high[series]


def test_a_bolts_thread_is_either_busy_or_idle(samples):
    busy = summed(samples, "execute_latency_sum", "executor")
    idle = summed(samples, "executor_idle", "executor")
    assert busy
    for series, nanoseconds in busy.items():
        assert nanoseconds + idle[series] == pytest.approx(5e9, rel=0.1)


def test_counters_of_the_engine_rest_on_one_tuple_in_twenty(samples):
    totals = [one for one in samples if one.metric == "executed_total"]
    assert totals
    assert all(one.value == 20 * one.count for one in totals)


def test_one_worker_speaks_for_the_machine(samples):
    readings = Counter(one.bucket_start_us for one in samples if one.metric == "machine_cpu")
    assert set(readings.values()) == {1}


def test_workers_tell_of_their_beginning_and_end(records):
    kinds = Counter(one.kind for one in records if isinstance(one, Event))
    assert kinds == {"start": 3, "stop": 3}
