"""Where to place a job: every scheduler's plan side by side, the best first."""

from __future__ import annotations

from pathlib import Path

from streamgauge.api.histories import HistoryPlace
from streamgauge.api.intervals import find_plan_intervals
from streamgauge.api.loading import JobLike, ProfileLike, describe_job
from streamgauge.api.rates import Rates
from streamgauge.errors import in_file
from streamgauge.planning.scheduling.ranking import ALL_SCHEDULERS, rank_plans
from streamgauge.reports.placement_ranking import PlacementRanking


def rank_placements(
    job: JobLike,
    profile: ProfileLike | None = None,
    rate: Rates = None,
    step: str | None = None,
    scheduler: str = ALL_SCHEDULERS,
    by: str = "p99",
    utilisation: float | None = None,
    *,
    load: str | None = None,
    series: str | Path | None = None,
    lake: str | None = None,
) -> PlacementRanking:
    """Place a job by every scheduler, or by one, and rank the plans.

    Args:
        job: A job's file, or a job; a profile's file is a job too.
        profile: What was measured of it, as a file or a profile; by default what it declares.
        rate: Tuples per second of all sources together, or by source; by default the job's own
            load, or what was measured.
        step: Configure the job as in this step of its file.
        scheduler: A scheduler's name, or ``all``.
        by: Choose the best by: ``mean``, ``p50``, ``p90``, ``p95``, ``p99``, ``rate``, or
            ``remote`` for tuples between nodes.
        utilisation: Up to which part of their cores machines are filled by the traffic-aware
            scheduler; 0.8 by default.
        load: Instead of a rate: ``mean``, ``peak``, ``p95`` … of what sources emitted, or
            ``forecast+1h@p95``.
        series: With `load`: a CSV file of source rates.
        lake: With `load`: a lake that measured them; the profile's own history without either.

    Raises:
        Infeasible: No scheduler found a plan.
        InvalidInput: A file is wrong, or there is no such scheduler, step or criterion.
    """
    place = HistoryPlace.choose(series, lake, None)
    described = describe_job(job, profile, rate=rate, step=step, load=load, place=place)
    with in_file(described.file):
        ranking = rank_plans(
            described.job,
            described.profile,
            scheduler=scheduler,
            by=by,
            utilisation=utilisation,
        )
    options = described.options
    if utilisation is not None:
        options = (*options, "--utilisation", f"{utilisation:g}")
    return PlacementRanking(
        ranking=ranking,
        file=described.file,
        options=options,
        load_notes=described.notes,
        intervals=find_plan_intervals(described, ranking.best.plan, ranking.best.prediction),
    )
