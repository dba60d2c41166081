"""Which machines to buy for a job: the spectrum of cost against throughput, and what runs where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from streamgauge.api.loading import DescribedJob, JobLike, ProfileLike, describe_job
from streamgauge.api.rates import Rates, choose_workload
from streamgauge.errors import Infeasible, InvalidInput, NotEnoughData, in_file
from streamgauge.extras import require_extra
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.objectives import parse_objective
from streamgauge.planning.packing.catalogue import Catalogue
from streamgauge.planning.packing.choosing import choose_machines
from streamgauge.planning.packing.files.catalogue_file import load_catalogue
from streamgauge.planning.packing.sized_job import USUAL_LATENCY_MS, Packable
from streamgauge.planning.scaling.from_profile import graph_of, graph_of_profile
from streamgauge.reports.packing import PackingReport
from streamgauge.topology.workload import Workload

CatalogueLike = str | Path | Catalogue
# Points of the spectrum; each is packed and predicted several times.
USUAL_OPTIONS = 5


def pack(
    job: JobLike,
    catalogue: CatalogueLike,
    profile: ProfileLike | None = None,
    rate: Rates = None,
    objective: str | Iterable[str] | None = None,
    *,
    step: str | None = None,
    options: int = USUAL_OPTIONS,
    sources: int | None = None,
    copies: int | None = None,
    tuple_bytes: float | None = None,
    latency_ms: float | None = None,
) -> PackingReport:
    """Choose machines for a job: the cheapest that meet an objective, with baselines and a bound.

    Args:
        job: A job's file, a profile's file or a job.
        catalogue: Machine types with prices, as a file or a catalogue.
        profile: What was measured of the job, as a file or a profile; by default what it declares.
        rate: Tuples per second of all sources together, or by source; as measured or declared if
            not given.
        objective: ``p99<50ms`` and the like; that the load is carried if not given.
        step: Configure the job as in this step of its file.
        options: Points of the spectrum between one executor of each source and the whole load.
        sources: Executors of the source that has most, of the option to choose.
        copies: Machines of each type that the exact program may buy.
        tuple_bytes: Size of a tuple of streams of which it is not known.
        latency_ms: One way, between machines; as the job's cluster says, or 0.25.

    Raises:
        Infeasible: An executor is larger than every machine.
        InvalidInput: A file is wrong, or an argument is.
        NotEnoughData: What an executor can process is not known.
    """
    wanted = parse_objective(objective)
    if wanted.rates:
        raise InvalidInput.single(
            ("--objective",),
            seen=str(wanted),
            expected="a latency: what is to be carried is said by --rate",
        )
    bought = catalogue if isinstance(catalogue, Catalogue) else load_catalogue(catalogue)
    described = describe_job(job, profile, step=step)
    with in_file(described.file), require_extra("planning"):
        packable = _describe(described, rate, tuple_bytes, latency_ms)
        choice = choose_machines(
            packable, bought, wanted, options=options, sources=sources, copies=copies
        )
    return PackingReport(choice=choice, job=described.job)


def _describe(
    described: DescribedJob, rate: Rates, tuple_bytes: float | None, latency_ms: float | None
) -> Packable:
    job, profile = described.job, described.profile
    measured = job.workload
    if measured is None:
        raise NotEnoughData("what the sources emit is not known: add a workload, or give --rate")
    wanted = choose_workload(job, profile, rate)
    assert wanted is not None
    for emission in (*measured.emissions, *wanted.emissions):
        if not emission.per_second:
            raise NotEnoughData(
                f"what source {emission.source} emits is not known: give --rate"
                f" {emission.source}=NUMBER"
            )
    derived = (
        graph_of(JobBehaviour.from_job(job), wanted)
        if profile is None
        else graph_of_profile(profile, wanted)
    )
    cluster = job.cluster
    if latency_ms is None:
        latency_ms = cluster.latency_ms if cluster and cluster.latency_ms else USUAL_LATENCY_MS
    return Packable(
        behaviour=derived.behaviour,
        graph=derived.graph,
        workload=wanted,
        source_rates={
            name: _per_executor(measured, name, job.configuration.executors_of(name))
            for name in derived.graph.sources
        },
        configuration=replace(job.configuration, workers=1),
        latency_ms=latency_ms,
        tuple_bytes=tuple_bytes,
    )


def _per_executor(workload: Workload, source: str, executors: int) -> float:
    """What one executor of a source emits."""
    total = sum(one.per_second or 0.0 for one in workload.emissions if one.source == source)
    if not total > 0.0:
        raise Infeasible(f"source {source} emits nothing: there is nothing to buy machines for")
    return total / executors
