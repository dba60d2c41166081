"""What a prediction owes to the chance of which minutes were measured: sixteen balanced draws.

Blocks of time are put together in at most fifteen groups of neighbours. In each draw every group
counts more or less by one standard deviation, by the signs of a Hadamard matrix: any two groups
have all four pairs of signs equally often (balanced replicates: McCarthy 1969, Review of the
International Statistical Institute 37, p. 239). A figure f of the draws then has, to the first
order, Σ(f_k − f̄)²/16 = Σφ_g², exactly the sum over groups of their squared influences: what a
jackknife that leaves out one group after the other estimates, and what 100 bootstrap replicas
scatter by. Unlike those of a jackknife, draws are as far from the profile as chance may take them,
so bends of f near saturation are in it, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.profile.changed_figures import change_figures
from streamgauge.profile.profile import Profile
from streamgauge.profile.resampled import BlockInfluences, group_blocks, split_path

Array = NDArray[np.float64]

COUNT = 16
MOST_GROUPS = COUNT - 1
MOST_CORRELATION = 0.5


def balance_signs() -> Array:
    """The design of the draws: a row a draw, a column a group; columns are orthogonal.

    Sylvester's matrix without its column of ones: −1 where the numbers of row and column have an
    odd number of binary digits in common.
    """
    return np.asarray(
        [
            [(-1.0) ** (row & column).bit_count() for column in range(1, COUNT)]
            for row in range(COUNT)
        ]
    )


def is_parameter(path: str) -> bool:
    """Whether a prediction may rest on the figure at a path: no result, queue or host of others."""
    match split_path(path):
        case ["tasks", _, _, "end_to_end", *_] | [
            "tasks",
            _,
            _,
            "outputs",
            _,
            "complete" | "root",
            *_,
        ]:
            return False
        case ["executors" | "workers", _, "receive" | "send" | "transfer" | "network", *_]:
            return False
        case [first, *_]:
            return first not in ("nodes", "juice")
    return False


@dataclass(frozen=True, kw_only=True, eq=False)
class Draws:
    """Profiles that might have been measured as well.

    Attributes:
        signs: A row a draw, a column a group of blocks.
        changes: For each draw the figures that change, by path.
    """

    profile: Profile
    signs: Array
    changes: Sequence[dict[str, float]]

    @classmethod
    def of(cls, profile: Profile, influences: BlockInfluences) -> Draws:
        """Sixteen draws, from what blocks do to each figure."""
        used = [place for place, path in enumerate(influences.paths) if is_parameter(path)]
        grouped = group_blocks(influences, MOST_GROUPS)[used]
        count = grouped.shape[1]
        signs = balance_signs()[:, :count]
        deviations = math.sqrt(count / (count - 1.0)) * grouped @ signs.T
        drawn = influences.centres[used][:, None] + deviations
        paths = [influences.paths[place] for place in used]
        changes = [dict(zip(paths, column, strict=True)) for column in drawn.T.tolist()]
        return cls(profile=profile, signs=signs, changes=changes)

    @cached_property
    def behaviours(self) -> tuple[JobBehaviour | None, ...]:
        """What operators would do by each draw; None where a draw says too little."""
        return tuple(map(self._describe, self.changes))

    def _describe(self, changes: dict[str, float]) -> JobBehaviour | None:
        try:
            return JobBehaviour.from_profile(change_figures(self.profile, changes))
        except (InvalidInput, NotEnoughData):
            return None

    def half_width(self, values: Array, level: float) -> float:
        """Half the width of the interval of what draws say of a number, by Student's quantile.

        As for standard errors of figures, the variance grows with the likeness of neighbouring
        groups, by (1 + ρ)/(1 − ρ).

        Args:
            values: One a draw, finite.
            level: Probability of the interval.
        """
        groups = self.signs.shape[1]
        apart = values - values.mean()
        variance = float(apart @ apart) / len(values)
        if variance == 0.0:
            return 0.0
        influences = self.signs.T @ apart / len(values)
        beside = float(influences[1:] @ influences[:-1]) / variance
        likeness = min(max(beside + 1.0 / groups, 0.0), MOST_CORRELATION)
        widened = variance * (1.0 + likeness) / (1.0 - likeness)
        from scipy import special

        return float(special.stdtrit(groups - 1, 0.5 + level / 2.0)) * math.sqrt(widened)
