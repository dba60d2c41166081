"""Times beyond their mean: variability from squares or bins, quantiles from bins alone.

Means of buckets say nothing of single times, so that neither comes from them. Bins are those of
`lake.histogram`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from streamgauge.lake.histogram import EDGES, LAST_BIN
from streamgauge.pipeline.estimation.catalogue import PROBABILITIES, SHAPES
from streamgauge.pipeline.estimation.reading import CODES, Layout, dense
from streamgauge.pipeline.estimation.schemas import NOTHING, Floats, Whole
from streamgauge.pipeline.estimation.standard_errors import (
    Batch,
    Bootstrap,
    Estimates,
    Groups,
    joined,
    ratios,
    smooth,
)

_LOW = np.asarray([0.0, *EDGES])
_HIGH = np.asarray([*EDGES, EDGES[-1]])
_BINS = np.arange(LAST_BIN + 1)
_WIDE = (_BINS > 0) & (_BINS < LAST_BIN)


def _moments() -> tuple[Floats, Floats]:
    """Mean and mean square within each bin, observations spread evenly over the logarithm."""
    first, second = _LOW.copy(), _LOW**2
    log_width = np.log(_HIGH[_WIDE] / _LOW[_WIDE])
    first[_WIDE] = (_HIGH[_WIDE] - _LOW[_WIDE]) / log_width
    second[_WIDE] = (_HIGH[_WIDE] ** 2 - _LOW[_WIDE] ** 2) / (2.0 * log_width)
    first[0], second[0] = 0.5, 1.0 / 3.0
    return first, second


# By bin.
MEANS, MEAN_SQUARES = _moments()


def quantiles(
    bins: Whole, counts: Floats, offsets: Whole, probabilities: tuple[float, ...] = PROBABILITIES
) -> Floats:
    """Quantiles of each histogram: a row a histogram, a column a probability.

    The same as `lake.histogram.quantile` gives, for many.

    Args:
        bins: Ascending within a histogram, each at most once.
        counts: Observations in each, above zero.
        offsets: Where each histogram begins, and the end of the last.
        probabilities: Which quantiles.
    """
    first, last = offsets[:-1], offsets[1:] - 1
    # Counts are whole, hence their sums exact, and so is what is before each histogram.
    running = np.cumsum(counts)
    before = np.concatenate([[0.0], running])[first]
    totals = running[last] - before
    found = np.empty((len(first), len(probabilities)))
    for column, probability in enumerate(probabilities):
        ranks = probability * totals
        place = np.clip(np.searchsorted(running, before + ranks), first, last)
        # What is before was added and may have been rounded: look again on both sides.
        place -= (place > first) & (running[place - 1] - before >= ranks)
        place += (place < last) & (running[place] - before < ranks)
        share = (ranks - (running[place] - counts[place] - before)) / counts[place]
        found[:, column] = _inside(bins[place], np.clip(share, 0.0, 1.0))
    return found


def _inside(number: Whole, share: Floats) -> Floats:
    low, high = _LOW[number], _HIGH[number]
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = np.minimum(high, low * (high / low) ** share)
    return np.where(number == 0, share, np.where(number == LAST_BIN, low, wide))


def squared_variations(
    counts: Floats, sums: Floats, squares: Floats, groups: Groups, bootstrap: Bootstrap
) -> Estimates:
    """Squared coefficients of variation σ²/m² = n·Σx²/(Σx)² − 1, of a sample by n/(n − 1).

    Args:
        counts: Observations of each block.
        sums: Of them.
        squares: Of their squares.
        groups: Whose blocks they are.
        bootstrap: The weights.
    """
    return smooth((counts, sums, squares), _variation, _slopes, groups, bootstrap)


def _variation(counts: Floats, sums: Floats, squares: Floats) -> Floats:
    spread = counts * squares / (sums * sums) - 1.0
    # Rounding may leave constants a hair below zero.
    return np.asarray(np.maximum(spread, 0.0) * counts / np.maximum(counts - 1.0, 1.0))


def _slopes(counts: Floats, sums: Floats, squares: Floats) -> tuple[Floats, Floats, Floats]:
    """Of n·q/s², without the correction for samples, which hardly changes."""
    return (
        squares / (sums * sums),
        -2.0 * counts * squares / (sums * sums * sums),
        counts / (sums * sums),
    )


MILLISECONDS = 1e-6
FROM_BINS = "from-bins"
_KEYS = ["subject", "figure", "stream", "source"]
_BIN_METRICS = {CODES[shape.bins.label]: word for word, shape in SHAPES.items()}


def with_shapes(batch: Batch, layout: Layout, bootstrap: Bootstrap) -> Batch:
    """The batch with times known by bins only, and all times with variability and quantiles.

    Args:
        batch: All means, times among them.
        layout: What was read.
        bootstrap: The weights.
    """
    histograms = Histograms.of(layout)
    variations = [_by_squares(layout, bootstrap)]
    if histograms is not None:
        batch = joined([batch, histograms.means(batch, bootstrap)])
        variations.append(histograms.variations(bootstrap))
    shapes = joined(variations)
    if not shapes.frame.empty:
        # Squares are exact, bins are not: the first of two is kept.
        best = shapes.frame.drop_duplicates(_KEYS)
        rows = best["row"].to_numpy(dtype=np.int64)
        first = len(batch.replicas)
        best = best.assign(scv_row=np.where(rows >= 0, rows + first, NOTHING))
        best = best.rename(columns={"value": "scv", "error": "scv_error"})
        frame = batch.frame.merge(
            best[[*_KEYS, "scv", "scv_error", "scv_row"]], on=_KEYS, how="left"
        )
        replicas = [one for one in (batch.replicas, shapes.replicas) if len(one)]
        batch = Batch(
            frame=frame, replicas=np.concatenate(replicas) if replicas else batch.replicas
        )
    if histograms is None:
        return batch
    frame = batch.frame.merge(histograms.quantiles(), on=_KEYS, how="left")
    return Batch(frame=frame, replicas=batch.replicas)


def _by_squares(layout: Layout, bootstrap: Bootstrap) -> Batch:
    """Squared coefficients of variation from sums and sums of squares of the same blocks."""
    words, totals, squares = [], [], []
    for word, shape in SHAPES.items():
        own = layout.series_of(shape.total)
        beside = layout.beside(own, shape.squares)
        known = beside != NOTHING
        words += [word] * int(known.sum())
        totals.append(own[known])
        squares.append(beside[known])
    keys = layout.series.iloc[np.concatenate(totals)]
    keys = keys[["subject", "stream", "source"]].assign(
        figure=words, total=np.concatenate(totals), square=np.concatenate(squares)
    )
    keys = keys.sort_values(_KEYS, ignore_index=True)
    if keys.empty:
        return Batch(frame=keys, replicas=np.zeros((0, 0)))
    total, square = keys["total"].to_numpy(), keys["square"].to_numpy()
    subjects = keys["subject"].to_numpy()
    group, block = layout.blocks_of(subjects)
    counts = layout.spread(total, "observations")
    seen = counts > 0.0
    starts = layout.coverage["start_us"].to_numpy()[block][seen]
    kept, group = np.unique(group[seen], return_inverse=True)
    estimates = squared_variations(
        counts[seen],
        layout.spread(total, "total")[seen],
        layout.spread(square, "total")[seen],
        Groups.of(group, starts, layout.steps_us[subjects[kept]][group]),
        bootstrap,
    )
    return Batch.of(keys.iloc[kept][_KEYS], estimates)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Histograms:
    """Histograms of times, by figure and block.

    Attributes:
        keys: A row a histogram.
        groups: The blocks of each.
        counts: Observations of each block, with
        sums: of their times,
        squares: of the squares of these, and
        buckets: the buckets they came from.
        bins: Filled bins of each histogram, all blocks together, with
        in_bins: how many observations they hold, and
        offsets: where each histogram begins among them.
    """

    keys: pd.DataFrame
    groups: Groups
    counts: Floats
    sums: Floats
    squares: Floats
    buckets: Floats
    bins: Whole
    in_bins: Floats
    offsets: Whole

    @classmethod
    def of(cls, layout: Layout) -> Histograms | None:
        """All histograms of times; observations lie evenly on the logarithm within a bin."""
        series = layout.series
        chosen = series[series["metric"].isin(list(_BIN_METRICS))]
        if chosen.empty:
            return None
        names = ("subject", "metric", "stream", "source")
        histogram, keys = dense({name: chosen[name].to_numpy() for name in names})
        keys = keys.assign(figure=[_BIN_METRICS[metric] for metric in keys["metric"]])[_KEYS]
        place, row = layout.rows_of(chosen.index.to_numpy())
        bins = chosen["bin"].to_numpy()
        sums = layout.sums
        starts = sums["start_us"].to_numpy()[row]
        order = np.lexsort((bins[place], starts, histogram[place]))
        by_block, starts = histogram[place][order], starts[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(by_block) != 0) | (np.diff(starts) != 0)
        first = np.flatnonzero(new)
        counts, in_block = sums["total"].to_numpy()[row][order], bins[place][order]
        steps = layout.steps_us[keys["subject"].to_numpy()]
        # Series stand in the order of histograms and bins.
        in_bins: Floats = np.bincount(
            place, sums["total"].to_numpy(dtype=np.float64)[row], minlength=len(chosen)
        ).astype(np.float64)
        filled = in_bins > 0.0
        return cls(
            keys=keys,
            groups=Groups.of(by_block[first], starts[first], steps[by_block[first]]),
            counts=np.add.reduceat(counts, first),
            sums=np.add.reduceat(counts * MEANS[in_block], first),
            squares=np.add.reduceat(counts * MEAN_SQUARES[in_block], first),
            buckets=np.maximum.reduceat(sums["buckets"].to_numpy()[row][order], first),
            bins=bins[filled],
            in_bins=in_bins[filled],
            offsets=np.searchsorted(histogram[filled], np.arange(len(keys) + 1)),
        )

    def means(self, known: Batch, bootstrap: Bootstrap) -> Batch:
        """Means of those times of which neither a sum nor a mean is known."""
        counted = self.keys.assign(
            samples=self.groups.sums(self.counts),
            buckets=self.groups.sums(self.buckets),
            flags=FROM_BINS,
        )
        found = Batch.of(
            counted, ratios(self.sums * MILLISECONDS, self.counts, self.groups, bootstrap)
        )
        taken = pd.MultiIndex.from_frame(known.frame[_KEYS])
        new = ~pd.MultiIndex.from_frame(found.frame[_KEYS]).isin(taken)
        return Batch(frame=found.frame[new], replicas=found.replicas)

    def variations(self, bootstrap: Bootstrap) -> Batch:
        """Squared coefficients of variation."""
        estimates = squared_variations(self.counts, self.sums, self.squares, self.groups, bootstrap)
        return Batch.of(self.keys, estimates)

    def quantiles(self) -> pd.DataFrame:
        """In milliseconds, a column a probability."""
        found = np.full((len(self.keys), len(PROBABILITIES)), np.nan)
        some = np.diff(self.offsets) > 0
        offsets = np.append(self.offsets[:-1][some], self.offsets[-1])
        found[some] = quantiles(self.bins, self.in_bins, offsets) * MILLISECONDS
        names = [f"q{probability}" for probability in PROBABILITIES]
        return self.keys.assign(**dict(zip(names, found.T, strict=True)))
