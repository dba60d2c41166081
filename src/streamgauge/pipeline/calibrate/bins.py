"""The bins of `lake.histogram` as a column."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f

from streamgauge.lake.histogram import BINS_PER_DOUBLING, EDGES, LAST_BIN

_EDGES = ", ".join(f"{edge!r}D" for edge in EDGES)


def bin_number(column: str) -> Column:
    """The bin of a column's numbers, which are not negative: exactly `histogram.bin_of`.

    A logarithm may be off by its last digit, so that the bin it gives is held against its edges.
    """
    guess = (
        f"LEAST(GREATEST(CAST(FLOOR(LOG2({column}) * {BINS_PER_DOUBLING}) AS INT) + 1, 1),"
        f" {LAST_BIN})"
    )
    edges = f"ARRAY({_EDGES}, DOUBLE('Infinity'))"
    below = f"IF({column} < {edges}[{guess} - 1], 1, 0)"
    above = f"IF({column} >= {edges}[{guess}], 1, 0)"
    return f.expr(f"CASE WHEN {column} < 1 THEN 0 ELSE {guess} + {above} - {below} END").cast(
        "smallint"
    )
