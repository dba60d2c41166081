"""Rates, levels, means and shares: every figure that is one ratio of sums."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from streamgauge.pipeline.estimation.blocks import MICROSECONDS
from streamgauge.pipeline.estimation.catalogue import SHARES, SOURCES, How, Source
from streamgauge.pipeline.estimation.reading import Layout
from streamgauge.pipeline.estimation.schemas import NOTHING, Whole
from streamgauge.pipeline.estimation.standard_errors import (
    Batch,
    Bootstrap,
    Groups,
    ratios,
    share_errors,
)

# A source is chosen for a subject and stream as a whole, never for one target of several.
_CHOSEN_FOR = ["figure", "subject", "stream", "source"]
_KEYS = ["subject", "figure", "stream", "source", "target", "target_task"]


def mean_figures(layout: Layout, bootstrap: Bootstrap) -> list[Batch]:
    """All figures of the catalogue."""
    chosen = _choose(layout)
    batches = []
    for how, build in (
        (How.RATE, _rates),
        (How.LEVEL, partial(_over, "span_us")),
        (How.MEAN, partial(_over, "observations")),
        (How.PER, _pers),
    ):
        part = chosen[chosen["how"] == how]
        if len(part):
            ordered = part.sort_values(_KEYS, kind="stable", ignore_index=True)
            batches.append(build(layout, ordered, bootstrap))
    return batches


def _choose(layout: Layout) -> pd.DataFrame:
    """For every figure that can be told the series it comes from."""
    found = [_candidates(layout, source) for source in SOURCES]
    rank = np.repeat(np.arange(len(SOURCES)), [len(series) for series, _ in found])
    series = np.concatenate([series for series, _ in found])
    per = np.concatenate([per for _, per in found])
    keys = layout.series.iloc[np.where(series == NOTHING, per, series)]
    figure, how, scale = (
        np.asarray([getattr(source, name) for source in SOURCES], dtype=kind)
        for name, kind in (("figure", object), ("how", object), ("scale", np.float64))
    )
    candidates = keys[["subject", "stream", "source", "target", "target_task"]].assign(
        figure=figure[rank], how=how[rank], scale=scale[rank], series=series, per=per, rank=rank
    )
    best = candidates.groupby(_CHOSEN_FOR)["rank"].transform("min")
    return candidates[candidates["rank"] == best]


def _candidates(layout: Layout, source: Source) -> tuple[Whole, Whole]:
    """Series, and for quotients those they are divided by; -1 for none."""
    if source.per is None:
        own = layout.series_of(source.metric)
        return own, np.full(len(own), NOTHING)
    per = layout.series_of(source.per)
    series = layout.beside(per, source.metric)
    known = series != NOTHING
    if source.evidence is not None:
        known |= layout.beside(per, source.evidence) != NOTHING
    return series[known], per[known]


def _groups(layout: Layout, group: Whole, starts_us: Whole, subjects: Whole) -> Groups:
    return Groups.of(group, starts_us, layout.steps_us[subjects[group]])


def _rates(layout: Layout, chosen: pd.DataFrame, bootstrap: Bootstrap) -> Batch:
    series, subjects = chosen["series"].to_numpy(), chosen["subject"].to_numpy()
    group, block = layout.blocks_of(subjects)
    coverage = layout.coverage
    seconds = coverage["alive_us"].to_numpy()[block] / MICROSECONDS
    groups = _groups(layout, group, coverage["start_us"].to_numpy()[block], subjects)
    totals = layout.spread(series, "total") * chosen["scale"].to_numpy()[group]
    estimates = ratios(totals, seconds, groups, bootstrap)
    return Batch.of(_counted(layout, chosen, series), estimates)


def _over(by: str, layout: Layout, chosen: pd.DataFrame, bootstrap: Bootstrap) -> Batch:
    """Totals over another column of the same rows."""
    series, subjects = chosen["series"].to_numpy(), chosen["subject"].to_numpy()
    group, row = layout.rows_of(series)
    sums = layout.sums
    groups = _groups(layout, group, sums["start_us"].to_numpy()[row], subjects)
    totals = sums["total"].to_numpy()[row] * chosen["scale"].to_numpy()[group]
    estimates = ratios(totals, sums[by].to_numpy()[row], groups, bootstrap)
    return Batch.of(_counted(layout, chosen, series), estimates)


def _pers(layout: Layout, chosen: pd.DataFrame, bootstrap: Bootstrap) -> Batch:
    """Totals of one series over those of another, in blocks where either is."""
    subjects, per = chosen["subject"].to_numpy(), chosen["per"].to_numpy()
    group, block = layout.blocks_of(subjects)
    parts = layout.spread_for(chosen["series"].to_numpy(), subjects, "total")
    parts *= chosen["scale"].to_numpy()[group]
    wholes = layout.spread_for(per, subjects, "total")
    seen = (parts != 0.0) | (wholes != 0.0)
    starts = layout.coverage["start_us"].to_numpy()[block]
    kept, group = np.unique(group[seen], return_inverse=True)
    chosen = chosen.iloc[kept].reset_index(drop=True)
    groups = _groups(layout, group, starts[seen], subjects[kept])
    estimates = ratios(parts[seen], wholes[seen], groups, bootstrap)
    batch = Batch.of(_counted(layout, chosen, per[kept]), estimates)
    frame = batch.frame
    shares = frame["figure"].isin(SHARES)
    errors = share_errors(
        frame["value"].to_numpy(), frame["error"].to_numpy(), frame["samples"].to_numpy()
    )
    return Batch(
        frame=frame.assign(error=frame["error"].where(~shares, errors)), replicas=batch.replicas
    )


def _counted(layout: Layout, chosen: pd.DataFrame, series: Whole) -> pd.DataFrame:
    """The keys of figures with the observations and buckets of the series they rest on."""
    sums, offsets = layout.sums, layout.series_offsets
    running = {
        name: np.concatenate([[0.0], np.cumsum(sums[name].to_numpy())])
        for name in ("observations", "buckets")
    }
    first, last = offsets[series], offsets[series + 1]
    return chosen[_KEYS].assign(
        samples=running["observations"][last] - running["observations"][first],
        buckets=running["buckets"][last] - running["buckets"][first],
    )
