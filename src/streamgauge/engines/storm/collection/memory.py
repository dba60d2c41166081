"""What a collector remembers from one poll to the next, and from one run to the next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streamgauge.engines.storm.collection.processes import Process
from streamgauge.engines.storm.collection.readings import Reading, Total
from streamgauge.engines.storm.collection.snapshot import Key
from streamgauge.lake.metrics import METRICS
from streamgauge.lake.raw import decode, encode
from streamgauge.lake.records import Plan

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LastState:
    """Where a topology stood when it was last seen.

    Attributes:
        plan: That was in place, still open.
        workers: By name, the process and its last report.
        readings: By executor label, its last report.
    """

    plan: Plan
    workers: Mapping[str, Process] = field(default_factory=dict)
    readings: Mapping[str, Reading] = field(default_factory=dict)


# By the cluster's id of the topology.
Memory = dict[str, LastState]


def memory_to_text(memory: Mapping[str, LastState]) -> str:
    """The memory as JSON text."""
    topologies = {
        name: {
            "plan": encode(one.plan),
            "workers": {worker: _process(process) for worker, process in one.workers.items()},
            "executors": {label: _reading(reading) for label, reading in one.readings.items()},
        }
        for name, one in memory.items()
    }
    return json.dumps({"version": VERSION, "topologies": topologies}, separators=(",", ":"))


def memory_from_text(text: str) -> Memory | None:
    """The memory that a text holds, or None where it is none of ours."""
    try:
        found = json.loads(text)
        if found["version"] != VERSION:
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


def _process(process: Process) -> dict[str, int]:
    return {"began_us": process.began_us, "uptime_seconds": process.uptime_seconds}


def _reading(reading: Reading) -> dict[str, Any]:
    return {
        "worker": reading.worker,
        "process": _process(reading.process),
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
