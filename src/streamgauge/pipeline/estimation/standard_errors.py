"""Ratios of sums over blocks of time, their standard errors and replicas.

Every mean and rate is R = Σaᵦ/Σcᵦ over blocks b. Blocks, not observations, are taken as nearly
independent: what follows closely in time is alike. With zᵦ = (aᵦ − R·cᵦ)/Σc, the linearised ratio
estimator (Cochran 1977, Sampling Techniques, eq. 6.4), the variance is n/(n − 1)·Σzᵦ².

Neighbouring blocks that resemble each other make that too small. It is therefore increased by
(1 + ρ)/(1 − ρ), as for a first-order autoregression, where ρ is the correlation of neighbours plus
1/n, which an estimate from n blocks is too small by (Kendall 1954), from 0 to 0.5.

A binomial error is not used as a lower bound: tuples that are dealt in turn are dealt more evenly
than by chance, and blocks show it. Only a share of exactly none or all has an error of its own:
1.5/N for N observations, so that 95 % intervals reach to 3/N (the rule of three).

Intervals are Student's with n − 1 degrees of freedom. A figure of a profile does not carry n; its
standard error is therefore stated so that ±1.96 of them are the 95 % interval: see `stated_error`.

Replicas are a weighted block bootstrap over time: what figures would have been, had other blocks
been seen more often. A figure's replica is the figure computed from weighted sums; weights are
those of `profile.block_weights`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from scipy import sparse, special

from streamgauge.pipeline.estimation.schemas import NOTHING, Bools, Floats, Whole
from streamgauge.profile.block_weights import COUNT, weights
from streamgauge.profile.figures import Figure

LEAST_RESAMPLED = 8


def resampled(values: Floats, offsets: Whole, blocks: Whole, by_block: Floats) -> Floats:
    """Weighted sums of the values of each group: a row a group, a column a replica.

    The product of a sparse matrix adds up each group from its first value to its last, whatever
    other groups there are.

    Args:
        values: One for each group and block, those of a group together.
        offsets: Where each group begins, and the end of the last.
        blocks: For each value the row of its block in `by_block`.
        by_block: Weights, a row a block.
    """
    shape = (len(offsets) - 1, len(by_block))
    return np.asarray(sparse.csr_matrix((values, blocks, offsets), shape=shape) @ by_block)


# What tells figures of one subject apart, with the value of a figure that has none.
KEYS: dict[str, float | int | str] = {
    "figure": "",
    "stream": NOTHING,
    "source": NOTHING,
    "input_stream": NOTHING,
    "target": NOTHING,
    "target_task": NOTHING,
    "seconds": np.nan,
}
MOST_CORRELATION = 0.5
LEVEL = 0.95
RULE_OF_THREE = 1.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Which rows belong to which figure; rows of one figure stand together, in order of time.

    Attributes:
        offsets: Where each figure's rows begin, and the end of the last.
        starts_us: When the block of each row starts.
        steps_us: How long the blocks of each figure are.
    """

    offsets: Whole
    starts_us: Whole
    steps_us: Whole

    @classmethod
    def of(cls, figure: Whole, starts_us: Whole, steps_us: Whole) -> Groups:
        """Groups of rows that are sorted by figure and time; `steps_us` is by row."""
        first = np.flatnonzero(np.diff(figure, prepend=-1))
        offsets = np.append(first, len(figure)).astype(np.int64)
        return cls(offsets=offsets, starts_us=starts_us, steps_us=steps_us[first])

    @property
    def counts(self) -> Whole:
        """Rows of each figure."""
        return np.diff(self.offsets)

    def sums(self, values: Floats) -> Floats:
        """Of each figure's rows; the same whatever other figures there are."""
        if len(self.offsets) == 1:
            return np.zeros(0)
        return np.asarray(np.add.reduceat(values, self.offsets[:-1]))

    def spread(self, by_figure: Floats) -> Floats:
        """A number of each figure, for each of its rows."""
        return np.repeat(by_figure, self.counts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimates:
    """Figures in the order of their groups.

    Attributes:
        values: The estimates.
        errors: Their standard errors; NaN from fewer than two blocks.
        blocks: Blocks of each.
        resampled: Which have replicas.
        replicas: A row for each of those.
    """

    values: Floats
    errors: Floats
    blocks: Whole
    resampled: Bools
    replicas: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Some estimates with their names.

    Attributes:
        frame: A row a figure: `subject`, the columns of `KEYS`, `value`, `error` and the rest;
            `row` is the figure's row in the replicas, -1 for none.
        replicas: A row for every figure that has them.
    """

    frame: pd.DataFrame
    replicas: Floats

    @classmethod
    def of(cls, keys: pd.DataFrame, estimates: Estimates) -> Batch:
        """A batch of estimates, one for each row of `keys`; what is not finite is left out."""
        row = np.where(estimates.resampled, np.cumsum(estimates.resampled) - 1, NOTHING)
        frame = keys.assign(
            value=estimates.values, error=estimates.errors, blocks=estimates.blocks, row=row
        )
        finite = np.isfinite(estimates.values)
        return cls(frame=frame[finite].reset_index(drop=True), replicas=estimates.replicas)


def joined(batches: Sequence[Batch]) -> Batch:
    """All of them as one, in the order of subjects and keys."""
    frames, matrices, rows = [], [], 0
    for batch in batches:
        frame = batch.frame.assign(
            **{name: default for name, default in KEYS.items() if name not in batch.frame}
        )
        for name in ("row", "scv_row"):
            if name in frame:
                frame[name] = np.where(frame[name] >= 0, frame[name] + rows, NOTHING)
        if len(frame):
            frames.append(frame)
        if len(batch.replicas):
            matrices.append(batch.replicas)
            rows += len(batch.replicas)
    if not frames:
        return Batch(frame=pd.DataFrame(columns=["subject", *KEYS]), replicas=np.zeros((0, 0)))
    frame = pd.concat(frames, ignore_index=True)
    frame = frame.sort_values(["subject", *KEYS], kind="stable", ignore_index=True)
    return Batch(frame=frame, replicas=np.concatenate(matrices) if matrices else np.zeros((0, 0)))


class Bootstrap:
    """The weights of all blocks that occur.

    Args:
        starts_us: When blocks start, in any order, as often as they come.
        seed: Of the profile.
        count: How many replicas; none when zero.
    """

    def __init__(self, starts_us: Whole, *, seed: int, count: int = COUNT) -> None:
        self._starts = np.unique(starts_us)
        self._weights = weights(self._starts, seed=seed, count=count)
        self.count = count

    def sums(self, values: Floats, groups: Groups, chosen: Bools) -> Floats:
        """Weighted sums of the chosen groups: a row a group, a column a replica."""
        counts = groups.counts
        rows = np.repeat(chosen, counts)
        offsets = np.concatenate([[0], np.cumsum(counts[chosen])]).astype(np.int64)
        blocks = np.searchsorted(self._starts, groups.starts_us[rows])
        return resampled(values[rows], offsets, blocks, self._weights)

    def chosen(self, groups: Groups) -> Bools:
        """Which groups have blocks enough."""
        if self.count == 0:
            return np.zeros(len(groups.counts), dtype=bool)
        return np.asarray(groups.counts >= LEAST_RESAMPLED)


def block_errors(influences: Floats, groups: Groups, *, parameters: int = 1) -> Floats:
    """Standard errors from what each block adds to an estimate (its linearised influence).

    Args:
        influences: By row; those of a figure sum to zero, or nearly.
        groups: Whose they are.
        parameters: How many numbers were estimated from the same blocks.
    """
    blocks = groups.counts
    squares = groups.sums(influences * influences)
    last = np.zeros(len(influences), dtype=bool)
    last[groups.offsets[1:] - 1] = True
    neighbours = np.diff(groups.starts_us, append=0) == np.repeat(groups.steps_us, blocks)
    beside = np.where(neighbours & ~last, influences * np.append(influences[1:], 0.0), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        similar = np.nan_to_num(groups.sums(beside) / squares) + 1.0 / blocks
        rho = np.clip(similar, 0.0, MOST_CORRELATION)
        freedom = blocks / (blocks - parameters)
        errors = np.sqrt(freedom * squares * (1.0 + rho) / (1.0 - rho))
    return np.where(blocks > parameters, errors, np.nan)


def ratios(parts: Floats, wholes: Floats, groups: Groups, bootstrap: Bootstrap) -> Estimates:
    """Σ parts over Σ wholes of each group; wholes sum to more than zero.

    Args:
        parts: The numerator of each block.
        wholes: Its denominator.
        groups: Whose blocks they are.
        bootstrap: The weights.
    """
    return smooth(
        (parts, wholes),
        lambda a, c: a / c,
        lambda a, c: (1.0 / c, -a / (c * c)),
        groups,
        bootstrap,
    )


def smooth(
    columns: tuple[Floats, ...],
    function: Callable[..., Floats],
    gradient: Callable[..., tuple[Floats, ...]],
    groups: Groups,
    bootstrap: Bootstrap,
) -> Estimates:
    """A smooth function of sums over blocks, its error by the delta method.

    Args:
        columns: What is summed.
        function: Of the sums; unchanged when all of them are multiplied by the same number.
        gradient: Its derivatives by each sum.
        groups: Whose rows they are.
        bootstrap: The weights.
    """
    sums = [groups.sums(column) for column in columns]
    chosen = bootstrap.chosen(groups)
    weighted = [bootstrap.sums(column, groups, chosen) for column in columns]
    # Where a denominator is zero the answer is not a number, and no figure.
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes, values, replicas = gradient(*sums), function(*sums), function(*weighted)
    influences = np.zeros(len(columns[0]))
    for slope, column in zip(slopes, columns, strict=True):
        influences += groups.spread(np.nan_to_num(slope, posinf=0.0, neginf=0.0)) * column
    return Estimates(
        values=values,
        errors=block_errors(influences, groups),
        blocks=groups.counts,
        resampled=chosen,
        replicas=replicas,
    )


def share_errors(shares: Floats, errors: Floats, observations: Floats) -> Floats:
    """Errors of shares of a count: the rule of three where it was none or all."""
    extreme = (shares <= 0.0) | (shares >= 1.0)
    with np.errstate(divide="ignore"):
        least = np.where(extreme & (observations > 0), RULE_OF_THREE / observations, 0.0)
    return np.where(np.isnan(errors), errors, np.maximum(errors, least))


def stated_error(error: float, blocks: int) -> float:
    """The error whose 1.96-fold is the half-width of Student's 95 % interval.

    Args:
        error: Standard error from blocks.
        blocks: How many; two at the least.
    """
    return error * _student(blocks) / float(special.ndtri(0.5 + LEVEL / 2.0))


@cache
def _student(blocks: int) -> float:
    return float(special.stdtrit(blocks - 1, 0.5 + LEVEL / 2.0))


def interval(figure: Figure, level: float = LEVEL) -> tuple[float, float]:
    """The interval that holds the true value with probability `level`.

    Exact at 95 %, where Student's quantile is part of the stated error; a little too narrow for
    higher levels and too wide for lower ones where blocks are few. Endless without an error.
    """
    if figure.standard_error is None:
        return -math.inf, math.inf
    reach = float(special.ndtri(0.5 + level / 2.0)) * figure.standard_error
    return figure.value - reach, figure.value + reach
