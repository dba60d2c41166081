"""How Storm counts: one tuple in twenty, and that twenty times.

Storm's samplers look at exactly one tuple in each window of twenty, at a place drawn anew for each
window (`ConfigUtils.evenSampler`). A total that such a sampler counts is never further than one
window from the truth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.trees import SAMPLING


class EvenSampler:
    """Samplers for many counters, each with windows of its own.

    Args:
        random: Where the places come from.
        counters: How many.
    """

    def __init__(self, random: np.random.Generator, counters: int) -> None:
        self._random = random
        self._window = np.full(counters, -1)
        self._place = np.zeros(counters, dtype=np.int64)

    def taken(self, counts: NDArray[Any]) -> NDArray[Any]:
        """How many each one has looked at when so many have come; counts never fall.

        Of a window that is over exactly one was looked at, wherever it stood; so only the place in
        the window at hand has to be drawn.
        """
        window, passed = np.divmod(counts, SAMPLING)
        entered = np.flatnonzero(window != self._window)
        self._place[entered] = self._random.integers(0, SAMPLING, len(entered))
        self._window = window
        return np.asarray(window + (passed > self._place))
