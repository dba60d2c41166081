"""The stated 95 % intervals hold what is true of jobs that are known."""

from datetime import UTC, datetime

import pytest
from scipy import special

from streamgauge.lake.tables import Lake
from streamgauge.pipeline.calibrate.job import calibrate
from streamgauge.pipeline.ingest.job import ingest_files
from streamgauge.pipeline.ingest.listing import find_files
from tests.pipeline.known_jobs import known_jobs, write_all
from tests.pipeline.known_truth import KINDS, cases_of, coverage_table

RECEIVED = datetime(2026, 2, 1, tzinfo=UTC)
LEAST, MOST = 0.90, 0.99


def measured(spark, folder, jobs):
    """Jobs emulated, ingested in one go and calibrated in one run: their figures and truths."""
    write_all(jobs, folder / "raw")
    lake = Lake(folder / "lake")
    tally = ingest_files(spark, lake, find_files([str(folder / "raw")], received_at=RECEIVED))
    assert (tally.quarantined, tally.duplicates) == (0, 0)
    profiles = {one.topology: one for one in calibrate(spark, lake)}
    assert sorted(profiles) == sorted(known.name for known in jobs)
    return [case for known in jobs for case in cases_of(known, profiles[known.name])]


def held(cases, kind):
    """Of the estimates of a kind, how many there are and how many intervals hold the truth."""
    mine = [case.holds for case in cases if case.kind == kind and not case.exact]
    return len(mine), sum(mine)


def not_exact(cases):
    return [case for case in cases if case.exact and not case.holds]


@pytest.mark.slow
def test_intervals_hold_the_truth(spark, tmp_path):
    cases = measured(spark, tmp_path, known_jobs(12, seed=1))
    assert not not_exact(cases)
    for kind in KINDS:
        count, holding = held(cases, kind)
        # One of a thousand times there would be fewer, if intervals were as good as they must be.
        assert special.bdtr(holding, count, LEAST) > 0.001, coverage_table(cases)


@pytest.mark.slow
def test_of_200_jobs_90_to_99_of_100_intervals_hold_the_truth(spark, tmp_path):
    cases = measured(spark, tmp_path, known_jobs(200, seed=2026))
    print(coverage_table(cases))
    assert not not_exact(cases)
    for kind in KINDS:
        count, holding = held(cases, kind)
        assert count >= 100
        assert LEAST <= holding / count <= MOST, coverage_table(cases)
