"""Rows of a sweep's results: what is kept, and what Spark carries."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streamgauge.planning.sweeping.evaluation import FIGURES, evaluate
from streamgauge.planning.sweeping.sweep import Block, Sweep

SCHEMA = pa.schema(
    [
        ("block", pa.int64()),
        # Within its model and replica.
        ("case", pa.int64()),
        ("model", pa.string()),
        ("replica", pa.int32()),
        ("nodes", pa.int32()),
        ("executors", pa.list_(pa.field("element", pa.int32()))),
        ("workers", pa.int32()),
        ("rate", pa.float64()),
        ("fits", pa.bool_()),
        ("full", pa.string()),
        ("error", pa.string()),
        *((name, pa.float64()) for name in FIGURES),
    ]
)


def evaluate_block(sweep: Sweep, block: Block) -> pa.Table:
    """The rows of a block."""
    columns = evaluate(sweep, block)
    executors = columns.pop("executors")
    rows, width = executors.shape
    ends = np.arange(0, rows * width + 1, width, dtype=np.int32)
    lists = pa.ListArray.from_arrays(
        ends, pa.array(executors.reshape(-1), pa.int32()), SCHEMA.field("executors").type
    )
    given = {"case": np.arange(block.start, block.stop), **columns}
    arrays = [
        lists if field.name == "executors" else pa.array(given[field.name], field.type)
        for field in SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)
