"""Samples of one metric for many subjects, from arrays in the order of the subjects.

What did not change is not written: where a worker's heartbeat is, a missing delta means zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.engines.emulator.readings import Bucket
from streamgauge.engines.emulator.subjects import Subject
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Sample


def counted(
    bucket: Bucket, metric: Metric, subjects: Sequence[Subject], counts: NDArray[Any]
) -> Iterator[Sample]:
    """Exact counts of what happened during the bucket."""
    return summed(bucket, metric, subjects, counts, counts)


def summed(
    bucket: Bucket,
    metric: Metric,
    subjects: Sequence[Subject],
    sums: NDArray[Any],
    counts: NDArray[Any],
) -> Iterator[Sample]:
    """Sums over so many observations of the bucket."""
    for place in np.flatnonzero(counts).tolist():
        yield bucket.sample(metric, subjects[place], float(sums[place]), int(counts[place]))


def totals(
    bucket: Bucket,
    metric: Metric,
    subjects: Sequence[Subject],
    taken: NDArray[Any],
    each: int,
) -> Iterator[Sample]:
    """Counts since the beginning by an engine that counts `each` for every one it looks at.

    An engine's counter is there once it has counted something.
    """
    for place in np.flatnonzero(taken).tolist():
        count = int(taken[place])
        yield bucket.sample(metric, subjects[place], float(each * count), count)


def averaged(
    bucket: Bucket,
    metric: Metric,
    subjects: Sequence[Subject],
    sums: NDArray[Any],
    counts: NDArray[Any],
) -> Iterator[Sample]:
    """Means over so many observations of the bucket."""
    for place in np.flatnonzero(counts).tolist():
        count = int(counts[place])
        yield bucket.sample(metric, subjects[place], float(sums[place]) / count, count)


def binned(
    bucket: Bucket, metric: Metric, subjects: Sequence[Subject], histograms: NDArray[Any]
) -> Iterator[Sample]:
    """Observations of the bucket by bin; a row for each subject."""
    for place, number in np.argwhere(histograms).tolist():
        count = int(histograms[place, number])
        yield bucket.sample(metric, subjects[place], float(count), count, number)


def gauged(
    bucket: Bucket, metric: Metric, subjects: Sequence[Subject], levels: NDArray[Any]
) -> Iterator[Sample]:
    """Levels, each read once."""
    for subject, level in zip(subjects, levels.tolist(), strict=True):
        yield bucket.sample(metric, subject, float(level), 1)


def spent(
    bucket: Bucket, metric: Metric, subjects: Sequence[Subject], nanoseconds: NDArray[Any]
) -> Iterator[Sample]:
    """Time on an account that is read once a bucket, and never runs backwards."""
    for subject, time in zip(subjects, nanoseconds.tolist(), strict=True):
        yield bucket.sample(metric, subject, max(float(time), 0.0), 1)
