"""What the lake answers about a metric, against sums on paper, pandas and brute force."""

import math
import random
from datetime import timedelta

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.lake import histogram
from streamgauge.lake.metrics import METRICS
from streamgauge.lake.queries import ask, series_window
from streamgauge.lake.questions import Question, metric_named, subjects_of
from streamgauge.lake.tables import Lake
from tests.lake.small_lakes import after, heartbeat, lake_of, put, sample


def answered(lake: Lake, metric: str, **question):
    return ask(lake, Question(metric=METRICS[metric], **question))


def values(lake: Lake, metric: str, **question):
    """The values of the one series of an answer."""
    (series,) = answered(lake, metric, **question).series
    return [window.value for window in series.windows]


def by_name(lake: Lake, metric: str, *by: str, **question):
    answer = answered(lake, metric, by=by, **question)
    return {tuple(one.by.values()): one.windows[0].value for one in answer.series}


# Counts.


def test_a_count_is_summed_and_divided_by_the_time_it_was_measured(tmp_path):
    lake = lake_of(tmp_path, *(sample("executed", 10 * n, 50) for n in range(6)))
    answer = answered(lake, "executed")
    (window,) = answer.series[0].windows
    assert (window.total, window.seconds, window.value) == (300, 60, 5.0)
    assert (window.samples, window.observations) == (6, 300)
    assert (answer.question.unit, answer.samples) == ("tuples/s", 6)
    assert (answer.first, answer.last) == (after(0), after(60))


def test_tasks_of_the_same_time_add_up_to_one_rate(tmp_path):
    rows = [sample("executed", 0, 50, task=1), sample("executed", 0, 30, task=2)]
    lake = lake_of(tmp_path, *rows)
    assert values(lake, "executed") == [8.0]
    assert by_name(lake, "executed", "task") == {(1,): 5.0, (2,): 3.0}


def test_a_gap_is_not_counted_as_time(tmp_path):
    lake = lake_of(tmp_path, sample("executed", 0, 50), sample("executed", 600, 50))
    assert values(lake, "executed") == [5.0]


def test_where_a_worker_was_alive_a_missing_count_is_zero(tmp_path):
    rows = [sample("failed", 0, 3), *(heartbeat(10 * n) for n in range(30))]
    lake = lake_of(tmp_path, *rows)
    assert values(lake, "failed") == [3 / 300]
    assert values(lake, "failed", window_seconds=100) == [0.03, 0.0, 0.0]


def test_heartbeats_of_other_workers_and_jobs_say_nothing(tmp_path):
    others = [
        heartbeat(10, worker="node-2:6700"),
        heartbeat(20, topology="other"),
        heartbeat(30, cluster="lab"),
    ]
    lake = lake_of(tmp_path, sample("failed", 0, 3), *others)
    assert values(lake, "failed") == [0.3]


def test_each_task_is_divided_by_the_time_of_its_own_worker(tmp_path):
    rows = [
        sample("executed", 0, 20, task=1),
        sample("executed", 0, 20, task=2, worker="node-2:6700"),
        heartbeat(0),
        heartbeat(10),
        heartbeat(0, worker="node-2:6700"),
    ]
    lake = lake_of(tmp_path, *rows)
    assert by_name(lake, "executed", "task") == {(1,): 1.0, (2,): 2.0}


def test_a_bucket_counts_in_the_window_in_which_it_begins(tmp_path):
    rows = [sample("executed", 10 * n, 10 * n) for n in range(12)]
    answer = answered(lake_of(tmp_path, *rows), "executed", window_seconds=60)
    windows = answer.series[0].windows
    assert [window.start for window in windows] == [after(0), after(60)]
    assert [window.total for window in windows] == [150, 510]


def test_a_period_has_its_beginning_and_not_its_end(tmp_path):
    lake = lake_of(tmp_path, *(sample("executed", 10 * n, 10**n) for n in range(4)))
    answer = answered(lake, "executed", start=after(10), end=after(30))
    assert answer.series[0].windows[0].total == 110


def test_the_quantile_of_a_count_is_over_the_rates_of_buckets(tmp_path):
    rows = [sample("executed", 10 * n, 10 * n) for n in range(1, 5)]
    lake = lake_of(tmp_path, *rows, heartbeat(50))
    # Rates 0, 1, 2, 3 and 4 per second, each for ten seconds.
    assert values(lake, "executed", probability=0.5) == [2.0]
    assert values(lake, "executed", probability=0.0) == [0.0]
    assert values(lake, "executed", probability=0.81) == [4.0]


