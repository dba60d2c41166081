"""Profiles with replicas that are known: service times that each block moves by so much."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.lake.profile_names import replicas_name
from streamgauge.profile.block_weights import COUNT, weights
from streamgauge.profile.figures import Period, Replicas
from streamgauge.profile.files.jobs import profile_to_json
from streamgauge.profile.profile import Profile
from streamgauge.profile.resampled import Resampled

BLOCKS, BLOCK_SECONDS, SEED = 12, 10.0, 7
PERIOD = Period(start="2026-01-01T00:00:00Z", end="2026-01-01T00:02:00Z")
START_US = 1_767_225_600_000_000
STARTS_US = START_US + np.arange(BLOCKS) * int(BLOCK_SECONDS * 1e6)


def with_replicas(profile: Profile, file: str = "") -> Profile:
    """The profile, as of twelve blocks of ten seconds."""
    known = Replicas(count=COUNT, blocks=BLOCKS, block_seconds=BLOCK_SECONDS, seed=SEED, file=file)
    return replace(profile, replicas=known, period=PERIOD)


def list_service_times(profile: Profile) -> dict[str, float]:
    """Mean service times of all tasks, by path."""
    return {
        f"tasks/{task.operator}/{task.place}/inputs/{key.source}/{key.name}/{part}/mean_ms": (
            getattr(figures, part).mean_ms.value
        )
        for task, one in profile.tasks.items()
        for key, figures in one.inputs.items()
        for part in ("wall", "cpu")
        if getattr(figures, part) is not None
    }


def resample(profile: Profile, *, error: float = 0.02) -> Resampled:
    """Replicas of all service times, which all move together, each block by as much."""
    times = list_service_times(profile)
    generator = np.random.default_rng(1)
    influences = generator.normal(size=BLOCKS)
    influences -= influences.mean()
    influences *= error / np.sqrt((influences**2).sum())
    moved = 1.0 + influences @ (weights(STARTS_US, seed=SEED) - 1.0)
    return Resampled(
        paths=tuple(sorted(times)),
        values=np.outer([times[path] for path in sorted(times)], moved),
    )


def write_resampled(profile: Profile, folder: Path, *, error: float = 0.02) -> Path:
    """The profile's file in a folder, and its replicas beside it."""
    resampled = resample(profile, error=error)
    table = pa.table({"path": list(resampled.paths), "values": resampled.values.tolist()})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    name = replicas_name(profile.topology.name, buffer.getvalue())
    Path(folder, name).write_bytes(buffer.getvalue())
    path = Path(folder, "job.profile.json")
    path.write_text(profile_to_json(with_replicas(profile, name)))
    return path
