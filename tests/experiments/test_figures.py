"""Figures of windows from lines whose answers can be written down on paper."""

import gzip
from dataclasses import replace

import pytest

from streamgauge.experiments.experiment import Marking
from streamgauge.lake.histogram import bin_of
from streamgauge.lake.raw import encode
from tests.experiments.lines import (
    HERE,
    MILLISECOND_NS,
    PLACEMENT,
    THERE,
    figures,
    heartbeats,
    latencies,
    marks,
    of_executor,
    of_task,
    of_worker,
    read,
    sample,
    trace,
    write_lines,
)

MS = MILLISECOND_NS


def near(milliseconds):
    """As near as a class of 9 % lets a quantile come."""
    return pytest.approx(milliseconds / 1000.0, rel=0.0905)


def test_quantiles_of_traces_are_those_of_the_list(tmp_path):
    # 1, 2, … 100 ms: half of them take no longer than 50, nine tenths no longer than 90.
    found = figures(tmp_path, [trace("near", n, root=str(n)) for n in range(1, 101)])
    of_path = {key[2]: value for key, value in found.items() if key[:2] == ("path", "in → near")}
    assert of_path == pytest.approx({"mean": 0.0505, "p50": 0.050, "p90": 0.090, "p95": 0.095})


def test_quantiles_of_histograms_lie_in_the_class_of_their_rank(tmp_path):
    bins = {bin_of(1 * MS): 60, bin_of(10 * MS): 36, bin_of(100 * MS): 4}
    found = figures(tmp_path, latencies("near", bins))
    assert found["latency", "in → near", "p50"] == near(1)
    assert found["latency", "in → near", "p90"] == near(10)
    assert found["latency", "in → near", "p95"] == near(10)


@pytest.mark.parametrize(("tuples", "known"), [(9_999, False), (10_000, True)])
def test_a_tail_needs_ten_thousand_tuples(tmp_path, tuples, known):
    found = figures(tmp_path, latencies("near", {bin_of(MS): tuples}))
    assert (("latency", "all", "p99") in found) is known
    assert ("latency", "all", "p95") in found


def test_the_mean_is_of_the_sums_not_of_the_classes(tmp_path):
    who = {**of_task("near"), "source_component": "in"}
    found = figures(tmp_path, [sample("end_to_end_latency_sum", 30 * MS, count=10, **who)])
    assert found["latency", "in → near", "mean"] == pytest.approx(0.003)


def test_latency_since_due_stands_beside_that_since_emission(tmp_path):
    who = {**of_task("near"), "source_component": "in"}
    lines = [
        sample("end_to_end_latency_sum", 30 * MS, count=10, **who),
        sample("since_due_latency_sum", 36 * MS, count=10, **who),
        sample("since_due_latency_bin", 10, count=10, bin=bin_of(4 * MS), **who),
    ]
    found = figures(tmp_path, lines)
    assert found["latency", "in → near", "mean"] == pytest.approx(0.003)
    assert found["latency-since-due", "in → near", "mean"] == pytest.approx(0.0036)
    assert found["latency-since-due", "all", "p50"] == near(4)
    assert ("latency", "all", "p50") not in found


def test_traces_tell_since_when_their_tuples_were_due(tmp_path):
    lines = [trace("far", 20, root="1", late_ms=3.0), trace("far", 22, root="2", late_ms=5.0)]
    found = figures(tmp_path, lines)
    assert found["path", "in → far (two clocks)", "mean"] == pytest.approx(0.021)
    assert found["path-since-due", "in → far (two clocks)", "mean"] == pytest.approx(0.025)
    assert found["latency-since-due", "all", "mean"] == pytest.approx(0.025)


def test_tuples_of_a_source_without_a_schedule_are_never_due(tmp_path):
    eager = replace(PLACEMENT, paced=frozenset())
    found = figures(tmp_path, [trace("far", 20, late_ms=3.0)], placement=eager)
    assert not [key for key in found if key[0].endswith("since-due")]
    assert found["latency", "all", "mean"] == pytest.approx(0.020)


