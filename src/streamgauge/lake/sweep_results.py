"""Where the results of a sweep are kept: a Delta table beside what was swept.

A block of cases is one commit, so after any interruption whole blocks are there, each once, and
what is left is known. The table is one of Delta, which Spark, DuckDB and pandas read as it is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import TableNotFoundError

from streamgauge.errors import InvalidInput
from streamgauge.overwrite_guard import remember_input
from streamgauge.topology.files.document import dump_json, write_whole

NAME = "sweep.json"
TABLE = "results"
VERSION = 1


class SweepResults:
    """The results in a folder.

    Args:
        folder: New, empty, or of the same sweep.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read_description(self) -> dict[str, Any] | None:
        """What was swept there; None where nothing was.

        Raises:
            InvalidInput: The folder holds something else.
        """
        path = self.folder / NAME
        if not path.exists():
            held = sorted(one.name for one in self.folder.glob("[!.]*"))
            if held or self.folder.is_file():
                raise InvalidInput.single(
                    (),
                    file=str(self.folder),
                    seen=f"a folder that holds {held[0]!r}" if held else "a file",
                    expected="a new folder, an empty one, or one of this sweep",
                    remedy="name another folder with --output",
                )
            return None
        remember_input(path)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["streamgauge_sweep"] != VERSION:
                raise ValueError(f"version {data['streamgauge_sweep']}")
            described: dict[str, Any] = data["sweep"]
            return described
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput.single(
                (),
                file=str(path),
                seen=f"{type(error).__name__}: {error}",
                expected="what `streamgauge sweep` wrote",
                remedy="name another folder with --output",
            ) from None

    def write_description(self, described: dict[str, Any]) -> None:
        """Say what is swept here."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(
            self.folder / NAME, dump_json({"streamgauge_sweep": VERSION, "sweep": described})
        )

    def done(self) -> set[int]:
        """Blocks that are there."""
        table = self._table()
        if table is None:
            return set()
        blocks = table.to_pyarrow_dataset().to_table(columns=["block"])["block"]
        return set(blocks.unique().to_pylist())

    def append(self, rows: pa.Table) -> None:
        """Add whole blocks, in one commit."""
        write_deltalake(str(self.folder / TABLE), rows, mode="append")

    def read(self) -> pa.Table:
        """All rows, those of a block together, blocks in their order."""
        table = self._table()
        if table is None:
            raise InvalidInput.single(
                (), file=str(self.folder), seen="no results", expected="a sweep with results"
            )
        found: ds.Dataset = table.to_pyarrow_dataset()
        return found.to_table().sort_by([("block", "ascending"), ("case", "ascending")])

    def _table(self) -> DeltaTable | None:
        try:
            return DeltaTable(str(self.folder / TABLE))
        except TableNotFoundError:
            return None
