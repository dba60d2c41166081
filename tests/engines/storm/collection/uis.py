"""A small server that answers as Storm's UI does, after recorded answers of a real one."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from streamgauge.engines.storm.collection.collector import Collector
from streamgauge.engines.storm.collection.ui import UiClient, UiSource
from streamgauge.lake.http import Patience
from streamgauge.lake.raw import decode
from streamgauge.lake.records import Sample
from tests.pipeline.http_servers import Reply, Server

ID = "demo-7-1794780362"
NOW_US = 1_794_780_483_000_000
# Patient with a machine that is busy; only who never answers is left soon.
HASTE = Patience(timeout_seconds=60.0, attempts=2, first_wait_seconds=0.0, most_bytes=100_000)
_FOLDER = Path(__file__).parent / "documents"
COUNTS = frozenset({"emitted", "transferred", "executed", "acked", "failed"})


def document(name: str) -> Any:
    return json.loads((_FOLDER / f"{name}.json").read_text())


class FakeUi(Server):
    """Serves documents by path; a component's for ten minutes where it has another one."""

    def __init__(self) -> None:
        super().__init__()
        self.zipped = False
        self.documents: dict[str, Any] = {
            "topology/summary": document("topology-summary"),
            "supervisor/summary": document("supervisor-summary"),
            f"topology/{ID}": document("topology"),
            f"topology/{ID}/visualization": document("visualization"),
        }
        for name in ("spout", "work", "sink", "acker"):
            path = f"topology/{ID}/component/{'__acker' if name == 'acker' else name}"
            self.documents[path] = document(f"component-{name}")
        self.lately: dict[str, Any] = {}

    def component(self, name: str) -> Any:
        return self.documents[f"topology/{ID}/component/{name}"]

    def components(self) -> list[Any]:
        return [one for path, one in self.documents.items() if "/component/" in path]

    def reply(self, path: str, form: dict[str, str]) -> Reply:
        name = unquote(path.removeprefix("/api/v1/"))
        known = self.lately if form.get("window") == "600" and name in self.lately else None
        found = (known or self.documents).get(name)
        if found is None:
            return Reply(500, json.dumps(document("unknown-topology")).encode())
        return Reply(200, json.dumps(found).encode())

    def grow(self, seconds: int, times: int = 2) -> None:
        """Let workers get older, and their counters so many times as large."""
        for one in self.components():
            for row in (*one["executorStats"], *one.get("inputStats", ()), *one["outputStats"]):
                for key in COUNTS:
                    if key in row:
                        row[key] *= times
                if "uptimeSeconds" in row:
                    row["uptimeSeconds"] += seconds

    def move(self, executor: str, port: int) -> None:
        """Put an executor into another worker on its host."""
        for one in self.components():
            for row in one["executorStats"]:
                if row["id"] == executor:
                    row["port"] = port

    def listing(self) -> list[Any]:
        rows: list[Any] = self.documents["topology/summary"]["topologies"]
        return rows

    def submit(self, name: str, topology_id: str) -> None:
        """The same topology once more under another name."""
        self.listing().append({**copy.deepcopy(self.listing()[0]), "name": name, "id": topology_id})
        for path, one in list(self.documents.items()):
            if path.startswith(f"topology/{ID}"):
                self.documents[path.replace(ID, topology_id)] = copy.deepcopy(one)


class Clock:
    """Microseconds that only move when they are told to."""

    def __init__(self) -> None:
        self.now_us = NOW_US

    def __call__(self) -> int:
        return self.now_us

    def move(self, seconds: float) -> None:
        self.now_us += round(seconds * 1_000_000)


def client(ui: Server, patience: Patience = HASTE) -> UiClient:
    return UiClient(ui.url, patience=patience, sleep=lambda _: None)


def collector(ui: Server, clock: Clock, **options: Any) -> Collector:
    return Collector(source=UiSource(client(ui)), clock=clock, every_seconds=60.0, **options)


def samples(records: Any, metric: str, **keys: Any) -> list[Sample]:
    return [
        one
        for one in records
        if isinstance(one, Sample)
        and one.metric == metric
        and all(getattr(one, key) == value for key, value in keys.items())
    ]


def lines(folder: Path) -> list[Any]:
    """The records of all files of a folder, decoded as a receiver would."""
    return [
        decode(line)
        for path in sorted(folder.glob("*.jsonl.gz"))
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
