"""Sweeps on Spark: blocks of cases by the function that evaluates them anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from streamgauge.pipeline.schemas import spark_schema
from streamgauge.pipeline.session import Session

BLOCKS = pa.schema([("number", pa.int64())])
# Blocks that are evaluated before what was found is kept: for each core so many.
BLOCKS_PER_CORE = 4


def evaluate_blocks(
    spark: Session,
    numbers: Sequence[int],
    evaluate: Callable[[int], pa.Table],
    schema: pa.Schema,
) -> Iterator[pa.Table]:
    """The rows of all blocks, some blocks at a time, so that they can be kept as they come.

    Args:
        spark: Where to evaluate.
        numbers: Of the blocks.
        evaluate: From a block's number to its rows; it is sent to the workers.
        schema: Of the rows.
    """
    cores = spark.sparkContext.defaultParallelism
    wave = BLOCKS_PER_CORE * cores

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch["number"].to_pylist():
                yield from evaluate(number).to_batches()

    for start in range(0, len(numbers), wave):
        chosen = list(numbers[start : start + wave])
        rows = spark.createDataFrame(pa.table({"number": chosen}, schema=BLOCKS))
        # One block a task: a core that is done early takes the next.
        spread = rows.repartition(len(chosen), "number")
        yield spread.mapInArrow(run, spark_schema(schema)).toArrow()
