"""Profiles to predict from: emulated metrics of a job, by way of the lake."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from streamgauge.engines.emulator import emulate
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.calibrate.job import calibrate
from streamgauge.pipeline.ingest.job import ingest_files
from streamgauge.pipeline.ingest.listing import find_files
from streamgauge.pipeline.session import make_session
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.files.jobs import parse_profile
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.simulation.topology_run import simulate

MEASURED_SECONDS, BUCKET_SECONDS = 1200.0, 10.0

Case = TypeVar("Case", bound=Hashable)


def measured_profiles(folder: Path, jobs: Mapping[Case, Job]) -> Iterator[tuple[Case, Profile]]:
    """A profile of twenty minutes of every job, one after the other."""
    spark = make_session("benchmark", master="local[2]", brief=True)
    try:
        for number, (case, job) in enumerate(jobs.items()):
            place = folder / str(number)
            _measure(job, place / "samples")
            lake = Lake(place / "lake")
            ingest_files(spark, lake, find_files([str(place / "samples")]))
            (made,) = calibrate(spark, lake, job.topology.name)
            if made.profile is None:
                raise RuntimeError(made.fault)
            yield case, parse_profile(made.profile)
    finally:
        spark.stop()


def _measure(job: Job, folder: Path) -> None:
    plan = place_job(job).plan
    assert job.workload is not None
    run = partial(
        simulate, plan, job.behaviours, job.workload, seconds=MEASURED_SECONDS, warmup=0.0
    )
    emulate(job, plan, run, folder=folder, seed=1, bucket_seconds=BUCKET_SECONDS, trace_every=0)