def test_long_buckets_weigh_more_in_a_quantile(tmp_path):
    rows = [
        sample("executed", 0, 10),
        sample("executed", 10, 10),
        sample("executed", 20, 300, bucket_seconds=30.0),
    ]
    assert values(lake_of(tmp_path, *rows), "executed", probability=0.5) == [10.0]


def test_time_is_counted_once_however_buckets_overlap(tmp_path):
    draw = random.Random(7)
    buckets = [(draw.randrange(300), draw.choice([5, 10, 20]), n) for n in range(40)]
    rows = [
        sample("executed", begin, 6, bucket_seconds=float(length), task=n)
        for begin, length, n in buckets
    ]
    answer = answered(lake_of(tmp_path, *rows), "executed", window_seconds=100)
    for number, window in enumerate(answer.series[0].windows):
        known = {
            second
            for begin, length, _ in buckets
            if begin // 100 == number
            for second in range(begin, begin + length)
        }
        assert window.seconds == len(known)
        assert window.value == pytest.approx(window.total / len(known))


def test_what_is_not_there_is_a_name_too(tmp_path):
    rows = [sample("executed", 0, 10), sample("executed", 0, 20, worker=None)]
    lake = lake_of(tmp_path, *rows, heartbeat(0), heartbeat(10))
    assert by_name(lake, "executed", "worker") == {(None,): 2.0, ("node-1:6700",): 0.5}


# Counters.


def test_a_counter_counts_what_it_grew_by(tmp_path):
    rows = [sample("executed_total", 10 * n, total) for n, total in enumerate((100, 130, 190))]
    lake = lake_of(tmp_path, *rows)
    answer = answered(lake, "executed_total")
    (window,) = answer.series[0].windows
    # The first sample says nothing of the time before it.
    assert (window.total, window.seconds, window.samples) == (90, 20, 2)


def test_a_counter_that_falls_began_anew(tmp_path):
    totals = (100, 130, 25, 45)
    rows = [sample("executed_total", 10 * n, total) for n, total in enumerate(totals)]
    lake = lake_of(tmp_path, *rows)
    answer = answered(lake, "executed_total", window_seconds=10)
    assert [window.total for window in answer.series[0].windows] == [30, 25, 20]


def test_a_missing_sample_of_a_counter_is_made_up_by_the_next(tmp_path):
    rows = [sample("executed_total", 0, 100), sample("executed_total", 30, 190)]
    (window,) = answered(lake_of(tmp_path, *rows), "executed_total").series[0].windows
    assert (window.total, window.seconds, window.value) == (90, 30, 3.0)


def test_series_of_counters_are_told_apart_before_they_are_added(tmp_path):
    rows = [
        sample("executed_total", second, total, task=task)
        for task, totals in ((1, (100, 200)), (2, (5000, 5040)))
        for second, total in zip((0, 10), totals, strict=True)
    ]
    assert values(lake_of(tmp_path, *rows), "executed_total") == [14.0]


def test_a_counter_is_followed_from_before_the_period(tmp_path):
    rows = [sample("executed_total", 10 * n, 100 * n) for n in range(10)]
    lake = lake_of(tmp_path, *rows)
    (window,) = answered(lake, "executed_total", start=after(50)).series[0].windows
    assert (window.start, window.total, window.samples) == (after(50), 500, 5)


def test_a_sampled_counter_keeps_the_number_of_observations(tmp_path):
    rows = [sample("executed_total", 10 * n, 200 * n + 20, count=10 * n + 1) for n in range(3)]
    (window,) = answered(lake_of(tmp_path, *rows), "executed_total").series[0].windows
    assert (window.total, window.observations) == (400, 20)


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=12))
@settings(max_examples=8)
def test_counters_grow_as_pandas_says(tmp_path_factory, totals):
    rows = [sample("executed_total", 10 * n, total) for n, total in enumerate(totals)]
    lake = lake_of(tmp_path_factory.mktemp("lake"), *rows)
    grown = pd.Series(totals).diff().dropna()
    expected = grown.where(grown >= 0, pd.Series(totals)).sum()
    assert answered(lake, "executed_total").series[0].windows[0].total == expected


# Levels and means.


def test_a_level_is_weighted_by_time(tmp_path):
    rows = [
        sample("heap_used", 0, 100, component=None, task=None, count=1),
        sample("heap_used", 10, 400, component=None, task=None, count=1, bucket_seconds=30.0),
    ]
    lake = lake_of(tmp_path, *rows)
    assert values(lake, "heap_used") == [325.0]
    assert values(lake, "heap_used", probability=0.25) == [100.0]
    assert values(lake, "heap_used", probability=0.26) == [400.0]


