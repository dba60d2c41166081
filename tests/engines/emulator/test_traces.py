"""Traces are whole paths of roots that have ended, with times that the simulation confirms."""

from itertools import pairwise

import pytest

from streamgauge.engines.emulator.subjects import Subjects
from streamgauge.engines.emulator.traces import Tracer
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.topology_run import Tracing, simulate
from tests.engines.emulator.emulations import ACKED, PACED, emulated


def test_paths_lead_from_a_source_to_a_sink(acked, joined):
    ways = {tuple(hop.component for hop in one.hops) for one in joined.traces}
    assert ways == {("l", "j", "out"), ("r", "j", "out")}
    good = {tuple(h.component for h in one.hops) for one in acked.traces if one.outcome == "acked"}
    assert good == {("s", "a", "b")}


def test_hops_follow_each_other_and_make_up_the_latency(any_job):
    for one in any_job.traces:
        assert one.hops[0].arrived_ns <= one.hops[0].started_ns <= one.hops[0].finished_ns == 0
        spans = sum(after.finished_ns - before.finished_ns for before, after in pairwise(one.hops))
        assert spans == one.latency_ns
        for before, after in pairwise(one.hops):
            assert before.finished_ns <= after.arrived_ns <= after.started_ns


def test_latencies_are_those_of_the_result(acked):
    latency = acked.result.operators["b"].latency
    low, high = latency.quantile(0.0), latency.quantile(1.0)
    found = [1e-9 * one.latency_ns for one in acked.traces if len(one.hops) == 3]
    assert len(found) > 100
    assert low * 0.98 <= min(found) <= max(found) <= high * 1.02


def test_to_its_source_a_tuple_comes_when_it_is_due(tmp_path):
    # Every tuple, 100 a second at random: no queue to speak of, so that lateness is what is left
    # of a sleep of 1.09 ms, even over it, and 0.1 ms of service.
    job = emulated(PACED, tmp_path, seconds=60.0, trace_every=1)
    late = [-1e-6 * one.hops[0].arrived_ns for one in job.traces]
    assert len(late) == job.executed("b")
    assert sum(late) / len(late) == pytest.approx(0.645, abs=0.02)
    assert min(late) >= 0.1 and sorted(late)[len(late) * 9 // 10] == pytest.approx(1.081, abs=0.02)
    since_due = sum(one.latency_ns - one.hops[0].arrived_ns for one in job.traces)
    assert since_due == pytest.approx(1e9 * job.result.since_due.total_seconds, rel=1e-6)


def test_every_path_of_a_traced_root_is_written(tmp_path):
    job = emulated(ACKED, tmp_path, seconds=16.0, trace_every=1)
    to_sink = [one for one in job.traces if one.hops[-1].component == "b"]
    # Of a root that failed in `a`, one or two tuples come to `b` when it has ended.
    late = 2 * job.result.roots_failed
    assert job.executed("b") - late <= len(to_sink) <= job.executed("b")
    roots = {one.root: one.outcome for one in job.traces}
    assert list(roots.values()).count("failed") == job.result.roots_failed
    assert list(roots.values()).count("acked") == job.result.roots_acked


def test_paths_of_a_root_are_numbered(acked):
    paths = {}
    for one in acked.traces:
        paths.setdefault(one.root, []).append(one.path)
    assert any(len(found) == 2 for found in paths.values())
    assert all(found == list(range(len(found))) for found in paths.values())


def test_only_acked_roots_are_complete(acked, joined):
    for one in acked.traces:
        assert (one.complete_latency_ns is not None) == (one.outcome == "acked")
    assert {one.outcome for one in joined.traces} == {"arrived"}
    assert {one.complete_latency_ns for one in joined.traces} == {None}


def test_hops_have_the_keys_that_were_drawn(acked):
    keys = {hop.key for one in acked.traces for hop in one.hops if hop.component == "a"}
    assert keys <= {f"key{n:02d}" for n in range(1, 21)} | {f"key{n:02d}" for n in range(20)}
    assert len(keys) > 3
    assert {hop.key for one in acked.traces for hop in one.hops if hop.component != "a"} == {None}


def test_hops_are_where_fields_grouping_sends_their_key(acked):
    tasks = {}
    for hop in (hop for one in acked.traces for hop in one.hops if hop.component == "a"):
        assert tasks.setdefault(hop.key, hop.task) == hop.task


def test_a_root_that_is_open_at_the_end_is_left_out(windowed):
    assert windowed.result.open_roots > 0
    assert {one.outcome for one in windowed.traces} == {"acked"}


def traced(text, *, seconds, most_hops):
    """The traces of a run that keeps few hops, and who made them."""
    job = parse_job(text)
    plan = place_job(job).plan
    subjects = Subjects(plan, plan_id="p", cluster=None)
    tracers, traces = [], []

    def look(state, compiled):
        tracers.append(
            tracers[0] if tracers else Tracer(subjects, compiled, 0, most_hops=most_hops)
        )
        traces.extend(tracers[0].take(state))

    tracing = Tracing(bucket_seconds=1.0, trace_every=1, look=look)
    simulate(plan, job.behaviours, job.workload, seconds=seconds, seed=1, tracing=tracing)
    return tracers[0], traces


def test_old_roots_are_forgotten_where_there_is_no_room():
    _, every = traced(ACKED, seconds=6.0, most_hops=10_000)
    tracer, some = traced(ACKED, seconds=6.0, most_hops=8)
    assert tracer.incomplete
    assert 0 < len(some) < len(every)
    assert {(one.root, one.hops) for one in some} <= {(one.root, one.hops) for one in every}


def test_nothing_is_traced_unless_asked_for(pressed):
    assert pressed.traces == ()
