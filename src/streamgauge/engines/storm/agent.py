"""Our agent in a topology's workers: settings that bring it, and the files that it writes.

A file has a dot before its name while it is written, and loses it when it is finished; whoever left
a file with a dot behind may be dead. Only whole lines are taken, of either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from streamgauge.engines.writing import unwritable
from streamgauge.lake.metrics import Metric
from streamgauge.lake.raw import decode
from streamgauge.lake.records import Sample, SampleGroup
from streamgauge.topology.physical_plan import Worker

REPORTER = "io.streamgauge.storm.agent.AgentReporter"
HOOK = "io.streamgauge.storm.agent.AgentHook"
_NAME = re.compile(r"streamgauge-(?P<worker>.+)-(?P<started_ms>\d+)-\d+\.jsonl")


def agent_settings(
    *, folder: Path | None = None, bucket_seconds: float | None = None
) -> dict[str, Any]:
    """The two settings that bring the agent, and where and how it writes, if it is told.

    Args:
        folder: For its files; a folder beside each worker's log unless given.
        bucket_seconds: Time that one sample spans; the agent's own choice unless given.
    """
    reporter: dict[str, Any] = {"class": REPORTER}
    if folder is not None:
        reporter["streamgauge.agent.dir"] = str(folder)
    if bucket_seconds is not None:
        reporter["streamgauge.agent.bucket.seconds"] = bucket_seconds
    return {"topology.metrics.reporters": [reporter], "topology.auto.task.hooks": [HOOK]}


class AgentFiles:
    """What lies in the folder that agents write to, which need not exist yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._gathered: dict[str, int] = {}
        self._followed: dict[str, int] = {}

    def new_samples(self, *metrics: Metric) -> Iterator[Sample]:
        """Samples of some metrics in lines that came since the last call."""
        wanted = {metric.label for metric in metrics}
        words = tuple(f'"{label}"'.encode() for label in wanted)
        for name, path in self._present():
            lines = _whole_lines(path, self._followed.get(name, 0))
            self._followed[name] = self._followed.get(name, 0) + len(lines)
            for line in lines.splitlines():
                if any(word in line for word in words):
                    yield from (one for one in _samples_of(line) if one.metric in wanted)

    def last_start(self, worker: Worker) -> float:
        """When the last process of a worker that wrote something began; 0 where none did."""
        names = (*self._gathered, *(name for name, _ in self._present()))
        return max((_started(name) for name in names if _is_of(name, worker)), default=0.0)

    def last_written(self, worker: Worker) -> float:
        """When a worker wrote last to what lies here, in seconds; 0 where it did not."""
        told = [path for name, path in self._present() if _is_of(name, worker)]
        return max((path.stat().st_mtime for path in told if path.exists()), default=0.0)

    def skip(self) -> None:
        """Forget what was written so far."""
        for name, path in self._present():
            size = len(_whole_lines(path, 0))
            self._gathered[name] = self._followed[name] = size

    def gather(self, target: Path) -> None:
        """Copy what came since the last gathering into a folder; finished files are removed here.

        Raises:
            UnreadableFile: The target cannot be written; what was copied stays.
        """
        for name, path in self._present():
            done = self._gathered.get(name, 0)
            lines = _whole_lines(path, done)
            try:
                if lines:
                    target.mkdir(parents=True, exist_ok=True)
                    with (target / name).open("ab") as copy:
                        copy.write(lines)
            except OSError as error:
                raise unwritable(
                    target,
                    error,
                    expected="a folder that metrics can be written to",
                    when_full="make room there; what was gathered so far is kept",
                    remedy="",
                ) from None
            self._gathered[name] = done + len(lines)
            if not path.name.startswith("."):
                path.unlink(missing_ok=True)

    def _present(self) -> list[tuple[str, Path]]:
        """Files by the names that they have in the end."""
        if not self.folder.is_dir():
            return []
        found = {}
        for path in sorted(self.folder.iterdir()):
            name = path.name.removeprefix(".")
            if _NAME.fullmatch(name):
                found[name] = path
        return sorted(found.items())


def _samples_of(line: bytes) -> Sequence[Sample]:
    record = decode(line)
    if isinstance(record, SampleGroup):
        return record.samples
    return (record,) if isinstance(record, Sample) else ()


def _is_of(name: str, worker: Worker) -> bool:
    found = _NAME.fullmatch(name)
    return found is not None and found["worker"].endswith(f"-{worker.node}-{worker.port}")


def _started(name: str) -> float:
    found = _NAME.fullmatch(name)
    return int(found["started_ms"]) / 1000 if found is not None else 0.0


def _whole_lines(path: Path, start: int) -> bytes:
    """What a file has from a place on, up to the end of its last line."""
    data = b""
    # One that was being written may have been finished since it was found, under its other name.
    for place in (path, path.with_name(path.name.removeprefix("."))):
        with suppress(FileNotFoundError), place.open("rb") as stream:
            stream.seek(start)
            data = stream.read()
            break
    return data[: data.rfind(b"\n") + 1]
