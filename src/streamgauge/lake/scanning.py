"""Rows of chosen files of a table, and DuckDB to ask about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from streamgauge.errors import InvalidInput, UnreadableFile
from streamgauge.lake.tables import DataFile, LakeTable
from streamgauge.lake.uris import open_store

# What does not fit goes to a temporary folder.
MEMORY = "1GB"


def dataset_of(table: LakeTable, version: int, files: Iterable[DataFile]) -> ds.Dataset:
    """Those files of a version of a table as a dataset; no other is opened."""
    _, root = open_store(table.uri)
    wanted = {f"{root}/{file.path}" for file in files}
    whole = table.dataset(version)
    chosen = [one for one in whole.get_fragments() if one.path in wanted]
    return ds.FileSystemDataset(chosen, whole.schema, whole.format, whole.filesystem)


@contextmanager
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB of bounded memory that leaves nothing behind.

    Raises:
        InvalidInput: The memory is not enough, the disk included.
    """
    with TemporaryDirectory(prefix="streamgauge-") as folder:
        connection = duckdb.connect(
            ":memory:", config={"memory_limit": MEMORY, "temp_directory": folder}
        )
        try:
            yield connection
        except duckdb.OutOfMemoryException:
            raise InvalidInput.single(
                (),
                seen=f"more than {MEMORY} of memory needed, and no room for the rest in {folder}",
                expected="less",
                remedy="take a shorter period or fewer names, or let TMPDIR name a larger disk",
            ) from None
        finally:
            connection.close()


@contextmanager
def readable(uri: str) -> Iterator[None]:
    """Say so where a file of the lake is gone or damaged.

    Raises:
        UnreadableFile: One is.
    """
    try:
        yield
    except (duckdb.InvalidInputException, pa.ArrowInvalid, FileNotFoundError) as error:
        raise UnreadableFile.single(
            (),
            file=uri,
            seen=str(error).splitlines()[0],
            expected="all files of the version",
            remedy="where a vacuum ran meanwhile, ask again; else see `streamgauge lake repair"
            f" --dry-run --lake {uri}`",
        ) from None