def test_a_mean_is_weighted_by_its_observations(tmp_path):
    rows = [
        sample("execute_latency_mean", 0, 1.0, count=300),
        sample("execute_latency_mean", 10, 5.0, count=100),
        sample("execute_latency_mean", 20, 0.0, count=0),
    ]
    lake = lake_of(tmp_path, *rows)
    assert values(lake, "execute_latency_mean") == [2.0]
    assert values(lake, "execute_latency_mean", probability=0.75) == [1.0]
    assert values(lake, "execute_latency_mean", window_seconds=10) == [1.0, 5.0, None]


def test_levels_of_pandas_by_worker_and_window(tmp_path):
    rows = [
        sample("heap_used", 10 * n, (n * 37) % 101, worker=f"node-{n % 3}:6700", component=None)
        for n in range(60)
    ]
    lake = lake_of(tmp_path, *rows)
    frame = pd.DataFrame(rows)
    frame["at"] = frame["bucket_start"].dt.floor("60s")
    expected = frame.groupby(["worker", "at"])["value"].mean()
    answer = answered(lake, "heap_used", by=("worker",), window_seconds=60)
    found = {
        (one.by["worker"], pd.Timestamp(window.start)): window.value
        for one in answer.series
        for window in one.windows
    }
    assert found == pytest.approx(expected.to_dict())


# Sums and histograms.


def test_the_mean_of_a_sum_is_that_of_its_observations(tmp_path):
    rows = [
        sample("execute_latency_sum", 0, 4_000_000, count=4),
        sample("execute_latency_sum", 10, 500_000, count=5),
    ]
    lake = lake_of(tmp_path, *rows)
    answer = answered(lake, "execute_latency_sum", mean=True)
    assert answer.series[0].windows[0].value == 500_000
    assert answer.question.unit == "ns"
    assert values(lake, "execute_latency_sum") == [225_000]


def test_sizes_have_a_mean_per_tuple_and_cpu_time_has_none():
    assert Question(metric=METRICS["emitted_bytes"], mean=True).unit == "bytes"
    assert Question(metric=METRICS["worker_cpu"], mean=True).unit == "ns/s"


def test_quantiles_of_a_histogram_are_those_of_its_observations(tmp_path):
    times = [100 * 1.3**n for n in range(40)]
    counts = histogram.histogram_of(times)
    rows = [sample("execute_latency_bin", 0, n, bin=number) for number, n in counts.items()]
    lake = lake_of(tmp_path, *rows)
    for probability in (0.25, 0.5, 0.9, 0.99):
        (found,) = values(lake, "execute_latency_bin", probability=probability)
        true = sorted(times)[math.ceil(probability * 40) - 1]
        assert true / histogram.WIDTH <= found <= true * histogram.WIDTH
    assert values(lake, "execute_latency_bin") == values(
        lake, "execute_latency_bin", probability=0.5
    )


def test_histograms_of_tasks_and_buckets_merge(tmp_path):
    rows = [
        sample("execute_latency_bin", second, 1, bin=number, task=task)
        for second, number, task in ((0, 80, 1), (10, 88, 1), (0, 96, 2), (10, 96, 2))
    ]
    lake = lake_of(tmp_path, *rows)
    assert values(lake, "execute_latency_bin", probability=0.25) == [
        histogram.quantile({80: 1, 88: 1, 96: 2}, 0.25)
    ]
    assert len(by_name(lake, "execute_latency_bin", "task")) == 2


def test_the_mean_of_a_histogram_is_within_a_bin_of_the_truth(tmp_path):
    times = [float(1000 + 40 * n) for n in range(50)]
    counts = histogram.histogram_of(times)
    rows = [sample("execute_latency_bin", 0, n, bin=number) for number, n in counts.items()]
    answer = answered(lake_of(tmp_path, *rows), "execute_latency_bin", mean=True)
    assert answer.series[0].windows[0].value == pytest.approx(sum(times) / 50, rel=0.02)
    assert (answer.question.unit, answer.observations) == ("ns", 50)


@pytest.mark.parametrize(
    ("label", "unit"),
    [("emitted_bytes_bin", "bytes"), ("tuples_per_list_bin", "tuples"), ("window_cpu_bin", "ns")],
)
def test_a_histogram_has_the_unit_of_what_it_observes(label, unit):
    assert Question(metric=METRICS[label]).unit == unit


def test_every_kind_and_level_can_be_asked_for(tmp_path):
    kinds = {(metric.kind, metric.level): label for label, metric in METRICS.items()}
    rows = [
        sample(label, 10 * n, 5 + n, bin=40 if "bin" in METRICS[label].keys else None)
        for label in kinds.values()
        for n in range(2)
    ]
    lake = lake_of(tmp_path, *rows)
    for label in kinds.values():
        answer = answered(lake, label, by=tuple(subjects_of(METRICS[label])))
        assert all(window.value is not None for one in answer.series for window in one.windows)


