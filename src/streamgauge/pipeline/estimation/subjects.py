"""Level one: from the partial sums of subjects to their figures.

Every subject's figures depend on its own rows only, so Spark may deal subjects to as many calls as
it likes. What needs several subjects at once (shares between tasks, capacity, juice) is left to
`assembly`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streamgauge.pipeline.estimation.batches import joined, table_of
from streamgauge.pipeline.estimation.dispersion import dispersion_figures
from streamgauge.pipeline.estimation.linearity import linearity_figures
from streamgauge.pipeline.estimation.means import mean_figures
from streamgauge.pipeline.estimation.outputs import regression_figures
from streamgauge.pipeline.estimation.reading import Layout, read
from streamgauge.pipeline.estimation.schemas import FIGURES
from streamgauge.pipeline.estimation.standard_errors import COUNT, Bootstrap
from streamgauge.pipeline.estimation.times import with_shapes


def figures_of(sums: pa.Table, *, seed: int = 0, replicas: int = COUNT) -> pa.Table:
    """All figures of the subjects whose sums are given.

    Args:
        sums: All rows of a whole number of subjects, in any order, with the columns of
            `SERIES_SUMS`.
        seed: Of the replicas' weights.
        replicas: How many; none when zero.

    Returns:
        A table with the columns of `FIGURES`, sorted by owner and figure.

    Raises:
        InvalidInput: A column is missing.
    """
    known = read(sums)
    if known.sums.empty:
        return FIGURES.empty_table()
    layout = Layout.of(known)
    starts = [rows["start_us"].to_numpy(dtype=np.int64) for rows in (known.coverage, known.factors)]
    bootstrap = Bootstrap(np.concatenate(starts), seed=seed, count=replicas)
    means = joined(mean_figures(layout, bootstrap))
    batches = [
        with_shapes(means, layout, bootstrap),
        *dispersion_figures(layout, bootstrap),
        *regression_figures(layout, bootstrap),
        *linearity_figures(layout),
    ]
    return table_of(joined(batches), known)
