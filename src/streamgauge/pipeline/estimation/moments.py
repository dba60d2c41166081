"""Variability of times from their sums and sums of squares."""

from __future__ import annotations

import numpy as np

from streamgauge.pipeline.estimation.arrays import Floats
from streamgauge.pipeline.estimation.standard_errors import Bootstrap, Estimates, Groups, smooth


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