def test_ends_on_one_machine_are_told_apart_from_others(tmp_path):
    lines = [*latencies("near", {bin_of(MS): 10}), *latencies("far", {bin_of(10 * MS): 30})]
    found = figures(tmp_path, lines)
    assert found["latency", "in → near", "p50"] == near(1)
    assert found["latency", "in → far (two clocks)", "p50"] == near(10)
    assert found["latency", "all", "p50"] == near(10)
    assert found["latency", "all with one clock", "p50"] == near(1)


def test_traces_speak_for_sinks_that_tell_nothing(tmp_path):
    lines = [*latencies("near", {bin_of(MS): 10}), trace("near", 50), trace("far", 20, root="2")]
    found = figures(tmp_path, lines)
    assert found["latency", "in → near", "p50"] == near(1)
    assert found["latency", "in → far (two clocks)", "p50"] == pytest.approx(0.020)


def test_traces_that_failed_or_lie_before_their_root_are_no_latency(tmp_path):
    failed = replace(trace("near", 5), outcome="failed")
    found = figures(tmp_path, [failed, trace("far", -5, root="2"), *heartbeats(HERE)])
    assert not [key for key in found if key[0] == "path"]


def test_rates_are_of_the_time_that_was_reported(tmp_path):
    lines = [
        *heartbeats(HERE, THERE),
        *(sample("emitted", 10, at, count=10, stream="s", **of_task("in")) for at in range(4)),
        sample("executed", 30, 1, count=30, stream="s", source_component="in", **of_task("near")),
    ]
    first, second = (figures(tmp_path, lines, window) for window in (0, 1))
    assert first["throughput", "all", "emitted_per_second"] == 10.0
    assert first["throughput", "near", "executed_per_second"] == 15.0
    assert ("throughput", "near", "executed_per_second") not in second


def test_what_the_engine_tells_operators_is_no_throughput(tmp_path):
    system = sample("emitted", 99, count=99, stream="__ack_init", **of_task("in"))
    found = figures(tmp_path, [system, *heartbeats(HERE)])
    assert found["throughput", "all", "emitted_per_second"] == 0.0


def test_samples_count_for_the_window_of_their_middle(tmp_path):
    # A bucket from 1.4 to 2.4 s has its middle at 1.9 s, in the first window.
    line = sample("emitted", 8, 1.4, count=8, stream="s", **of_task("in"))
    assert figures(tmp_path, [line])["throughput", "all", "emitted_per_second"] == 4.0
    assert figures(tmp_path, [line], 1)["throughput", "all", "emitted_per_second"] == 0.0


def test_traces_count_for_the_window_that_they_end_in(tmp_path):
    lines = [trace("near", 500.0, at=1.8)]
    assert ("path", "in → near", "p50") not in figures(tmp_path, lines)
    assert ("path", "in → near", "p50") in figures(tmp_path, lines, 1)


