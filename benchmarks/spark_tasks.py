"""What Spark's own log of events says of its tasks."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def log_settings(folder: Path) -> dict[str, str]:
    """Settings of Spark by which it writes its events to a folder."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.resolve().as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            with path.open(encoding="utf-8") as lines:
                yield from (json.loads(line) for line in lines)


def stages(folder: Path) -> list[dict[str, Any]]:
    """The stages that ran, the heaviest first: tasks, and seconds of them."""
    seconds: dict[int, list[float]] = {}
    names: dict[int, str] = {}
    read: dict[int, int] = {}
    for event in _events(folder):
        if event["Event"] == "SparkListenerStageCompleted":
            names[event["Stage Info"]["Stage ID"]] = event["Stage Info"]["Stage Name"]
        if event["Event"] != "SparkListenerTaskEnd" or event["Task Info"]["Failed"]:
            continue
        info, stage = event["Task Info"], event["Stage ID"]
        seconds.setdefault(stage, []).append((info["Finish Time"] - info["Launch Time"]) / 1000)
        shuffled = (event.get("Task Metrics") or {}).get("Shuffle Read Metrics", {})
        read[stage] = read.get(stage, 0) + shuffled.get("Total Records Read", 0)
    found = [
        {
            "stage": stage,
            "name": names.get(stage, ""),
            "tasks": len(each),
            "seconds": round(sum(each), 3),
            "median task": statistics.median(each),
            "slowest task": max(each),
            "slowest / median": max(each) / max(statistics.median(each), 1e-3),
            "shuffled rows read": read[stage],
        }
        for stage, each in seconds.items()
    ]
    return sorted(found, key=lambda one: -one["seconds"])


def jobs(folder: Path) -> int:
    """How many jobs were started."""
    return sum(event["Event"] == "SparkListenerJobStart" for event in _events(folder))
