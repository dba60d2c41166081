"""What was written adds up to what the simulation itself says it did."""

import pytest

from streamgauge.lake.histogram import bounds_of
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation import topology_run
from streamgauge.simulation.topology_run import simulate
from tests.engines.emulator.emulations import ACKED, PACED, PRESSED, emulated, run

JOBS = ["acked", "windowed", "joined", "pressed"]


def operators(job):
    """Those that receive tuples of others."""
    return {stream.target for stream in job.plan.logical.topology.data_streams}


def test_watching_changes_nothing(tmp_path):
    job = parse_job(ACKED)
    _, watched = run(ACKED, tmp_path, seconds=5.0, bucket_seconds=0.7)
    alone = simulate(place_job(job).plan, job.behaviours, job.workload, seconds=5.0, seed=1)
    assert watched.executors == alone.executors
    assert watched.latency.total_seconds == alone.latency.total_seconds


def test_executions_add_up(any_job):
    for name in operators(any_job):
        assert any_job.total("executed", component=name) == any_job.executed(name)


def test_all_that_is_sent_is_executed_once_nothing_is_on_its_way(acked):
    sent = acked.by("transferred", "component", "task")
    assert sent == acked.by("executed", "component", "task")
    assert sent.total() > 1000


def test_what_is_sent_and_not_executed_is_on_its_way(any_job):
    for name in operators(any_job):
        on_its_way = any_job.total("transferred", component=name) - any_job.executed(name)
        assert 0 <= on_its_way <= 30


def test_copies_are_emissions_times_receivers(windowed):
    # To one task of `count` and both of `time`; to all three of `out`, or to one.
    sent = windowed.by("sent", "component")
    emitted = windowed.by("emitted", "component")
    assert sent["s",] == 3 * emitted["s",]
    assert sent["count",] == 3 * emitted["count",]
    assert sent["time",] == emitted["time",]
    assert windowed.total("sent") == windowed.total("transferred")


def test_histograms_count_every_execution(any_job):
    executed = any_job.by("executed", "task", "stream", "source_component")
    for metric in ("execute_latency_bin", "execute_cpu_bin"):
        assert any_job.by(metric, "task", "stream", "source_component") == executed
    waits = any_job.by("queue_sojourn_bin", "executor")
    assert waits == any_job.by("executed", "executor")
    acked = any_job.by("acked", "task", "stream", "source_component")
    assert any_job.by("process_latency_bin", "task", "stream", "source_component") == acked


def test_sums_lie_where_their_histograms_are(any_job):
    kinds = ("execute_latency", "execute_cpu", "process_latency", "emit_latency")
    for what in (*kinds, "complete_latency", "end_to_end_latency", "since_due_latency"):
        bins = any_job.of(f"{what}_bin")
        low = sum(one.value * bounds_of(one.bin)[0] for one in bins)
        high = sum(one.value * bounds_of(one.bin)[1] for one in bins)
        assert low * (1 - 1e-9) <= any_job.total(f"{what}_sum") + 1 <= high + 2


def test_sums_and_squares_have_the_moments_of_the_service(acked):
    # Exponential work with a mean of 2 ms: the mean square is twice the square of the mean.
    count, total = acked.count("execute_cpu_sum", component="a"), acked.executed("a")
    assert count == total
    mean = acked.total("execute_cpu_sum", component="a") / count
    square = acked.total("execute_cpu_squares", component="a") / count
    assert mean == pytest.approx(2e6, rel=0.1)
    assert square == pytest.approx(8e12, rel=0.2)


def test_engine_totals_are_within_one_window_of_twenty(any_job):
    for exact, columns in (
        ("executed", ("task", "stream", "source_component")),
        ("acked", ("task", "stream", "source_component")),
        ("failed", ("task", "stream", "source_component")),
        ("emitted", ("task", "stream")),
        ("roots_acked", ("task", "stream")),
        ("roots_failed", ("task", "stream")),
    ):
        totals = any_job.last(f"{exact}_total", *columns)
        for key, value in any_job.by(exact, *columns).items():
            seen = totals[key].value if key in totals else 0.0
            assert abs(seen - value) < 20
    for one in any_job.of("executed_total"):
        assert one.value == 20 * one.count


