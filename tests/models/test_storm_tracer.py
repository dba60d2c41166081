"""The published chain for Storm 1.x, against its own worked figures and closed forms."""

import math

import numpy as np
import pytest
from scipy import stats

from streamgauge.errors import InvalidInput
from streamgauge.models.delays import Part
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.prediction import Verdict
from streamgauge.models.storm_tracer import StormTracerModel, thread_wait
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    OutputFigures,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.files.jobs import parse_job
from streamgauge.profile.profile import Profile
from streamgauge.topology.topology import StreamKey
from streamgauge.transport.batched_queue import BatchedQueue, Flush
from tests.models.exact_executor import mean_sojourn

JOB = """
streamgauge: 1
topology:
  name: t
  acked: {acked}
  operators:
    s: {{kind: source}}
    a: {{tasks: {tasks}, {window}}}
    b: {{tasks: 1}}
  streams:
    - {{from: s, to: a, grouping: shuffle}}
    - {{from: a, to: b, grouping: shuffle}}
configuration:
  engine: {engine}
  executors: {{a: {executors}}}
  workers: {workers}
  settings: {{topology.disruptor.batch.size: {batch}}}
cluster: {{uniform: {{nodes: {workers}, slots: 1, cores: 64, latency_ms: 0.3}}}}
workload: [{{source: s, per_second: {rate}}}]
"""
FLUSH = 0.001
FROM_S, FROM_A = StreamKey("s", "default"), StreamKey("a", "default")


def times(mean_ms):
    return TimeFigures(mean_ms=Figure(value=mean_ms), scv=Figure(value=1.0))


def predicted(rate, *, a=2.0, b=1.0, window="", trigger_ms=0.0, **more):
    """s → a → b, a and b with so many milliseconds for a tuple."""
    usual = {"acked": "false", "tasks": 1, "engine": "storm-1", "executors": 1, "workers": 1}
    usual |= {"batch": 100, "window": window, "rate": rate}
    job = parse_job(JOB.format_map(usual | more))
    out = OutputFigures(coefficients={FROM_S: Figure(value=1.0)})
    fired = {}
    if window:
        out = OutputFigures(per_trigger=Figure(value=1.0))
        fired = {"window": times(trigger_ms), "window_cpu": times(trigger_ms)}
    tasks = {
        TaskId("a", place): TaskProfile(
            inputs={FROM_S: InputFigures(wall=times(a), cpu=times(a))},
            outputs={"default": out},
            **fired,
        )
        for place in range(job.topology.operator("a").tasks)
    }
    tasks[TaskId("b", 0)] = TaskProfile(inputs={FROM_A: InputFigures(wall=times(b), cpu=times(b))})
    profile = Profile(topology=job.topology, configuration=job.configuration, tasks=tasks)
    return StormTracerModel().predict(
        JobBehaviour.from_profile(profile), place_job(job).plan, job.workload
    )


@pytest.mark.parametrize("rate", [16.0, 5e3, 1e5, 3e5])
@pytest.mark.parametrize("limit", [2, 100])
def test_threads_wait_as_printed(rate, limit):
    """Eq. 4.35 summed up, term by term."""
    chances = stats.poisson.pmf(np.arange(limit), rate * FLUSH)
    interval = limit / rate * (1.0 - chances.sum()) + FLUSH * chances[1:].sum()
    found = thread_wait(rate, limit=limit, flush_seconds=FLUSH)
    assert found == pytest.approx(interval / 2.0, rel=1e-9)


def test_threads_hardly_wait_at_low_rates():
    """Flaw 1: 0.008 ms at 16 tuples/s, where half a flush interval is meant."""
    found = thread_wait([0.0, 16.0, 1e6], limit=100, flush_seconds=FLUSH)
    assert found == pytest.approx([0.0, 8e-6, 50e-6], rel=0.01)


