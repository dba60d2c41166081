"""The stated 95 % intervals hold what is true of jobs that are known."""

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy import special

from streamgauge.lake.bulk_decoding import parse
from streamgauge.lake.records import Plan
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.calibrate.job import calibrate, scope_of
from streamgauge.pipeline.calibrate.lake_parts import Arrays
from streamgauge.pipeline.calibrate.periods import choose
from streamgauge.pipeline.estimation.assembly import profile_of
from streamgauge.pipeline.estimation.subjects import figures_of
from streamgauge.pipeline.ingest.job import ingest_files
from streamgauge.pipeline.ingest.listing import find_files
from tests.pipeline.calibrate.frames import held_by, rows_of
from tests.pipeline.known_jobs import known_jobs, write_all
from tests.pipeline.known_truth import KINDS, cases_of, cases_of_profile, coverage_table

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


def measured_without_spark(folder, known):
    """What the same functions make of a job's lines when no Spark hands them around."""
    write_all([known], folder)
    (path,) = folder.iterdir()
    parsed = parse(path.read_bytes().splitlines())
    path.unlink()
    samples = Arrays.of(pa.concat_tables([table for table, _ in parsed.samples]).combine_chunks())
    (plan,) = (record for record, _ in parsed.records if isinstance(record, Plan))
    held = held_by([samples])[plan.cluster, known.name]
    period = choose(held, [plan], [])
    rows = rows_of([samples], [scope_of(period, held)])
    figures = figures_of(rows.filter(pc.equal(rows["kind"], "sums")))
    profile, replicas = profile_of(figures, plan)
    assert 12 <= profile.replicas.blocks <= 40
    return cases_of_profile(known, profile, replicas)


def three_minutes(count, bucket_seconds, seed):
    """Known jobs that are watched for three minutes, of which a fifth is warm-up."""
    for known in known_jobs(count, seed=seed):
        yield replace(known, seconds=180.0, bucket_seconds=bucket_seconds)


def test_intervals_hold_the_truth_after_three_minutes(tmp_path):
    jobs = three_minutes(6, bucket_seconds=1.0, seed=1)
    cases = [case for known in jobs for case in measured_without_spark(tmp_path, known)]
    assert not not_exact(cases)
    estimates = [case.holds for case in cases if not case.exact]
    assert len(estimates) >= 100
    # One of a thousand times there would be fewer, if intervals were as good as they must be.
    assert special.bdtr(sum(estimates), len(estimates), LEAST) > 0.001, coverage_table(cases)


@pytest.mark.slow
@pytest.mark.parametrize("bucket_seconds", [1.0, 5.0, 10.0])
def test_of_80_jobs_90_to_99_of_100_intervals_hold_the_truth_after_three_minutes(
    tmp_path, bucket_seconds
):
    jobs = three_minutes(80, bucket_seconds, seed=11)
    cases = [case for known in jobs for case in measured_without_spark(tmp_path, known)]
    print(coverage_table(cases))
    assert not not_exact(cases)
    for kind in KINDS:
        count, holding = held(cases, kind)
        assert count >= 100
        assert LEAST <= holding / count <= MOST, coverage_table(cases)


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
