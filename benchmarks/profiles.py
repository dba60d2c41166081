"""Profiles to predict from: emulated metrics of a job, by way of the lake."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from benchmarks.jobs import simulate_job
from streamgauge.engines.emulator import emulate
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.calibrate.job import calibrate
from streamgauge.pipeline.ingest.job import ingest_files
from streamgauge.pipeline.ingest.listing import find_files
from streamgauge.pipeline.session import make_session
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_profile
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile

MEASURED_SECONDS, BUCKET_SECONDS = 1200.0, 10.0

Case = TypeVar("Case", bound=Hashable)


def measured_profiles(
    jobs: Mapping[Case, Job], seconds: float = MEASURED_SECONDS
) -> Iterator[tuple[Case, Profile]]:
    """A profile of so long a time of every job, one after the other."""
    for case, profile, _ in calibrated_files(jobs, seconds):
        yield case, parse_profile(profile)


def calibrated_files(
    jobs: Mapping[Case, Job], seconds: float = MEASURED_SECONDS
) -> Iterator[tuple[Case, str, bytes | None]]:
    """The files of the same: the profile, and its replicas where blocks were enough."""
    spark = make_session("benchmark", master="local[2]", brief=True)
    try:
        for case, job in jobs.items():
            with TemporaryDirectory() as folder:
                samples, lake = Path(folder, "samples"), Lake(Path(folder, "lake"))
                plan = place_job(job).plan
                run = partial(simulate_job, job, plan, seconds=seconds, warmup=0.0)
                emulate(
                    job,
                    plan,
                    run,
                    folder=samples,
                    seed=1,
                    bucket_seconds=BUCKET_SECONDS,
                    trace_every=0,
                )
                ingest_files(spark, lake, find_files([str(samples)]))
                (made,) = calibrate(spark, lake, job.topology.name)
                if made.profile is None:
                    raise RuntimeError(made.fault)
                yield case, made.profile, None if made.replicas is None else made.replicas[1]
    finally:
        spark.stop()