def test_the_engine_counts_the_copies_of_the_tuples_it_looks_at(windowed):
    # Three of each tuple of `s`.
    sent = [one.value for one in windowed.of("sent_total", component="s")]
    assert sent == [3 * one.value for one in windowed.of("emitted_total", component="s")]


def test_engine_totals_never_fall(any_job):
    before = {}
    for one in any_job.of("emitted_total") + any_job.of("sent_total"):
        key = (one.metric, one.task, one.stream)
        assert one.value >= before.get(key, 0.0)
        before[key] = one.value


def test_the_engine_s_mean_is_near_the_true_one(pressed):
    # Every execution takes five milliseconds.
    means = [one.value for one in pressed.of("execute_latency_mean")]
    assert means
    assert all(mean == pytest.approx(5.0, abs=1.0) for mean in means)


def test_roots_end_or_are_pending(acked, windowed):
    for job in (acked, windowed):
        result = job.result
        assert job.total("roots_acked") == result.roots_acked == job.count("root_latency_sum")
        assert job.total("roots_failed") == result.roots_failed
        pending = job.last("roots_pending", "task").values()
        assert sum(one.value for one in pending) == result.open_roots
        assert job.total("complete_latency_bin") == result.complete.count
        total = job.total("complete_latency_sum")
        assert total == pytest.approx(1e9 * result.complete.total_seconds)
    assert acked.total("roots_failed") == acked.total("roots_replayed") == acked.total("failed") > 0


def test_windows_are_those_of_the_result(windowed):
    result = windowed.result
    for name in ("count", "time"):
        figures = result.operators[name]
        triggers = windowed.total("window_triggers", component=name)
        assert triggers == round(figures.triggers_per_second * result.seconds) > 0
        tuples = windowed.total("window_tuples", component=name)
        assert tuples == pytest.approx(triggers * figures.window_tuples)
    # Tumbling windows of five.
    count = windowed.total("window_triggers", component="count")
    assert windowed.total("window_tuples", component="count") == 5 * count
    # Two milliseconds on a core, and now and then a little more where two threads meet on one.
    wall = windowed.total("window_latency_sum", component="count") / count
    assert 2e6 <= wall <= 2.1e6
    assert windowed.total("window_cpu_sum", component="count") == pytest.approx(2e6 * count)


def test_windows_say_how_their_times_vary(windowed):
    """Those on a core are all alike; by the clock they are longer where threads meet on it."""
    for name, least in (("window_cpu", 0.0), ("window_latency", 1e-6)):
        count = windowed.total("window_triggers", component="count")
        mean = windowed.total(f"{name}_sum", component="count") / count
        square = windowed.total(f"{name}_squares", component="count") / count
        scv = square / mean**2 - 1.0
        assert -1e-9 <= scv < 0.05
        assert scv >= least - 1e-9


def test_end_to_end_latency_is_that_of_the_result_where_a_sink_has_one_task(acked, joined):
    for job, sink in ((acked, "b"), (joined, "out")):
        latency = job.result.operators[sink].latency
        assert job.total("end_to_end_latency_bin", component=sink) == latency.count
        total = job.total("end_to_end_latency_sum", component=sink)
        assert total == pytest.approx(1e9 * latency.total_seconds)
        due = job.result.since_due
        assert job.total("since_due_latency_bin", component=sink) == due.count == latency.count
        total = job.total("since_due_latency_sum", component=sink)
        assert total == pytest.approx(1e9 * due.total_seconds)


def test_what_is_emitted_as_fast_as_it_can_be_has_no_latency_since_due(tmp_path):
    eager = PACED.replace("per_second: 100", "shape: unlimited")
    job = emulated(eager, tmp_path, seconds=0.2)
    assert job.total("end_to_end_latency_bin", component="b") == job.result.latency.count > 0
    assert not job.of("since_due_latency_bin") and not job.of("since_due_latency_sum")
    assert job.result.since_due.count == 0


