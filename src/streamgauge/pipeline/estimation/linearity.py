"""Whether a task's output is a linear function of its input, told from the totals of blocks.

With n blocks, inputs X and an output Y, both divided by the square root of the block's load (all
tuples in), as counts vary in proportion to their size:

1. Y is fitted on X alone, and on X with what a straight line cannot follow: the fit times the
   load, so that the slope may differ between low load and high (as in Chow's test of 1960, which
   cuts between the two, but stronger where the slope changes gradually); and, where there are
   several inputs, the sum over pairs of u·v/(u + v) of their parts u and v in the block, since what
   joins inputs follows the smaller one.
2. The relation is not linear where the second fit is better by an F test at 1 %, and what it adds
   is more than 2 % of the output (root mean square): of less nobody asks.
3. Nor is it where 30 % of the output is left unexplained though there is enough of it: the squares
   of what is left are more than 25 times the output, so that independent tuples with 24 outputs
   each on average (geometric) would not do it.

Nothing is said of fewer than 12 blocks. Where load and mix never change there is nothing to see,
and a relation passes as linear: it is, as far as it was seen.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

from streamgauge.lake.metrics import Metric
from streamgauge.pipeline.estimation.catalogue import FigureName
from streamgauge.pipeline.estimation.reading import Layout
from streamgauge.pipeline.estimation.schemas import Bools, Floats, Whole
from streamgauge.pipeline.estimation.standard_errors import Batch, Estimates, Groups

BLOCKS_TO_JUDGE = 12
SIGNIFICANCE = 0.01
LEAST_EFFECT = 0.02
MOST_UNEXPLAINED = 0.3
MOST_SPREAD = 25.0
# Features that follow from the others, up to rounding, add nothing.
_INDEPENDENT = 1e-9


def linearity_figures(layout: Layout) -> list[Batch]:
    """For every task and output stream one or zero, where it can be told."""
    batches = []
    taken: set[int] = set()
    for x_metric, y_metric in (
        (Metric.EXECUTED, Metric.EMITTED),
        (Metric.EXECUTED_TOTAL, Metric.EMITTED_TOTAL),
    ):
        x, y = _series(layout, x_metric, taken), _series(layout, y_metric, taken)
        x, y = x[x["subject"].isin(y["subject"])], y[y["subject"].isin(x["subject"])]
        taken |= set(x["subject"])
        sizes = x.groupby("subject").size()
        for size in sorted(set(sizes)):
            mine = sizes.index[sizes == size]
            inputs, outputs = x[x["subject"].isin(mine)], y[y["subject"].isin(mine)]
            batches.append(_judged(layout, inputs, outputs, size))
    return batches


def _series(layout: Layout, metric: Metric, taken: set[int]) -> pd.DataFrame:
    series = layout.series.iloc[layout.series_of(metric)]
    return series[~series["subject"].isin(taken)]


def _judged(layout: Layout, inputs: pd.DataFrame, outputs: pd.DataFrame, size: int) -> Batch:
    subjects = outputs["subject"].to_numpy()
    group, block = layout.blocks_of(subjects)
    starts = layout.coverage["start_us"].to_numpy()[block]
    # The inputs of a subject stand together, in the same order everywhere.
    first = np.searchsorted(inputs["subject"].to_numpy(), subjects)
    numbers = inputs.index.to_numpy()
    columns = [layout.spread(numbers[first + j], "total") for j in range(size)]
    x = np.stack(columns, axis=1)
    y = layout.spread(outputs.index.to_numpy(), "total")
    busy = x.sum(axis=1) > 0.0
    kept, group = np.unique(group[busy], return_inverse=True)
    groups = Groups.of(group, starts[busy], layout.steps_us[subjects[kept]][group])
    told, linear = is_linear(x[busy], y[busy], groups)
    keys = outputs.iloc[kept][["subject", "stream"]].reset_index(drop=True)
    values = np.where(told, linear.astype(np.float64), np.nan)
    return Batch.of(
        keys.assign(figure=FigureName.LINEAR),
        Estimates(
            values=values,
            errors=np.full(len(keys), np.nan),
            blocks=groups.counts,
            resampled=np.zeros(len(keys), dtype=bool),
            replicas=np.zeros((0, 0)),
        ),
    )


def is_linear(x: Floats, y: Floats, groups: Groups) -> tuple[Bools, Bools]:
    """Judge many relations at once.

    Args:
        x: Totals of the inputs, a row a block, none of them all zero.
        y: Totals of the output.
        groups: The blocks of each relation.

    Returns:
        Of which relations it can be told, and which of them are linear.
    """
    load = x.sum(axis=1)
    x_scaled, y_scaled = x / np.sqrt(load)[:, None], y / np.sqrt(load)
    fitted = _projection(x_scaled, y_scaled, groups)
    features = [fitted * load / groups.spread(groups.sums(load) / groups.counts)]
    if x.shape[1] > 1:
        features.append(_matched(x, groups) / np.sqrt(load))
    left = y_scaled - fitted
    gained, freedom = _gain(x_scaled, left, features, groups)
    unexplained, output = groups.sums(left * left), groups.sums(y_scaled * y_scaled)
    rest = groups.counts - x.shape[1] - freedom
    told = (groups.counts >= BLOCKS_TO_JUDGE) & (rest > 0) & (output > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        f = np.nan_to_num(gained / freedom / ((unexplained - gained) / rest), posinf=np.inf)
        surprise = special.fdtrc(np.maximum(freedom, 1), np.maximum(rest, 1), f)
    bent = (surprise < SIGNIFICANCE) & (gained > LEAST_EFFECT**2 * output)
    spread = groups.sums(left * left * load) > MOST_SPREAD * groups.sums(y)
    loose = (unexplained > MOST_UNEXPLAINED**2 * output) & spread
    return told, ~(bent | loose)


def _matched(x: Floats, groups: Groups) -> Floats:
    """How well the inputs of a block match each other, in proportion to their totals."""
    parts = [x[:, j] / groups.spread(groups.sums(x[:, j].copy())) for j in range(x.shape[1])]
    matched = np.zeros(len(x))
    for j, one in enumerate(parts):
        for other in parts[j + 1 :]:
            both = one + other
            matched += np.where(both > 0.0, one * other / np.where(both > 0.0, both, 1.0), 0.0)
    # In tuples, like the other columns.
    return np.asarray(matched * groups.spread(groups.sums(x.sum(axis=1))))


def _projection(columns: Floats, target: Floats, groups: Groups) -> Floats:
    """The least squares fit of each relation's target by its columns."""
    return target - _residual(columns, target, groups)


