"""Cells that were measured for `coverage`, kept as files: a measurement that was stopped goes on.

By cell: its profiles with their replicas, one for each length of the metrics, and the truth, which
is one simulated window. What models make of them is found anew each time. After a change of what
simulates or calibrates, remove the folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.jobs import simulate_job
from benchmarks.prediction_cells import (
    SETTLED,
    Cell,
    at_low_load,
    at_rate,
    find_highest_rate,
)
from benchmarks.profiles import calibrated_files
from benchmarks.report import say
from streamgauge.lake.replica_files import parse_replicas
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_profile
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.profile.resampled import Resampled
from streamgauge.topology.files.document import write_whole

# By name, seconds of metrics that profiles are made of, the minute of warm-up included.
LENGTHS = {"3 minutes": 180.0, "15 minutes": 900.0}
# A window is a minute long, unless that were too many tuples to simulate.
WINDOW_SECONDS, MOST_TUPLES, SHORTEST = 60.0, 200_000, 5.0
# So many cells share a session of Spark.
AT_A_TIME = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A cell with its profile and its truth.

    Attributes:
        job: In the step and at the load that is predicted.
        seconds: Length of the window that is the truth.
        truths: By name of the figure.
    """

    cell: Cell
    profile: Profile
    replicas: Resampled
    job: Job
    seconds: float
    truths: Mapping[str, float]


def measure(cells: list[Cell], folder: Path) -> None:
    """Measure what the folder lacks: every cell by one length, then by the next."""
    folder.mkdir(parents=True, exist_ok=True)
    numbered = list(enumerate(cells))
    for length in LENGTHS:
        for first in range(0, len(cells), AT_A_TIME):
            some = numbered[first : first + AT_A_TIME]
            _measure_profiles(some, length, folder)
            for number, cell in some:
                path = _truth(folder, number)
                if not path.exists():
                    write_whole(path, json.dumps(_find_truth(cell)))
            say(f"{length}: {first + len(some)} of {len(cells)} cells measured")


def read(cells: list[Cell], length: str, folder: Path) -> Iterator[Measured]:
    """The cells that are there; those without replicas say nothing."""
    for number, cell in enumerate(cells):
        profile, truth = _profile(folder, number, length), _truth(folder, number)
        replicas = _replicas(folder, number, length)
        if not (profile.exists() and replicas.exists() and truth.exists()):
            continue
        found = json.loads(truth.read_text(encoding="utf-8"))
        yield Measured(
            cell=cell,
            profile=parse_profile(profile.read_text(encoding="utf-8")),
            replicas=parse_replicas(replicas.read_bytes()),
            job=at_rate(cell.make().at_step(cell.predicted), found["per_second"]),
            seconds=found["seconds"],
            truths=found["truths"],
        )


def _measure_profiles(cells: Iterable[tuple[int, Cell]], length: str, folder: Path) -> None:
    missing = {
        number: at_low_load(cell.make().at_step(cell.measured))
        for number, cell in cells
        if not _profile(folder, number, length).exists()
    }
    if not missing:
        return
    for number, profile, replicas in calibrated_files(missing, LENGTHS[length]):
        if replicas is not None:
            write_whole(_replicas(folder, number, length), replicas)
        # Last, as it says that the other is there.
        write_whole(_profile(folder, number, length), profile)


def _find_truth(cell: Cell) -> dict[str, Any]:
    job = cell.make().at_step(cell.predicted)
    rate = cell.load * find_highest_rate(job)
    seconds = float(np.clip(MOST_TUPLES / rate, SHORTEST, WINDOW_SECONDS))
    warmup = max(seconds / 2.0, SETTLED)
    plan = place_job(job).plan
    truth = simulate_job(at_rate(job, rate), plan, seconds=seconds, warmup=warmup, seed=1)
    return {
        "per_second": rate,
        "seconds": seconds,
        "truths": {
            "mean": truth.latency.mean,
            "p99": truth.latency.quantile(0.99),
            "complete": truth.complete.mean,
        },
    }


def _profile(folder: Path, number: int, length: str) -> Path:
    return folder / f"{number:03} {length}.profile.json"


def _replicas(folder: Path, number: int, length: str) -> Path:
    return folder / f"{number:03} {length}.replicas.parquet"


def _truth(folder: Path, number: int) -> Path:
    return folder / f"{number:03}.truth.json"
