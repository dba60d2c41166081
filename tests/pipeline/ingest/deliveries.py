"""Deliveries of samples, and what a lake should hold after them, by brute force."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from streamgauge.lake.raw import encode
from streamgauge.lake.records import Sample
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.ingest.listing import InputFile

START_US = 1_767_225_600_000_000
RECEIVED = datetime(2026, 2, 1, tzinfo=UTC)


def line(task: int, value: int, bucket: int = 0) -> bytes:
    """A sample of a task, with exactly this value."""
    sample = Sample(
        topology="t",
        component="a",
        task=task,
        metric="executed",
        stream="default",
        source_component="s",
        bucket_start_us=START_US + bucket * 10_000_000,
        bucket_seconds=10.0,
        value=float(value),
        count=value,
    )
    return encode(sample).encode()


@dataclass(frozen=True)
class Delivery:
    """A file and the hour after the first receipt at which it was received."""

    path: Path
    hour: int
    lines: tuple[bytes, ...]

    @property
    def file(self) -> InputFile:
        time = RECEIVED + timedelta(hours=self.hour)
        size = self.path.stat().st_size
        return InputFile(uri=str(self.path), bytes=size, modified_at=time, received_at=time)


def deliver(folder: Path, name: str, hour: int, lines: Iterable[bytes]) -> Delivery:
    """Write a file of lines."""
    path = folder / f"{name}.jsonl"
    kept = tuple(lines)
    path.write_bytes(b"".join(one + b"\n" for one in kept))
    return Delivery(path, hour, kept)


def is_good(raw: bytes) -> bool:
    return raw.startswith(b'{"type":"sample"')


def expected(deliveries: Iterable[Delivery]) -> tuple[list[Any], list[bytes]]:
    """Rows of `samples` and lines of `quarantine`, whatever the order of the deliveries.

    Equal lines are one, received when the first of them was. Of several lines of one key the last
    received is right; where two were received last, none is.
    """
    received: dict[bytes, int] = {}
    for one in deliveries:
        for raw in one.lines:
            received[raw] = min(received.get(raw, one.hour), one.hour)
    by_key: dict[Any, list[bytes]] = {}
    refused = [raw for raw in received if not is_good(raw)]
    for raw in received:
        if is_good(raw):
            found = json.loads(raw)
            by_key.setdefault((found["task"], found["bucket_start_us"]), []).append(raw)
    rows = []
    for (task, bucket), lines in by_key.items():
        latest = max(received[raw] for raw in lines)
        right = [raw for raw in lines if received[raw] == latest]
        for raw in lines:
            if [raw] == right:
                time = RECEIVED + timedelta(hours=received[raw])
                rows.append((task, bucket, float(json.loads(raw)["value"]), time))
            else:
                refused.append(raw)
    return sorted(rows), sorted(refused)


def content(lake: Lake) -> tuple[list[Any], list[bytes]]:
    """The same of a lake."""
    samples = lake.table("samples").read().read_all().to_pylist()
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    rows = [
        (
            one["task"],
            (one["bucket_start"] - epoch) // timedelta(microseconds=1),
            one["value"],
            one["received_at"],
        )
        for one in samples
    ]
    refused = lake.table("quarantine").read(["raw"]).read_all()["raw"].to_pylist()
    return sorted(rows), sorted(refused)
