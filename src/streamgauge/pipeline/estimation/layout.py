"""Where the partial sums of series and subjects stand, and how to get at them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from streamgauge.lake.metrics import Metric
from streamgauge.pipeline.estimation.arrays import Floats, Whole
from streamgauge.pipeline.estimation.reading import CODES, NOTHING, Partials, dense

_ABOUT = ("subject", "stream", "source")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Where the rows of every series and subject stand.

    Attributes:
        partials: What was read.
        series_offsets: Where the sums of each series begin, and the end of the last.
        cover_offsets: Where the known blocks of each subject begin, and the end of the last.
        cover: For each sum the row of its subject's block in the coverage.
        by_metric: The series of each metric, in their order.
        about: Equal for series of different metrics with the same subject, stream and source.
    """

    partials: Partials
    series_offsets: Whole
    cover_offsets: Whole
    cover: Whole
    by_metric: Mapping[int, Whole]
    about: Whole

    @classmethod
    def of(cls, partials: Partials) -> Layout:
        """The layout of what was read."""
        sums, coverage = partials.sums, partials.coverage
        series = sums["series"].to_numpy()
        owner = partials.series["subject"].to_numpy()[series]
        starts = np.unique(coverage["start_us"].to_numpy())
        width = len(starts)
        known = coverage["subject"].to_numpy() * width + np.searchsorted(
            starts, coverage["start_us"].to_numpy()
        )
        wanted = owner * width + np.searchsorted(starts, sums["start_us"].to_numpy())
        return cls(
            partials=partials,
            series_offsets=np.searchsorted(series, np.arange(len(partials.series) + 1)),
            cover_offsets=np.searchsorted(
                coverage["subject"].to_numpy(), np.arange(len(partials.owners) + 1)
            ),
            cover=np.searchsorted(known, wanted),
            by_metric=_by_metric(partials.series),
            about=dense({name: partials.series[name].to_numpy() for name in _ABOUT})[0],
        )

    def series_of(self, metric: Metric) -> Whole:
        """The series of a metric, in their order."""
        return self.by_metric.get(CODES[metric.label], np.zeros(0, np.int64))

    def beside(self, series: Whole, metric: Metric) -> Whole:
        """The series of a metric about the same as each of `series`, -1 for none."""
        other = self.series_of(metric)
        if not len(other):
            return np.full(len(series), NOTHING)
        place = np.searchsorted(self.about[other], self.about[series])
        place = np.minimum(place, len(other) - 1)
        same = self.about[other][place] == self.about[series]
        return np.where(same, other[place], NOTHING)

    def rows_of(self, series: Whole) -> tuple[Whole, Whole]:
        """The sums of some series, one behind the other: whose each is, and its row."""
        return ranges(self.series_offsets, series)

    def blocks_of(self, subjects: Whole) -> tuple[Whole, Whole]:
        """The known blocks of some subjects, likewise."""
        return ranges(self.cover_offsets, subjects)

    def spread(self, series: Whole, column: str) -> Floats:
        """A column of some series over all known blocks of their subjects, zero where no row is."""
        return self.spread_for(series, self.partials.series["subject"].to_numpy()[series], column)

    def spread_for(self, series: Whole, subjects: Whole, column: str) -> Floats:
        """As `spread`, where a series may be missing (-1): all zero."""
        lengths = np.diff(self.cover_offsets)[subjects]
        begins = np.concatenate([[0], np.cumsum(lengths)])
        values = np.zeros(int(begins[-1]))
        present = np.flatnonzero(series != NOTHING)
        group, row = self.rows_of(series[present])
        group = present[group]
        place = begins[group] + self.cover[row] - self.cover_offsets[subjects[group]]
        values[place] = self.partials.sums[column].to_numpy()[row]
        return values


def ranges(offsets: Whole, chosen: Whole) -> tuple[Whole, Whole]:
    """The rows of the chosen groups, one group behind the other."""
    lengths = np.diff(offsets)[chosen]
    group = np.repeat(np.arange(len(chosen)), lengths)
    first = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    row = np.arange(len(group)) - first[group] + offsets[chosen][group]
    return group, row


def _by_metric(series: pd.DataFrame) -> dict[int, Whole]:
    metric = series["metric"].to_numpy()
    order = np.argsort(metric, kind="stable")
    ends = np.searchsorted(metric[order], np.arange(len(CODES) + 1))
    return {code: order[ends[code] : ends[code + 1]] for code in np.unique(metric).tolist()}
