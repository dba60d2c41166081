"""Small lakes without Spark: rows become Parquet files, and files are committed."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.lake.metrics import METRICS
from streamgauge.lake.tables import Lake, LakeTable, Snapshot

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RECEIPT = {"received_at": datetime(2026, 2, 1, tzinfo=UTC), "file": "/landing/a.jsonl"}
TASK = {"component": "splitter", "task": 1, "worker": "node-1:6700", "node": "node-1"}
INPUT = {"stream": "default", "source_component": "sentences"}


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def sample(metric: str, second: float, value: float, **others: Any) -> dict[str, Any]:
    """A sample of a bucket of ten seconds that begins so long after noon."""
    named = {"topology": "words", **TASK, **(INPUT if "stream" in METRICS[metric].keys else {})}
    own = {
        "metric": metric,
        "bucket_start": after(second),
        "bucket_seconds": 10.0,
        "value": float(value),
        "count": int(value),
    }
    return RECEIPT | named | own | others


def heartbeat(second: float, **others: Any) -> dict[str, Any]:
    return sample("worker_heartbeats", second, 1, component=None, task=None, **others)


def refused(raw: bytes, reason: str = "not-json", **others: Any) -> dict[str, Any]:
    return RECEIPT | {"raw": raw, "reason": reason, "detail": "seen and expected"} | others


def write(table: LakeTable, rows: Iterable[Mapping[str, Any]]) -> str:
    """Files of rows under a table that nobody has committed yet; gives their folder."""
    folder = f"part-{uuid4().hex}"
    by_day: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_day.setdefault(row[table.table.day_of].date().isoformat(), []).append(row)
    for day, its_rows in by_day.items():
        place = Path(table.uri, folder, f"date={day}")
        place.mkdir(parents=True)
        content = pa.Table.from_pylist(its_rows, schema=table.file_schema)
        pq.write_table(content, place / f"{uuid4().hex}.parquet")
    return folder


def put(
    table: LakeTable, rows: Iterable[Mapping[str, Any]], snapshot: Snapshot | None = None
) -> int:
    """Write rows and commit them, as an ingest would; gives the version that has them."""
    seen = snapshot or table.snapshot()
    table.commit(after=seen, added=[write(table, rows)], about={"command": "ingest"})
    return table.snapshot().version


def lake_of(folder: Path, *rows: Mapping[str, Any]) -> Lake:
    """A lake with samples."""
    lake = Lake(folder)
    put(lake.table("samples"), rows)
    return lake


def rows_of(table: LakeTable, version: int | None = None) -> list[dict[str, Any]]:
    """All rows in an order that does not depend on files."""
    rows = pa.Table.from_batches(
        table.read(version=version), schema=table.table.schema.remove_metadata()
    )
    return sorted(rows.to_pylist(), key=repr)
