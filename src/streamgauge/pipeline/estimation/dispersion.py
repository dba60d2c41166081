"""How bursty arrivals are: indices of dispersion of their counts, over several lengths of time.

The index is the variance of the counts of equal intervals over their mean: one for a Poisson
stream, more for bursts, less for regular ones (Cox and Lewis 1966). Intervals are the buckets,
then 1, 2, 4, 8 … blocks.

A counter that an engine samples one in k is off by as much as k at either end of an interval. That
adds k²/3 to the variance of its count, however long the interval (a place is drawn at random in
each run of k: the variance at one end is k²/6). It is taken off again.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from streamgauge.lake.metrics import Metric
from streamgauge.pipeline.estimation.blocks import MICROSECONDS
from streamgauge.pipeline.estimation.catalogue import FigureName
from streamgauge.pipeline.estimation.reading import Layout
from streamgauge.pipeline.estimation.schemas import Floats, Whole
from streamgauge.pipeline.estimation.standard_errors import (
    Batch,
    Bootstrap,
    Estimates,
    Groups,
    smooth,
)

# A factor below this is one: exact counts, some of whose observations were lost.
LEAST_FACTOR = 1.5
# Intervals of which less than this part was known are left out.
LEAST_KNOWN = 0.9
# Fewer intervals than this do not tell how counts vary.
LEAST_INTERVALS = 8
_KEYS = ["subject", "stream", "source"]


def dispersion_figures(layout: Layout, bootstrap: Bootstrap) -> list[Batch]:
    """Indices of dispersion of what every task executed, by input stream."""
    chosen = _arrivals(layout)
    if chosen.empty:
        return []
    return [_by_bucket(layout, chosen, bootstrap), *_by_blocks(layout, chosen)]


def _arrivals(layout: Layout) -> pd.DataFrame:
    """Series of exact counts, else of the engine's own."""
    numbers = np.concatenate(
        [layout.series_of(metric) for metric in (Metric.EXECUTED, Metric.EXECUTED_TOTAL)]
    )
    both = layout.series.iloc[numbers][_KEYS].assign(series=numbers)
    chosen = both.drop_duplicates(_KEYS).sort_values(_KEYS, ignore_index=True)
    groups = Groups(
        offsets=layout.series_offsets,
        starts_us=np.zeros(0, np.int64),
        steps_us=np.zeros(0, np.int64),
    )
    numbers = chosen["series"].to_numpy()
    sums = {
        name: groups.sums(layout.sums[name].to_numpy())[numbers]
        for name in ("total", "observations", "buckets")
    }
    factor = sums["total"] / np.maximum(sums["observations"], 1.0)
    return chosen.assign(
        samples=sums["observations"],
        buckets=sums["buckets"],
        bucket_us=_longest_bucket(layout)[numbers],
        noise=np.where(factor >= LEAST_FACTOR, factor * factor / 3.0, 0.0),
        figure=FigureName.DISPERSION,
    )


def _longest_bucket(layout: Layout) -> Floats:
    """How long the buckets of each series are: some are cut short, at the ends of a run."""
    sums = layout.sums
    lengths = sums["span_us"].to_numpy() / sums["buckets"].to_numpy()
    return np.asarray(np.maximum.reduceat(lengths, layout.series_offsets[:-1]))


def _by_bucket(layout: Layout, chosen: pd.DataFrame, bootstrap: Bootstrap) -> Batch:
    subjects, numbers = chosen["subject"].to_numpy(), chosen["series"].to_numpy()
    group, block = layout.blocks_of(subjects)
    coverage = layout.coverage
    groups = Groups.of(
        group,
        coverage["start_us"].to_numpy()[block],
        layout.steps_us[subjects[group]],
    )
    buckets = coverage["alive_us"].to_numpy()[block] / chosen["bucket_us"].to_numpy()[group]
    estimates = smooth(
        (
            buckets,
            layout.spread(numbers, "total"),
            layout.spread(numbers, "squares"),
            # Not summed but carried along: the same for every block of a figure.
            buckets * chosen["noise"].to_numpy()[group],
        ),
        _index,
        _slopes,
        groups,
        bootstrap,
    )
    seconds = chosen["bucket_us"].to_numpy() / MICROSECONDS
    kept = chosen.assign(seconds=seconds).drop(columns=["series", "bucket_us", "noise"])
    return Batch.of(kept, estimates)


def _index(buckets: Floats, totals: Floats, squares: Floats, noise: Floats) -> Floats:
    """(n·Σx² − (Σx)²)/(n − 1)/Σx, less the sampler's share."""
    spread = (buckets * squares - totals * totals) / np.maximum(buckets - 1.0, 1.0) / totals
    index: Floats = np.maximum(spread - noise / totals, 0.0)
    return index


def _slopes(
    buckets: Floats, totals: Floats, squares: Floats, noise: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Of Σx²/Σx − Σx/n − noise/Σx."""
    squared = totals * totals
    return (
        totals / (buckets * buckets),
        (noise - squares) / squared - 1.0 / buckets,
        1.0 / totals,
        -1.0 / totals,
    )


def _by_blocks(layout: Layout, chosen: pd.DataFrame) -> list[Batch]:
    """Indices over ever longer intervals, as long as there are enough of them."""
    subjects = chosen["subject"].to_numpy()
    figure, block = layout.blocks_of(subjects)
    coverage = layout.coverage
    alive = coverage["alive_us"].to_numpy()[block]
    steps = layout.steps_us[subjects]
    number = coverage["start_us"].to_numpy()[block] // steps[figure]
    totals = layout.spread(chosen["series"].to_numpy(), "total")
    batches: list[Batch] = []
    length = 1
    while True:
        batch = _over_blocks(chosen, figure, number // length, totals, alive, steps * length)
        if batch.frame.empty:
            return batches
        batches.append(batch)
        length *= 2


def _over_blocks(
    chosen: pd.DataFrame,
    figure: Whole,
    interval: Whole,
    totals: Floats,
    alive: Floats,
    length_us: Whole,
) -> Batch:
    new = np.ones(len(figure), dtype=bool)
    new[1:] = (np.diff(figure) != 0) | (np.diff(interval) != 0)
    first = np.flatnonzero(new)
    counts, known = np.add.reduceat(totals, first), np.add.reduceat(alive, first)
    whole = known >= LEAST_KNOWN * length_us[figure[first]]
    kept, group = np.unique(figure[first][whole], return_inverse=True)
    counts, known = counts[whole], known[whole]
    groups = Groups.of(group, interval[first][whole], length_us[kept][group])
    intervals = groups.counts
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = groups.sums(counts) / groups.sums(known)
        residuals = counts - groups.spread(rate) * known
        mean = groups.sums(counts) / intervals
        variance = groups.sums(residuals * residuals) / (intervals - 1)
        index = (variance - chosen["noise"].to_numpy()[kept]) / mean
        index = np.where(intervals >= LEAST_INTERVALS, np.maximum(index, 0.0), np.nan)
        # The variance of n normal counts has a relative error of √(2/(n − 1)).
        errors = index * np.sqrt(2.0 / (intervals - 1))
    keys = chosen.iloc[kept].drop(columns=["series", "bucket_us", "noise"])
    return Batch.of(
        keys.assign(seconds=length_us[kept] / MICROSECONDS),
        Estimates(
            values=index,
            errors=errors,
            blocks=intervals,
            resampled=np.zeros(len(kept), dtype=bool),
            replicas=np.zeros((0, 0)),
        ),
    )
