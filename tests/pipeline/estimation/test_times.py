"""Times: mean, variability and quantiles, each from what can tell it."""

import numpy as np
import pytest

from streamgauge.lake.histogram import histogram_of, quantile
from streamgauge.pipeline.estimation.standard_errors import Bootstrap, Groups, stated_error
from streamgauge.pipeline.estimation.times import squared_variations
from tests.pipeline.estimation.rows import IN, OUT, TASK, figure, figures, row


def times_of(blocks, seed=1):
    """Whole nanoseconds of 200 executions a block."""
    generator = np.random.default_rng(seed)
    return [np.rint(generator.gamma(2.0, 1e6, 200)) for _ in range(blocks)]


def sums_of(times, base="execute_latency", **columns):
    rows = []
    for block, values in enumerate(times):
        number = len(values)
        rows.append(row(f"{base}_sum", block, values.sum(), number, **columns))
        rows.append(row(f"{base}_squares", block, (values**2).sum(), number, **columns))
    return rows


def bins_of(times, base="execute_latency", **columns):
    return [
        row(f"{base}_bin", block, count, bin=number, **columns)
        for block, values in enumerate(times)
        for number, count in histogram_of(values.tolist()).items()
    ]


def test_mean_and_variation_are_those_of_all_times():
    times = times_of(9)
    found = figure(sums_of(times, **IN), "service_wall")
    values = np.concatenate(times) / 1e6
    assert found["value"] == pytest.approx(values.mean())
    assert found["scv"] == pytest.approx(values.var(ddof=1) / values.mean() ** 2)
    assert (found["samples"], found["buckets"], found["blocks"]) == (1800, 45, 9)
    assert len(found["replicas"]) == len(found["scv_replicas"]) == 100


def test_quantiles_come_from_all_bins_together():
    times = times_of(3)
    found = figure(sums_of(times, **IN) + bins_of(times, **IN), "service_wall")
    histogram = histogram_of(np.concatenate(times).tolist())
    for pair in found["quantiles"]:
        assert pair["ms"] == pytest.approx(quantile(histogram, pair["p"]) / 1e6)
    assert [pair["p"] for pair in found["quantiles"]] == [0.5, 0.9, 0.95, 0.99]


def test_means_of_buckets_give_neither_variation_nor_quantiles():
    # 1.5 ms over twenty observations in each block, in millionths.
    rows = [row("execute_latency_mean", n, 30_000_000, 20, **IN) for n in range(3)]
    found = figure(rows, "service_wall")
    assert found["value"] == pytest.approx(1.5)
    assert found["scv"] is None
    assert found["quantiles"] is None
    assert found["samples"] == 60


def test_sums_are_preferred_to_the_engines_means():
    rows = sums_of(times_of(3), **IN)
    rows += [row("execute_latency_mean", n, 30_000_000, 20, **IN) for n in range(3)]
    assert figure(rows, "service_wall")["samples"] == 600


def test_bins_give_the_variation_where_squares_are_missing():
    times = times_of(4)
    sums = [one for one in sums_of(times, **IN) if one["metric"].endswith("sum")]
    found = figure(sums + bins_of(times, **IN), "service_wall")
    values = np.concatenate(times)
    assert found["scv"] == pytest.approx(values.var() / values.mean() ** 2, rel=0.02)


def test_bins_alone_give_an_approximate_mean_and_say_so():
    times = times_of(4)
    found = figure(bins_of(times, **IN), "service_wall")
    assert found["value"] == pytest.approx(np.concatenate(times).mean() / 1e6, rel=0.02)
    assert found["flags"] == ["from-bins"]


@pytest.mark.parametrize(
    ("base", "word", "columns"),
    [
        ("execute_cpu", "service_cpu", IN),
        ("emit_latency", "emit_wall", OUT),
        ("emit_cpu", "emit_cpu", OUT),
        ("complete_latency", "complete", OUT),
        ("root_latency", "root", OUT),
        ("end_to_end_latency", "end_to_end", {"source_component": "s"}),
        ("window_latency", "window_wall", {}),
        ("window_cpu", "window_cpu", {}),
    ],
)
def test_every_time_has_mean_variation_and_quantiles(base, word, columns):
    times = times_of(2)
    found = figure(sums_of(times, base, **columns) + bins_of(times, base, **columns), word)
    assert found["value"] == pytest.approx(np.concatenate(times).mean() / 1e6)
    assert found["scv"] is not None
    assert len(found["quantiles"]) == 4


def test_process_latency_is_no_figure():
    # It contains the wait in a window.
    executed = [row("executed", 0, 5, **IN)]
    assert figures([*sums_of(times_of(1), "process_latency", **IN), *executed]) == figures(executed)


def test_the_thread_of_a_time_window_gives_its_cpu_time():
    rows = [row("window_thread_cpu", n, 8_000_000, 1) for n in range(3)]
    rows += [row("window_triggers", n, 4) for n in range(3)]
    assert figure(rows, "window_cpu")["value"] == pytest.approx(2.0)


def test_a_queues_sojourn_is_a_time_too():
    queue = {"component": "a", "executor": "a[1]", "queue": "receive", "worker": "n:1"}
    times = times_of(2)
    rows = [one | {"task": None, **queue} for one in sums_of(times, "queue_sojourn")]
    assert TASK["task"] == 1
    assert figure(rows, "sojourn", queue="receive")["scv"] is not None


def test_intervals_of_variations_hold_the_truth():
    # Gamma with shape 2 has a squared coefficient of variation of one half.
    generator = np.random.default_rng(3)
    figures_, blocks, size = 1500, 20, 400
    drawn = generator.gamma(2.0, 1.0, (figures_ * blocks, size))
    groups = Groups.of(
        np.repeat(np.arange(figures_), blocks),
        np.tile(np.arange(blocks) * 30_000_000, figures_),
        np.full(figures_ * blocks, 30_000_000),
    )
    found = squared_variations(
        np.full(len(drawn), float(size)),
        drawn.sum(axis=1),
        (drawn**2).sum(axis=1),
        groups,
        Bootstrap(groups.starts_us, seed=1, count=0),
    )
    reach = 1.96 * np.asarray([stated_error(one, blocks) for one in found.errors.tolist()])
    assert 0.92 <= np.mean(np.abs(found.values - 0.5) <= reach) <= 0.975