def _residual(columns: Floats, target: Floats, groups: Groups) -> Floats:
    """What is left of the target: Gram and Schmidt, column by column, twice for precision."""
    basis = _orthogonal(columns, groups)
    left = target
    for _ in range(2):
        for column in basis:
            left = left - groups.spread(groups.sums(column * left)) * column
    return left


def _orthogonal(columns: Floats, groups: Groups) -> list[Floats]:
    basis: list[Floats] = []
    for j in range(columns.shape[1]):
        column = columns[:, j].copy()
        size = groups.sums(column * column)
        for _ in range(2):
            for one in basis:
                column = column - groups.spread(groups.sums(one * column)) * one
        length = groups.sums(column * column)
        new = length > _INDEPENDENT * size
        inverse = np.where(new, 1.0 / np.sqrt(np.where(new, length, 1.0)), 0.0)
        basis.append(column * groups.spread(inverse))
    return basis


def _gain(
    columns: Floats, left: Floats, features: list[Floats], groups: Groups
) -> tuple[Floats, Whole]:
    """What the features take off the squares that are left, and how many of them count."""
    basis = _orthogonal(np.column_stack([columns, *features]), groups)
    gained = np.zeros(len(groups.counts))
    freedom = np.zeros(len(groups.counts), dtype=np.int64)
    for column in basis[columns.shape[1] :]:
        gained += groups.sums(column * left) ** 2
        freedom += groups.sums(column * column) > 0.5
    return gained, freedom
