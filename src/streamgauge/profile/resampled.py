"""Replicas of a profile's figures, read: what each block of time did to every figure.

A replica weighs blocks of time anew (`block_weights`), the same for all figures, so column k is one
possible profile. To the first order a figure is θ + Σ zᵦ·(wᵦ − 1) over blocks b. There are more
replicas than blocks, and their weights are known, so the influences zᵦ follow by least squares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from streamgauge.profile.block_weights import weights
from streamgauge.profile.profile import Profile

Array = NDArray[np.float64]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resampled:
    """Figures of a profile from resampled blocks of time.

    Attributes:
        paths: Where each figure stands in the profile: names between slashes, see `split_path`.
        values: A row a figure, a column a replica; NaN where a replica is not defined.
    """

    paths: tuple[str, ...]
    values: Array

    @property
    def count(self) -> int:
        """How many replicas there are."""
        return int(self.values.shape[1])

    def replica(self, index: int) -> dict[str, float]:
        """What all figures are in one replica, by path."""
        return dict(zip(self.paths, self.values[:, index].tolist(), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockInfluences:
    """How far each block of time moves every figure.

    Attributes:
        paths: Of the figures.
        centres: The figures, in the replicas' middle.
        influences: A row a figure, a column a block, in order of time.
    """

    paths: tuple[str, ...]
    centres: Array
    influences: Array

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return int(self.influences.shape[1])


def split_path(path: str) -> list[str]:
    """The names of a path; a slash within a name is written %2F."""
    return [name.replace("%2F", "/").replace("%25", "%") for name in path.split("/")]


def find_influences(resampled: Resampled, profile: Profile) -> BlockInfluences | None:
    """What each block does to each figure; None where the profile does not tell its blocks.

    Figures with a replica that is not defined are left out.
    """
    starts_us = _list_starts(profile)
    assert profile.replicas is not None
    if len(starts_us) < 2 or len(starts_us) + 1 >= resampled.count:
        return None
    weighed = weights(starts_us, seed=profile.replicas.seed, count=resampled.count)
    design = np.concatenate([np.ones((1, resampled.count)), weighed - 1.0]).T
    known = np.asarray(np.isfinite(resampled.values).all(axis=1))
    values = resampled.values[known]
    solved = np.linalg.lstsq(design, values.T, rcond=None)[0]
    return BlockInfluences(
        paths=tuple(path for path, one in zip(resampled.paths, known, strict=True) if one),
        centres=solved[0],
        influences=solved[1:].T,
    )


def _list_starts(profile: Profile) -> NDArray[np.int64]:
    """When the blocks of a profile's period start: at whole multiples of their length."""
    replicas, period = profile.replicas, profile.period
    if replicas is None or period is None or replicas.block_seconds <= 0.0:
        return np.zeros(0, dtype=np.int64)
    length = round(replicas.block_seconds * 1e6)
    first, last = (
        (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND
        for text in (period.start, period.end)
    )
    places = range(first // length, math.ceil(last / length))
    return np.asarray([place * length for place in places], dtype=np.int64)


def group_blocks(influences: BlockInfluences, most: int) -> Array:
    """What neighbouring blocks do together: a row a figure, a column a group, at most so many."""
    count = min(influences.blocks, most)
    edges: Sequence[int] = np.linspace(0, influences.blocks, count + 1).round().astype(int).tolist()
    columns = [influences.influences[:, first:last].sum(axis=1) for first, last in pairwise(edges)]
    return np.stack(columns, axis=1)