def test_cpu_is_in_cores_and_two_reports_of_one_machine_are_one(tmp_path):
    second = 1_000 * MS
    lines = [
        *heartbeats(HERE, THERE),
        *(sample("executor_cpu", second // 2, at, **of_executor("near")) for at in (0, 1)),
        *(sample("worker_cpu", second, at, **of_worker(HERE)) for at in (0, 1)),
        *(sample("machine_cpu", 3 * second // 2, at, machine="m") for at in (0, 1, 0.1, 1.1)),
    ]
    found = figures(tmp_path, lines)
    assert found["cpu", "executor near[2]", "cores"] == 0.5
    assert found["cpu", "all", "cores"] == found["cpu", f"worker {HERE}", "cores"] == 1.0
    assert found["cpu", "machine m", "cores"] == 1.5


def test_bytes_between_workers_are_those_of_each_sender(tmp_path):
    lines = [
        *heartbeats(HERE, THERE),
        *(sample("network_bytes_sent", 4_000, at, **of_worker(HERE)) for at in (0, 1)),
    ]
    found = figures(tmp_path, lines)
    assert found["network", f"worker {HERE}", "sent_per_second"] == 4_000.0
    assert ("network", f"worker {THERE}", "sent_per_second") not in found


def test_back_pressure_is_a_part_of_the_time(tmp_path):
    lines = [
        *heartbeats(HERE, THERE),
        sample("backpressure_held", 500 * MS, **of_executor("in")),
        sample("backpressure_caused", 400 * MS, **of_task("far")),
    ]
    found = figures(tmp_path, lines)
    assert found["back-pressure", "in", "held"] == 0.25
    assert found["back-pressure", "far", "caused"] == 0.2


def test_complete_latency_is_by_source(tmp_path):
    lines = [
        sample("complete_latency_sum", 8 * MS, count=4, stream="s", **of_task("in")),
        sample("complete_latency_bin", 4, count=4, stream="s", bin=bin_of(2 * MS), **of_task("in")),
    ]
    found = figures(tmp_path, lines)
    assert found["complete", "in", "mean"] == pytest.approx(0.002)
    assert found["complete", "in", "p50"] == near(2)


def test_a_window_that_everybody_reported_of_is_not_marked(tmp_path):
    assert marks(tmp_path, heartbeats(HERE, THERE)) == [[], []]


def test_a_window_that_a_worker_was_silent_in_is_marked(tmp_path):
    first, second = marks(tmp_path, [*heartbeats(HERE), *heartbeats(THERE, seconds=3)])
    assert first == [] and second == ["worker n2:6700 reported only 1 s of 2 s"]


def test_a_window_whose_cpu_the_host_took_is_marked(tmp_path):
    lines = [
        *heartbeats(HERE, THERE),
        sample("machine_cores", 2, machine="m"),
        sample("machine_stolen", 100 * MS, machine="m"),
    ]
    # 0.1 s of a core in a second of two cores are 5 %.
    assert marks(tmp_path, lines)[0] == ["the host took 5.0 % of machine m"]
    assert marks(tmp_path, lines, Marking(stolen_share=0.06))[0] == []


def test_a_window_with_a_long_collection_is_marked(tmp_path):
    lines = [*heartbeats(HERE, THERE), sample("gc_time", 300 * MS, 2, **of_worker(HERE))]
    assert marks(tmp_path, lines) == [
        [],
        ["worker n1:6700 collected garbage for 0.3 s in one bucket"],
    ]


def test_what_is_no_record_is_counted_and_the_rest_is_taken(tmp_path):
    readings = read(tmp_path, heartbeats(HERE, THERE))
    (tmp_path / "b.jsonl").write_text('{"type": "sample"}\nnonsense\n')
    readings.read(tmp_path)
    assert readings.rejected == 2
    assert readings.lines == 8 + 8 + 2


def test_a_file_that_breaks_off_is_read_as_far_as_it_goes(tmp_path):
    text = "".join(encode(one) + "\n" for one in heartbeats(HERE, THERE)).encode()
    packed = gzip.compress(text * 500)
    (tmp_path / "a.jsonl.gz").write_bytes(packed[: len(packed) - 20])
    readings = read(tmp_path / "none", [])
    readings.read(tmp_path)
    assert readings.lines > 100
    assert readings.faults[0].startswith("a.jsonl.gz: EOFError")


def test_files_that_are_still_written_are_left_alone(tmp_path):
    readings = read(tmp_path, heartbeats(HERE))
    (tmp_path / ".b.jsonl").write_text("{}\n")
    readings.read(tmp_path)
    assert readings.rejected == 0


def test_a_line_that_is_there_twice_counts_once(tmp_path):
    who = of_task("in")
    records = [
        sample("emitted", 30, count=30, stream="default", **who),
        *latencies("near", {bin_of(MS): 5}),
        trace("near", 4.0),
    ]
    once = figures(tmp_path / "once", records)
    write_lines(tmp_path / "twice", records, "copy.jsonl")
    readings = read(tmp_path / "twice", [*records, records[0]])
    assert (readings.lines, readings.repeated) == (7, 4)
    assert figures(tmp_path / "twice", records) == once
    assert readings.series.emitted.sum() == 30.0


def test_equal_values_of_two_buckets_are_two_lines(tmp_path):
    records = [
        sample("emitted", 30, at, count=30, stream="default", **of_task("in")) for at in (0, 1)
    ]
    assert read(tmp_path, records).series.emitted.tolist()[:2] == [30.0, 30.0]