# Questions.


def test_an_unknown_metric_is_answered_with_a_near_one():
    with pytest.raises(InvalidInput, match=r"'exectued'.*did you mean 'executed'"):
        metric_named("exectued")


def test_a_metric_is_not_asked_for_what_its_samples_cannot_have():
    with pytest.raises(InvalidInput, match=r"where: 'machine', which executed does not have"):
        Question(metric=METRICS["executed"], where={"machine": "host"})
    with pytest.raises(InvalidInput, match=r"by: 'task'"):
        Question(metric=METRICS["machine_cpu"], by=("task",))


def test_a_sum_has_no_quantiles_but_its_histogram_has():
    for label in ("execute_latency_sum", "execute_latency_squares"):
        with pytest.raises(InvalidInput, match="ask for execute_latency_bin"):
            Question(metric=METRICS[label], probability=0.5)


@pytest.mark.parametrize(
    ("wrong", "seen"),
    [
        ({"probability": 1.5}, "quantile: 1.5; expected a number from 0 to 1"),
        ({"probability": 0.5, "mean": True}, "quantile: a mean as well"),
        ({"window_seconds": 0.0}, "window: 0 s; expected at least"),
        ({"start": after(10), "end": after(10)}, "end: .*, not after the start"),
        ({"by": ("task", "task")}, "by: a column named twice"),
    ],
)
def test_questions_that_make_no_sense_are_refused(wrong, seen):
    with pytest.raises(InvalidInput, match=seen):
        Question(metric=METRICS["executed"], **wrong)


@pytest.mark.parametrize(
    "question",
    [
        {"where": {"topology": "other"}},
        {"where": {"task": 9}},
        {"start": after(3600)},
        {"end": after(-3600)},
    ],
)
def test_nothing_measured_is_said_to_be_so(tmp_path, question):
    lake = lake_of(tmp_path, sample("executed", 0, 1))
    with pytest.raises(NotEnoughData, match="no samples of executed"):
        answered(lake, "executed", **question)


def test_a_lake_without_samples_has_no_answer(tmp_path):
    with pytest.raises(NotEnoughData):
        answered(Lake(tmp_path), "executed")


def test_a_question_is_answered_as_of_a_version(tmp_path):
    lake = lake_of(tmp_path, sample("executed", 0, 10))
    version = lake.table("samples").snapshot().version
    put(lake.table("samples"), [sample("executed", 10, 30)])
    question = Question(metric=METRICS["executed"])
    assert ask(lake, question, version).series[0].windows[0].total == 10
    assert ask(lake, question).series[0].windows[0].total == 40


def test_too_many_figures_are_refused(tmp_path, monkeypatch):
    lake = lake_of(tmp_path, *(sample("executed", 10 * n, 1) for n in range(6)))
    monkeypatch.setattr("streamgauge.lake.queries.MOST_WINDOWS", 5)
    with pytest.raises(InvalidInput, match="more than 5 figures"):
        answered(lake, "executed", window_seconds=10)


def test_files_of_other_times_and_topologies_are_not_opened(tmp_path):
    lake = lake_of(tmp_path, sample("executed", 0, 10))
    table = lake.table("samples")
    put(table, [sample("executed", 0, 7, topology="zebra")])
    put(table, [sample("executed", 86_400 * 3, 7)])
    wanted = {"topology": "words"}
    kept = table.snapshot().within(None, after(60), "words")
    for file in table.snapshot().files:
        if file not in kept:
            (tmp_path / "samples" / file.path).unlink()
    assert values(lake, "executed", where=wanted, end=after(60)) == [1.0]


# Windows of a series.


@pytest.mark.parametrize(
    ("span", "bucket", "window"),
    [
        (60, 10, 10),
        (600, 10, 10),
        (3600, 10, 60),
        (600, 60, 60),
        (86_400, 10, 1800),
        (365 * 86_400, 10, 7 * 86_400),
        (10, 86_400 * 2, 86_400 * 2),
    ],
)
def test_a_series_has_round_windows_that_hold_a_bucket(span, bucket, window):
    assert series_window(span, bucket) == window


def test_a_series_without_a_window_gets_one(tmp_path):
    lake = lake_of(tmp_path, *(sample("executed", 10 * n, n) for n in range(30)))
    answer = answered(lake, "executed", is_series=True)
    assert answer.window_seconds == 10
    assert len(answer.series[0].windows) == 30
    assert answer.series[0].windows[1].start - answer.first == timedelta(seconds=10)
