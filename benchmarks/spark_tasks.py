"""What Spark's own log of events says of its tasks."""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any


def log_settings(folder: Path) -> dict[str, str]:
    """Settings of Spark by which it writes its events to a folder, which is made."""
    folder.mkdir(parents=True)
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.resolve().as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


def read_stages(folder: Path) -> tuple[int, list[dict[str, Any]]]:
    """How many jobs were started, and the stages that ran, the heaviest first."""
    kinds: Counter[str] = Counter()
    names: dict[int, str] = {}
    seconds: defaultdict[int, list[float]] = defaultdict(list)
    for path in folder.rglob("[!.]*"):
        for line in path.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            kinds[event["Event"]] += 1
            if event["Event"] == "SparkListenerStageCompleted":
                names[event["Stage Info"]["Stage ID"]] = event["Stage Info"]["Stage Name"]
            if event["Event"] == "SparkListenerTaskEnd" and not event["Task Info"]["Failed"]:
                info = event["Task Info"]
                milliseconds = info["Finish Time"] - info["Launch Time"]
                seconds[event["Stage ID"]].append(milliseconds / 1000)
    stages = [
        {
            "name": names.get(stage, ""),
            "tasks": len(tasks),
            "seconds": round(sum(tasks), 3),
            "slowest / median": max(tasks) / max(statistics.median(tasks), 1e-3),
        }
        for stage, tasks in seconds.items()
    ]
    return kinds["SparkListenerJobStart"], sorted(stages, key=lambda one: -one["seconds"])
