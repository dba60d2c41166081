"""Which rows may have a key that another row has, by hashes of their keys.

Few rows are looked at in this process, many by Spark: the answer is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from streamgauge.lake.schemas import TABLES
from streamgauge.lake.tables import DataFile, LakeTable
from streamgauge.lake.uris import open_store
from streamgauge.pipeline.ingest.row_files import (
    HASHES,
    WRITTEN,
    hash_near,
    key_hashes,
    split_file,
)
from streamgauge.pipeline.ingest.staging import Staged
from streamgauge.pipeline.schemas import spark_schema
from streamgauge.pipeline.table_files import spark_uri

# Up to so many rows take less time than a job of Spark, and little memory.
MOST_ROWS_HERE = 500_000
# So many hashes fit into the memory of every task.
_MOST_BROADCAST = 1_000_000

Written = Mapping[str, Any]


def split_repeated(
    spark: SparkSession,
    target: LakeTable,
    staged: Staged,
    near: Sequence[DataFile],
    superseded: DataFrame | None,
) -> list[Written]:
    """Write rows whose hash another row has into files of their own, and new files without them.

    Args:
        spark: The session.
        target: The table.
        staged: New rows.
        near: Files of the table that may hold rows of the same keys.
        superseded: Rows in quarantine that may.

    Returns:
        What `split_file` wrote; nothing where no hash stands twice.
    """
    new = staged.of(target.table.name)
    if len(new) == 1 and not new[0]["repeats"] and not near and superseded is None:
        return []
    paths = [file.path for file in near]
    known = None if superseded is None else _hashes_of(superseded, target)
    spans = staged.spans(target.table.name)
    hash_one = partial(hash_near, target, staged.folder, spans)
    split_one = partial(split_file, target, staged.folder, staged.run, spans)
    if sum(one["rows"] for one in new) + sum(file.rows for file in near) <= MOST_ROWS_HERE:
        kept = [row for path in paths for row in hash_one(path)]
        hashes = None if known is None else known.toArrow()["hash"].to_numpy()
        places = _repeated_places(new, kept, hashes)
        return [row for path, rows in places.items() for row in split_one(path, rows)]
    kept = []
    if paths:
        numbers = spark.range(0, len(paths), 1, len(paths))
        read = partial(_hash_numbered, hash_one, paths)
        kept = numbers.mapInArrow(read, spark_schema(WRITTEN)).toArrow().to_pylist()
    chosen = _repeated_rows(spark, new, kept, known)
    split = chosen.mapInArrow(partial(_split_chosen, split_one), spark_schema(WRITTEN))
    return split.toArrow().to_pylist()


def _repeated_places(
    new: Sequence[Written], kept: Sequence[Written], known: NDArray[np.int64] | None
) -> dict[str, NDArray[np.int64]]:
    """By file, the places of rows with a hash that new rows have, and not one new row alone."""
    hashes = [_read_hashes(one) for one in (*new, *kept)]
    others = [] if known is None else [known]
    _, codes, rows = np.unique(
        np.concatenate([*hashes, *others]), return_inverse=True, return_counts=True
    )
    is_new = np.zeros(len(rows), dtype=bool)
    is_new[codes[: sum(map(len, hashes[: len(new)]))]] = True
    chosen = ((rows > 1) & is_new)[codes]
    places = {}
    begin = 0
    for one, of_file in zip((*new, *kept), hashes, strict=True):
        found = np.flatnonzero(chosen[begin : begin + len(of_file)])
        begin += len(of_file)
        if len(found):
            places[one["path"]] = found
    return places


def _read_hashes(written: Written) -> NDArray[np.int64]:
    store, path = open_store(written["hashes"])
    return pq.read_table(path, columns=["hash"], filesystem=store)["hash"].to_numpy()


def _repeated_rows(
    spark: SparkSession, new: Sequence[Written], kept: Sequence[Written], known: DataFrame | None
) -> DataFrame:
    """The same as rows of `path` and `places`."""

    def read(files: Sequence[Written]) -> DataFrame:
        paths = [spark_uri(one["hashes"]) for one in files]
        return spark.read.schema(spark_schema(HASHES)).parquet(*paths)

    counted = read(new).select("hash", f.lit(True).alias("is_new"))
    for others in ([read(kept)] if kept else []) + ([known] if known is not None else []):
        counted = counted.unionByName(others.select("hash", f.lit(False).alias("is_new")))
    repeated = (
        counted.groupBy("hash")
        .agg(f.count("*").alias("rows"), f.max("is_new").alias("is_new"))
        .where((f.col("rows") > 1) & f.col("is_new"))
        .select("hash")
        .localCheckpoint()
    )
    few = repeated.limit(_MOST_BROADCAST + 1).count() <= _MOST_BROADCAST
    return (
        read([*new, *kept])
        .join(f.broadcast(repeated) if few else repeated, "hash", "left_semi")
        .groupBy("path")
        .agg(f.collect_list("place").alias("places"))
    )


def _hashes_of(rows: DataFrame, target: LakeTable) -> DataFrame:
    hash_rows = partial(_hash_rows, target.table.name)
    return rows.select(*target.table.key).mapInArrow(hash_rows, "hash LONG")


def _hash_rows(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        hashes = key_hashes(pa.Table.from_batches([batch]), TABLES[name])
        yield pa.RecordBatch.from_arrays([pa.array(hashes)], names=["hash"])


def _hash_numbered(
    hash_one: Any, paths: Sequence[str], numbers: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for number in (one for batch in numbers for one in batch.column(0).to_pylist()):
        yield from _listed(hash_one(paths[number]))


def _split_chosen(split_one: Any, chosen: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for row in (row for batch in chosen for row in batch.to_pylist()):
        yield from _listed(split_one(row["path"], np.sort(row["places"])))


def _listed(rows: Iterable[Written]) -> list[pa.RecordBatch]:
    return pa.Table.from_pylist(list(rows), schema=WRITTEN).to_batches()
