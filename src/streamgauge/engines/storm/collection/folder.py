"""The folder that a collector writes to: a file for each poll, whole or not at all.

Every file holds the plans of its samples, so that each can be read without the others, and the
oldest can go when there are too many. What the collector remembers lies beside them under a name
that receivers ignore: the next run goes on where this one ended.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from streamgauge.engines.storm.collection.readings import Process, Reading, Total
from streamgauge.engines.storm.collection.snapshot import Key
from streamgauge.engines.writing import lock_file, report_write_errors
from streamgauge.errors import InvalidInput
from streamgauge.lake.metrics import METRICS
from streamgauge.lake.raw import decode, encode
from streamgauge.lake.records import Plan, Record
from streamgauge.topology.files.document import write_whole

MEMORY_VERSION = 1
_LOCK = ".collecting"
_ENDING = ".jsonl.gz"
_OWN = re.compile(r"storm-.*-\d{8}T\d{12}Z\.jsonl\.gz")


@dataclass(frozen=True, slots=True, kw_only=True)
class LastState:
    """Where a topology stood when it was last seen: its plan, still open, and the last reports.

    Workers are by name, readings by the label of the executor.
    """

    plan: Plan
    workers: Mapping[str, Process] = field(default_factory=dict)
    readings: Mapping[str, Reading] = field(default_factory=dict)


# By the cluster's id of the topology.
Memory = dict[str, LastState]


class CollectionFolder:
    """Takes the records of polls; used as a context, and by one collector at a time.

    Args:
        path: Made where it does not exist; other files in it are left alone.
        source: What files are named after.
        most_bytes: Beyond so much of our own files the oldest go.

    Attributes:
        memory_path: Where it is remembered what was seen.
    """

    def __init__(self, path: Path, *, source: str, most_bytes: int) -> None:
        self._path = path
        self._most_bytes = most_bytes
        self._stem = f"storm-{re.sub('[^0-9A-Za-z.]+', '-', source).strip('-.')}"
        # Of this source only: what another one does not know runs on all the same.
        self.memory_path = path / f".{self._stem}.json"
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> CollectionFolder:
        with report_write_errors(self._path):
            self._path.mkdir(parents=True, exist_ok=True)
            busy = InvalidInput.single(
                (),
                file=str(self._path),
                seen="another collector that is writing there",
                expected="a folder for each",
                remedy="name another folder, or stop the other",
            )
            self._lock = lock_file(self._path / _LOCK, busy)
            for path in self._path.glob(f".storm-*{_ENDING}"):
                # Of a collector that was killed.
                path.unlink(missing_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.close()

    def remembered(self) -> Memory | None:
        """What an earlier run left; None where it cannot be read."""
        with report_write_errors(self._path):
            if not self.memory_path.exists():
                return {}
            text = self.memory_path.read_text(encoding="utf-8", errors="replace")
            return memory_from_text(text)

    def write(self, records: Sequence[Record], memory: Memory, now_us: int) -> int:
        """Add a file with these records, if there are any, and remember.

        Returns:
            How many old files had to go.

        Raises:
            InvalidInput: A receiver would reject a record.
            UnreadableFile: The disk is full, or the folder cannot be written any more.
        """
        with report_write_errors(self._path):
            if records:
                self._add(records, now_us)
            # After the file: who is killed in between says the same again, which does no harm.
            write_whole(self.memory_path, memory_to_text(memory))
            return self._trim()

    def _add(self, records: Sequence[Record], now_us: int) -> None:
        lines = "".join(f"{encode(record)}\n" for record in records)
        moment = datetime.fromtimestamp(now_us / 1_000_000, UTC)
        path = self._path / f"{self._stem}-{moment:%Y%m%dT%H%M%S%f}Z{_ENDING}"
        hidden = path.with_name(f".{path.name}")
        try:
            hidden.write_bytes(gzip.compress(lines.encode("ascii"), mtime=0))
            hidden.replace(path)
        finally:
            hidden.unlink(missing_ok=True)

    def _trim(self) -> int:
        """Remove the oldest files beyond the bound; the last one stays."""
        own = [path for path in self._path.iterdir() if _OWN.fullmatch(path.name)]
        own.sort(key=lambda path: path.name[-len("20260101T000000000000Z.jsonl.gz") :])
        sizes = [path.stat().st_size for path in own]
        excess = sum(sizes) - self._most_bytes
        gone = 0
        for path, size in zip(own[:-1], sizes, strict=False):
            if excess <= 0:
                break
            path.unlink(missing_ok=True)
            excess -= size
            gone += 1
        return gone


def memory_to_text(memory: Mapping[str, LastState]) -> str:
    """The memory as JSON text."""
    topologies = {
        name: {
            "plan": encode(one.plan),
            "workers": {worker: asdict(process) for worker, process in one.workers.items()},
            "executors": {label: _reading(reading) for label, reading in one.readings.items()},
        }
        for name, one in memory.items()
    }
    return json.dumps({"version": MEMORY_VERSION, "topologies": topologies}, separators=(",", ":"))


def memory_from_text(text: str) -> Memory | None:
    """The memory that a text holds, or None where it is none of ours."""
    try:
        found = json.loads(text)
        if found["version"] != MEMORY_VERSION:
            return None
        return {name: _state(one) for name, one in found["topologies"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _state(found: Mapping[str, Any]) -> LastState:
    plan = decode(found["plan"])
    if not isinstance(plan, Plan):
        raise ValueError("no plan")
    return LastState(
        plan=plan,
        workers={worker: Process(**one) for worker, one in found["workers"].items()},
        readings={label: _read(one) for label, one in found["executors"].items()},
    )


def _reading(reading: Reading) -> dict[str, Any]:
    return {
        "worker": reading.worker,
        "process": asdict(reading.process),
        "observed": [
            [metric.label, *key, number]
            for metric, by_key in reading.observed.items()
            for key, number in by_key.items()
        ],
        "totals": [
            [metric.label, *(key or (None, None)), total.observations, total.mean_ms]
            for metric, by_key in reading.totals.items()
            for key, total in by_key.items()
        ],
    }


def _read(found: Mapping[str, Any]) -> Reading:
    observed: dict[Any, dict[Key, int]] = {}
    for label, stream, source, number in found["observed"]:
        observed.setdefault(METRICS[label], {})[Key(stream, source)] = int(number)
    totals: dict[Any, dict[Key | None, Total]] = {}
    for label, stream, source, number, mean_ms in found["totals"]:
        key = None if stream is None else Key(stream, source)
        total = Total(observations=int(number), mean_ms=float(mean_ms))
        totals.setdefault(METRICS[label], {})[key] = total
    return Reading(
        worker=str(found["worker"]),
        process=Process(**found["process"]),
        observed=observed,
        totals=totals,
    )