@pytest.mark.parametrize("queue", ["receive", "send", "transfer"])
def test_queues_are_those_of_the_result(any_job, queue):
    result = any_job.result
    if queue == "transfer":
        figures = {one.name: one.transfer for one in result.workers}
    else:
        figures = {one.name: getattr(one, queue) for one in result.executors}
    for name, one in figures.items():
        if one is None:
            continue
        key = {"worker" if queue == "transfer" else "executor": name, "queue": queue}
        arrived = any_job.total("queue_arrivals", **key)
        assert arrived == round(one.arrived_per_second * result.seconds)
        mean = any_job.of("queue_population", **key)
        length = sum(x.value * x.bucket_seconds for x in mean) / result.seconds
        assert length == pytest.approx(one.length, abs=1e-9)
        if any_job.count("queue_sojourn_sum", **key):
            sojourn = any_job.total("queue_sojourn_sum", **key)
            left = any_job.count("queue_sojourn_sum", **key)
            assert 1e-9 * sojourn / left == pytest.approx(one.wait_seconds, abs=1e-9)


def test_what_is_due_and_not_emitted_is_the_lag_of_its_source(tmp_path):
    regular = PRESSED.replace("per_second: 400", "per_second: 400, shape: regular")
    done = emulated(regular, tmp_path / "metrics", seconds=20.0)
    left = sum(one.value for one in done.last("source_lag", "executor").values())
    # 8,000 are due, and 200 a second are executed.
    assert left == pytest.approx(8000 - done.total("emitted", component="s"), abs=2)
    assert left > 3000


def test_what_is_emitted_as_fast_as_it_can_be_has_no_lag(tmp_path):
    eager = PACED.replace("per_second: 100", "shape: unlimited")
    assert not emulated(eager, tmp_path / "metrics", seconds=1.0).of("source_lag")


def test_lists_are_counted_where_the_engine_has_them(windowed, acked):
    means = windowed.of("tuples_per_list_mean")
    assert all(one.value >= 1.0 for one in means)
    tuples = sum(one.value * one.count for one in means)
    assert tuples == pytest.approx(windowed.total("queue_arrivals"))
    assert not acked.of("queue_lists")


def test_tuples_that_find_no_room_are_dropped_and_counted(tmp_path):
    settings = "buffer.size: 16, topology.executor.overflow.limit: 1"
    text = PRESSED.replace("workers: 1", "workers: 2").replace("buffer.size: 16", settings)
    job = emulated(
        text.replace("nodes: 1", "nodes: 2, latency_ms: 5").replace("400", "4000"),
        tmp_path,
        seconds=4.0,
        bucket_seconds=1.0,
    )
    dropped = job.result.operators["a"].dropped_per_second * job.result.seconds
    (last,) = job.last("queue_drops_total", "executor").values()
    assert job.total("queue_drops") == last.value == last.count == round(dropped) > 0


def test_what_happened_before_queues_outgrew_all_bounds_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(topology_run, "LARGEST_POOL", topology_run.FIRST_POOL)
    text = PRESSED.replace("per_second: 400", "per_second: 6000")
    job = emulated(text, tmp_path, seconds=10.0, bucket_seconds=0.1)
    assert job.result.overloaded
    assert 2.0 < job.result.seconds < 3.0
    assert job.total("executed", component="a") == job.executed("a")
    assert job.total("emitted") == round(
        job.result.operators["s"].emitted_per_second * job.result.seconds
    )


def test_roots_that_run_out_of_time_are_counted(tmp_path):
    slow = ACKED.replace("cpu_ms: {exponential: 2}, wait_ms: 1", "wait_ms: 60")
    text = slow.replace(
        "workers: 2}", "workers: 2, settings: {topology.message.timeout.secs: 1}}", 1
    )
    job = emulated(text, tmp_path, seconds=4.0, bucket_seconds=1.0)
    late = job.result.operators["s"].timed_out_per_second * job.result.seconds
    assert job.total("roots_timed_out") == round(late) > 0
