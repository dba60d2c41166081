"""Profiles to predict from: emulated metrics of a job, by way of the lake."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from pyspark.sql import SparkSession

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
# So many jobs share a lake.
AT_ONCE = 20

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
        rest = iter(jobs.items())
        while some := dict(islice(rest, AT_ONCE)):
            yield from _calibrate_together(spark, some, seconds)
    finally:
        spark.stop()


def _calibrate_together(
    spark: SparkSession, jobs: Mapping[Case, Job], seconds: float
) -> Iterator[tuple[Case, str, bytes | None]]:
    """By way of one lake, each as a cluster of its own: Spark's jobs are then as few as for one."""
    cases = {f"case-{number}": case for number, case in enumerate(jobs)}
    with TemporaryDirectory() as folder:
        samples, lake = Path(folder, "samples"), Lake(Path(folder, "lake"))
        for cluster, case in cases.items():
            _emulate(jobs[case], samples / cluster, seconds, cluster)
        ingest_files(spark, lake, find_files([str(samples)]))
        for made in calibrate(spark, lake):
            assert made.cluster is not None
            if made.profile is None:
                raise RuntimeError(f"{cases[made.cluster]}: {made.fault}")
            replicas = None if made.replicas is None else made.replicas[1]
            yield cases[made.cluster], made.profile, replicas


def _emulate(job: Job, folder: Path, seconds: float, cluster: str) -> None:
    plan = place_job(job).plan
    emulate(
        job,
        plan,
        partial(simulate_job, job, plan, seconds=seconds, warmup=0.0),
        folder=folder,
        seed=1,
        bucket_seconds=BUCKET_SECONDS,
        trace_every=0,
        cluster=cluster,
    )
