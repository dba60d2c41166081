"""Which rows may have a key that another row has, by hashes of their keys.

Hashes lie in files, sorted. Few are looked at in this process; many are divided among Spark's
workers by ranges of their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from streamgauge.lake.schemas import TABLES
from streamgauge.lake.tables import DataFile, LakeTable
from streamgauge.pipeline.ingest.row_files import (
    hash_near,
    listed,
    read_hashes,
    split_file,
    write_hashes,
)
from streamgauge.pipeline.ingest.row_keys import key_hashes
from streamgauge.pipeline.ingest.staging import Staged, Written, written_by

# Rows of the table up to so many are read here: that takes less time than a job of Spark.
MOST_ROWS_HERE = 500_000
# So many hashes are looked at together; more are divided among tasks by their values.
HASHES_TOGETHER = 2_000_000
_LEAST_HASH, _ALL_HASHES = -(2**63), 2**64

# By file, the places of rows.
Places = dict[str, NDArray[np.int32]]
WritePlaces = Callable[[str, NDArray[np.int32]], Iterator[Written]]


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
    spans, folder = staged.spans(target.table.name), staged.folder
    hashed = [*new, *_hash_near(spark, partial(hash_near, target, folder, spans), near)]
    if superseded is not None:
        read = partial(_hash_rows, target.table.name, folder)
        hashed += written_by(superseded.select(*target.table.key), read)
    find = partial(repeated_places, hashed, len(new))
    split = partial(split_file, target, folder, staged.run)
    ranges = _ranges(sum(one["rows"] for one in hashed))
    if len(ranges) == 1:
        places = find(*ranges[0])
        return [row for path in places for row in split(path, places[path])]
    chosen = (
        spark.range(0, len(ranges), 1, len(ranges))
        .mapInArrow(partial(_find_numbered, find, ranges), "path STRING, places ARRAY<INT>")
        .groupBy("path")
        .agg(f.flatten(f.collect_list("places")).alias("places"))
    )
    return write_chosen(chosen, split)


def _ranges(hashes: int) -> list[tuple[int, int]]:
    """Least and greatest hash of ranges that have about equally many."""
    ranges = max(-(-hashes // HASHES_TOGETHER), 1)
    ends = [_LEAST_HASH + _ALL_HASHES * number // ranges for number in range(ranges + 1)]
    return [(least, end - 1) for least, end in pairwise(ends)]


def repeated_places(hashed: Sequence[Written], new: int, least: int, greatest: int) -> Places:
    """The places of rows with a hash that a new row has, and not one new row alone.

    Args:
        hashed: Files with hashes, those of new rows first; without `path` for rows elsewhere.
        new: How many are of new rows.
        least: Of the hashes that are looked at.
        greatest: Of them.
    """
    read = [read_hashes(one["hashes"], least, greatest) for one in hashed]
    hashes = np.concatenate([one["hash"].to_numpy() for one in read])
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    sizes = np.diff(begins, append=len(ordered))
    # Equal hashes stay in the order of their files: a new one, if there is any, comes first.
    is_new = order[begins] < sum(map(len, read[:new]))
    chosen = np.zeros(len(hashes), dtype=bool)
    chosen[order] = np.repeat((sizes > 1) & is_new, sizes)
    places: Places = {}
    begin = 0
    for one, of_file in zip(hashed, read, strict=True):
        mine = of_file["place"].to_numpy()[chosen[begin : begin + len(of_file)]]
        begin += len(of_file)
        if one["path"] is not None and len(mine):
            places[one["path"]] = np.sort(mine)
    return places


def _hash_near(
    spark: SparkSession, hash_one: Callable[[str], Iterator[Written]], near: Sequence[DataFile]
) -> list[Written]:
    """Write the hashes of rows in files of the table."""
    paths = [file.path for file in near]
    if sum(file.rows for file in near) <= MOST_ROWS_HERE:
        return [row for path in paths for row in hash_one(path)]
    numbers = spark.range(0, len(paths), 1, len(paths))
    return written_by(numbers, partial(_hash_numbered, hash_one, paths))


def _hash_numbered(
    hash_one: Callable[[str], Iterator[Written]],
    paths: Sequence[str],
    numbers: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for number in _numbers_in(numbers):
        yield from listed(hash_one(paths[number]))


def _hash_rows(
    name: str, staging: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        hashes = key_hashes(pa.Table.from_batches([batch]), TABLES[name])
        place, _ = write_hashes(staging, hashes)
        yield from listed([{"table": name, "hashes": place, "rows": len(hashes)}])


def _find_numbered(
    find: Callable[[int, int], Places],
    ranges: Sequence[tuple[int, int]],
    numbers: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for number in _numbers_in(numbers):
        for path, places in find(*ranges[number]).items():
            columns = [pa.array([path]), pa.array([places], pa.list_(pa.int32()))]
            yield pa.RecordBatch.from_arrays(columns, names=["path", "places"])


def write_chosen(chosen: DataFrame, write: WritePlaces) -> list[Written]:
    """Call a function that writes for rows of files: paths, each with the places of its rows."""
    return written_by(chosen, partial(_write_each, write))


def _write_each(write: WritePlaces, chosen: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in chosen:
        for path, places in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield from listed(write(path, np.sort(np.array(places, dtype=np.int32))))


def _numbers_in(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()
