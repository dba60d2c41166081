"""How bursty arrivals are."""

import numpy as np
import pytest

from streamgauge.engines.emulator.task_samples import EvenSampler
from tests.pipeline.estimation.rows import IN, figures, row

BUCKETS = 6


def rows_of(counts, metric="executed", factor=1):
    """A block for every six buckets; a bucket without tuples has only its worker's heartbeat."""
    blocks = np.reshape(counts, (-1, BUCKETS)).tolist()
    rows = [row("worker_heartbeats", block, BUCKETS) for block in range(len(blocks))]
    for block, values in enumerate(blocks):
        seen = [int(value) for value in values if value]
        if seen:
            one = row(metric, block, sum(seen), sum(seen) // factor, 0, **IN)
            rows.append(
                one
                | {
                    "buckets": len(seen),
                    "span_us": 5_000_000 * len(seen),
                    "squares": sum(value * value for value in seen),
                }
            )
    return rows


def dispersions(rows):
    """By seconds."""
    return {one["seconds"]: one for one in figures(rows) if one["figure"] == "dispersion"}


def test_by_bucket_it_is_variance_over_mean_of_all_buckets_silent_ones_too():
    counts = np.random.default_rng(1).poisson(1.0, 20 * BUCKETS)
    assert (counts == 0).any()
    found = dispersions(rows_of(counts))[5.0]
    assert found["value"] == pytest.approx(counts.var(ddof=1) / counts.mean())
    assert found["blocks"] == 20
    assert len(found["replicas"]) == 100


def test_by_blocks_it_is_variance_over_mean_of_blocks():
    counts = np.random.default_rng(2).poisson(50.0, 32 * BUCKETS)
    found = dispersions(rows_of(counts))
    for length, seconds in ((1, 30.0), (2, 60.0), (4, 120.0)):
        summed = counts.reshape(-1, BUCKETS * length).sum(axis=1)
        assert found[seconds]["value"] == pytest.approx(summed.var(ddof=1) / summed.mean())
    # Eight intervals are needed.
    assert sorted(found) == [5.0, 30.0, 60.0, 120.0]


def test_a_poisson_stream_has_one_at_every_length():
    counts = np.random.default_rng(3).poisson(100.0, 256 * BUCKETS)
    for one in dispersions(rows_of(counts)).values():
        assert abs(one["value"] - 1.0) < 4 * one["standard_error"]


def test_what_sampling_adds_is_taken_off():
    generator = np.random.default_rng(4)
    true = generator.poisson(60.0, 256 * BUCKETS)
    sampler = EvenSampler(generator, 1)
    taken = np.asarray([int(sampler.taken(np.asarray([total]))[0]) for total in true.cumsum()])
    reported = 20 * np.diff(taken, prepend=0)
    assert reported.var() / reported.mean() > 2.5
    found = dispersions(rows_of(reported, "executed_total", factor=20))
    for one in found.values():
        assert abs(one["value"] - 1.0) < 4 * one["standard_error"]


def test_unsampled_counts_are_preferred():
    exact = rows_of(np.full(20 * BUCKETS, 10))
    sampled = rows_of(np.tile([20, 0], 10 * BUCKETS), "executed_total", factor=20)
    sampled = [one for one in sampled if one["metric"] == "executed_total"]
    assert dispersions(exact + sampled)[5.0]["value"] == pytest.approx(0.0)


def test_a_bucket_that_was_cut_short_does_not_change_their_length():
    rows = rows_of(np.random.default_rng(5).poisson(50.0, 20 * BUCKETS))
    rows[-1] |= {"span_us": 27_000_000}
    assert min(dispersions(rows)) == 5.0
