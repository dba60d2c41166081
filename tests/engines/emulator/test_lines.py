"""What is written is what receivers take; reading it back has checked every line."""

import dataclasses
from datetime import UTC, datetime

from streamgauge.lake.definition import Kind
from streamgauge.lake.metrics import METRICS
from streamgauge.lake.plans import plan_id_of
from streamgauge.profile.files.jobs import parse_job
from tests.engines.emulator.emulations import ACKED, JOINED, emulated, run

START = 1_767_225_600_000_000


def test_no_two_samples_have_the_same_key(any_job):
    said = {"plan_id", "bucket_seconds", "value", "count"}
    columns = [field.name for field in dataclasses.fields(any_job.samples[0])]
    keys = {
        tuple(getattr(one, column) for column in columns if column not in said)
        for one in any_job.samples
    }
    assert len(keys) == len(any_job.samples)


def test_every_worker_has_a_heartbeat_in_every_bucket(any_job):
    beats = {(one.worker, one.bucket_start_us) for one in any_job.of("worker_heartbeats")}
    starts = {one.bucket_start_us for one in any_job.samples}
    workers = {str(worker) for worker in any_job.plan.workers}
    assert beats == {(worker, start) for worker in workers for start in starts}


def test_buckets_follow_each_other_and_the_last_ends_with_the_run(acked):
    ends = {one.bucket_start_us: one.bucket_seconds for one in acked.samples}
    assert sorted(ends) == [START + 3_000_000 * n for n in range(6)]
    assert [ends[start] for start in sorted(ends)] == [3.0] * 5 + [1.0]


def test_tasks_have_the_numbers_of_the_plan(acked):
    # Storm 2.x numbers by name: __acker 1-2, a 3-5, b 6, s 7-8.
    tasks = {(one.component, one.task) for one in acked.samples if one.task is not None}
    assert tasks == {("a", 3), ("a", 4), ("a", 5), ("b", 6), ("s", 7), ("s", 8)}


def test_what_is_sent_is_measured_by_the_sender(acked):
    workers = {one.worker for one in acked.of("transferred", source_task=7)}
    assert workers == {one.worker for one in acked.of("emitted", task=7)}


def test_exact_counts_and_bins_count_what_they_say(any_job):
    for one in any_job.samples:
        metric = METRICS[one.metric]
        exact = metric.counts_observations and metric.kind is not Kind.CUMULATIVE
        assert one.count == one.value if exact else one.count >= 1


def test_the_plan_says_who_runs_where_and_its_document_is_the_job(acked):
    (plan,) = acked.plans
    assert (plan.valid_from_us, plan.valid_to_us) == (START, START + 16_000_000)
    placed = {(one.component, one.first_task, one.last_task) for one in plan.executors}
    assert placed == {
        (one.operator, one.first_task, one.last_task) for one in acked.plan.logical.executors
    }
    machines = {one.node: one.machine for one in plan.executors}
    assert machines == {"n1": "m1", "n2": "m2"}
    job = parse_job(plan.document)
    assert job.explicit_plan() == acked.plan
    assert job.behaviours == parse_job(ACKED).behaviours


def test_plans_are_called_by_the_rule_of_all_writers(acked):
    (plan,) = acked.plans
    assert plan.plan_id == plan_id_of(plan.executors)
    assert {one.plan_id for one in acked.samples if one.topology} == {plan.plan_id}


def test_events_enclose_the_run(tmp_path):
    found = emulated(
        JOINED,
        tmp_path,
        seconds=2.0,
        bucket_seconds=1.0,
        step="step-1",
        cluster="lab",
        trace_every=0,
    )
    kinds = [(one.kind, one.name, one.happened_at_us - START) for one in found.events]
    assert kinds == [
        ("step-begin", "step-1", 0),
        ("start", None, 0),
        ("stop", None, 2_000_000),
        ("step-end", "step-1", 2_000_000),
    ]
    assert {one.cluster for one in found.samples} == {"lab"}


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(tmp_path):
    options = {"seconds": 2.0, "bucket_seconds": 1.0, "trace_every": 3}
    for name, seed in (("first", 3), ("again", 3), ("other", 4)):
        run(ACKED, tmp_path / name, seed=seed, **options)
    first, again, other = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("first", "again", "other")
    )
    assert first == again
    assert all(first[name] != other[name] for name in first if name.startswith("samples"))


def test_time_begins_when_it_is_told_to(tmp_path):
    begun = datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC)
    found = emulated(JOINED, tmp_path, seconds=1.0, bucket_seconds=1.0, started_at=begun)
    assert {one.bucket_start_us for one in found.samples} == {1_741_064_767_000_000}