def test_batches_of_one_are_m_m_1_queues():
    """200/s through servers of 2 and 1 ms, 1/(μ − λ) each, and two send threads."""
    found = predicted(200.0, batch=1)
    threads = 2 * thread_wait(200.0, limit=1, flush_seconds=FLUSH)
    assert found.latency.mean == pytest.approx(1 / 300 + 1 / 800 + threads)
    assert found.latency.parts[Part.BATCHING] == pytest.approx(threads)
    assert found.latency.parts[Part.QUEUEING] == pytest.approx(1 / 300 + 1 / 800 - 0.003)


def test_few_tuples_wait_for_a_whole_flush_in_every_executor_and_for_no_thread():
    """Flaws 1 and 10 together: what two half intervals within a worker come to."""
    found = predicted(0.01)
    assert found.latency.mean == pytest.approx(0.003 + 2 * FLUSH, rel=1e-3)
    apart = predicted(0.01, workers=3)
    assert apart.latency.mean == pytest.approx(0.003 + 2 * FLUSH + 2 * 0.0003, rel=1e-3)
    assert apart.latency.parts[Part.TRANSFER] == pytest.approx(0.0, abs=1e-7)


def test_what_a_send_thread_takes_at_once_comes_as_a_list():
    """3,000/s: a batch has λδ/(1 − e^(−λδ)) tuples (eq. 4.25), all for one executor."""
    size = 3.0 / -math.expm1(-3.0)
    queue = BatchedQueue(
        lists_per_second=3000.0 / size,
        list_size=size,
        flush_seconds=FLUSH,
        service_seconds=0.1e-3,
        flush=Flush.EXPONENTIAL,
    )
    found = predicted(3000.0, a=0.1, b=0.01).operators["a"]
    assert found.delay_seconds == pytest.approx(mean_sojourn(queue).total_seconds)
    assert found.parts["batching"] == pytest.approx(mean_sojourn(queue).batch_seconds)


@pytest.mark.parametrize(("executors", "seconds"), [(1, 0.3125), (16, 5.0)])
def test_a_window_by_count_is_filled_by_its_task(executors, seconds):
    """5.13: windows of ten at 16/s, and 3 ms when one fires."""
    found = predicted(
        16.0,
        executors=executors,
        tasks=executors,
        window="window: {length_tuples: 10}",
        trigger_ms=3.0,
    )
    assert found.latency.parts[Part.WINDOW] == pytest.approx(seconds + 0.003)


def test_tasks_of_one_executor_fill_windows_of_their_own():
    found = predicted(16.0, executors=4, tasks=16, window="window: {length_tuples: 10}")
    assert found.latency.parts[Part.WINDOW] == pytest.approx(5.0)


def test_a_window_by_time_waits_for_half_of_it():
    """5.14."""
    found = predicted(16.0, window="window: {length_seconds: 5}", trigger_ms=3.0)
    assert found.latency.parts[Part.WINDOW] == pytest.approx(2.503)


def test_it_knows_means_only_and_says_the_rest():
    found = predicted(16.0, acked="true", workers=2)
    assert found.model == "storm-tracer"
    assert found.verdict is Verdict.FITS
    assert set(found.operators) == {"s", "a", "b", "__acker"}
    assert not found.latency.quantiles
    assert math.isnan(found.latency.variance)
    assert not found.by_source["s"].quantiles
    assert found.by_source["s"].mean == found.latency.mean
    assert sum(found.latency.parts.values()) == pytest.approx(found.latency.mean)
    assert "means only" in found.notes[-1]


def test_overload_is_an_answer():
    found = predicted(600.0)
    assert found.overloaded == pytest.approx({"a[2]": 1.2})
    assert math.isinf(found.latency.mean)
    assert found.limit.per_second == pytest.approx(500)
    assert math.isinf(found.executors[1].delay_seconds)
    # Just below, it takes long but has an end.
    assert 1.0 < predicted(499.5).latency.mean < 10.0


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"engine": "storm-2"}, "storm-2"),
        ({"window": "window: {length_tuples: 10, slide_tuples: 5}"}, "slides"),
    ],
)
def test_what_the_thesis_does_not_model_is_refused(more, named):
    with pytest.raises(InvalidInput, match=named):
        predicted(16.0, **more)
