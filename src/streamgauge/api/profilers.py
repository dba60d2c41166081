"""`sg.profile_resources` and `sg.profile_router`: what an instance needs, what a router carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.api.loading import JobLike, ProfileLike, describe_job
from streamgauge.api.rates import Rates
from streamgauge.api.simulator import Say, load_simulator, stay_silent
from streamgauge.errors import Findings, NotEnoughData, did_you_mean, in_file
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.planning.packing.catalogue import Catalogue, MachineType
from streamgauge.planning.packing.files.catalogue_file import load_catalogue
from streamgauge.planning.packing.job_profiling import (
    MOST_ROUNDS,
    THRESHOLD,
    Grown,
    ProfilingRule,
    profile_job,
)
from streamgauge.planning.packing.router_limit import RouterReading, profile_catalogue
from streamgauge.planning.packing.simulated_rounds import SimulatedRounds
from streamgauge.planning.packing.simulated_router import SimulatedRouter
from streamgauge.reports.profilers import ResourcesReport, RouterReport
from streamgauge.topology.field_checks import check_number, check_whole

if TYPE_CHECKING:
    from streamgauge.topology.workload import Workload

MEBIBYTE = 2**20
# What an instance begins with.
CORES, MEMORY_MIB = 1.0, 512.0
ROUND_SECONDS = 10.0
# Tuples that a router gets while it is measured, and the longest that takes.
ROUTER_TUPLES, ROUTER_SECONDS = 20_000.0, 10.0
# What one source emits, as a part of what the router could do: the limit is found to this part.
SOURCE_PART = 0.05
MICROSECONDS = 1e6


def profile_resources(
    job: JobLike,
    profile: ProfileLike | None = None,
    *,
    rate: Rates = None,
    step: str | None = None,
    cores: float = CORES,
    memory_mib: float = MEMORY_MIB,
    threshold: float = THRESHOLD,
    rounds: int = MOST_ROUNDS,
    seconds: float = ROUND_SECONDS,
    seed: int = 1,
    say: Say = stay_silent,
) -> ResourcesReport:
    """Find in simulated rounds what an instance of each operator needs, and how many there must be.

    The first round has one instance of each operator, sources included, which emit what one of
    their executors does.

    Args:
        job: A job's file, a profile's file or a job.
        profile: What was measured, as a file or a profile; by default what the job declares.
        rate: Tuples per second of all sources together, or by source.
        step: Configure the job as in this step of its file.
        cores: What an instance begins with.
        memory_mib: Likewise.
        threshold: Part in use above which a resource is short.
        rounds: At most so many.
        seconds: Simulated time of a round.
        seed: Of the simulation.
        say: Gets progress messages.

    Raises:
        NotEnoughData: What the sources emit is not known.
        InvalidInput: A file is wrong, or an argument is.
        MissingExtra: The packages that simulate are not installed.
    """
    with Findings() as findings:
        check_number(findings, cores, "--cores", above=0.0)
        check_number(findings, memory_mib, "--memory-mib", above=0.0)
        check_number(findings, threshold, "--threshold", above=0.0, most=0.99)
        check_whole(findings, rounds, "--rounds")
        check_number(findings, seconds, "--seconds", above=0.0)
    load_simulator(say)
    described = describe_job(job, profile, rate=rate, step=step)
    measured = described.job
    if measured.workload is None:
        raise NotEnoughData("what the sources emit is not known: add a workload, or give --rate")
    with in_file(described.file):
        behaviour = (
            JobBehaviour.from_job(measured)
            if described.profile is None
            else JobBehaviour.from_profile(described.profile)
        )
        simulated = SimulatedRounds(
            behaviour=behaviour,
            workload=_of_one_executor(measured.workload, measured.configuration.executors_of),
            configuration=measured.configuration,
            seconds=seconds,
            seed=seed,
        )
        amounts = {Grown.CORES: cores, Grown.MEMORY: memory_mib * MEBIBYTE}
        names = [one.name for one in measured.topology.operators]
        rule = ProfilingRule(threshold=threshold, most_rounds=rounds, seconds=seconds)
        found = profile_job(dict.fromkeys(names, amounts), simulated.measure, rule)
    return ResourcesReport(
        name=measured.topology.name,
        profiling=found,
        rule=rule,
        per_second=sum(one.per_second or 0.0 for one in simulated.workload.emissions),
    )


def _of_one_executor(workload: Workload, executors_of: Callable[[str], int]) -> Workload:
    """What one executor of each source emits."""
    for one in workload.emissions:
        if not one.per_second:
            raise NotEnoughData(
                f"what source {one.source} emits is not known: give --rate {one.source}=NUMBER"
            )
    return replace(
        workload,
        emissions=tuple(
            replace(one, per_second=(one.per_second or 0.0) / executors_of(one.source), shares=None)
            for one in workload.emissions
        ),
    )


def profile_router(
    catalogue: str | Path | Catalogue,
    tuple_us: float | Mapping[str, float],
    *,
    source_rate: float | None = None,
    again: bool = False,
    seed: int = 1,
    say: Say = stay_silent,
) -> RouterReport:
    """Find in simulated containers what a router carries on each machine type, and store it there.

    Args:
        catalogue: Machine types, as a file or a catalogue.
        tuple_us: Microseconds that a router takes for a tuple: of all types, or by type.
        source_rate: Tuples per second of one source; 5 % of what the router could do if not given.
        again: Also measure types that have a limit.
        seed: Of the simulation.
        say: Gets progress messages.

    Raises:
        InvalidInput: A file is wrong, or an argument is.
        MissingExtra: The packages that simulate are not installed.
    """
    known = catalogue if isinstance(catalogue, Catalogue) else load_catalogue(catalogue)
    times = _read_times(known, tuple_us, again=again)
    with Findings() as findings:
        if source_rate is not None:
            check_number(findings, source_rate, "--source-rate", above=0.0)
    load_simulator(say)
    readings: dict[tuple[float, int], RouterReading] = {}

    def measure(machine: MachineType, pairs: int) -> RouterReading:
        # Types whose routers are as fast carry as much: each is simulated once.
        micros = times[machine.name]
        if (micros, pairs) not in readings:
            most = MICROSECONDS / micros
            readings[micros, pairs] = SimulatedRouter(
                router_ms=micros / 1e3,
                source_per_second=SOURCE_PART * most if source_rate is None else source_rate,
                seconds=min(ROUTER_TUPLES / most, ROUTER_SECONDS),
                seed=seed,
            ).measure(pairs)
        return readings[micros, pairs]

    profiled, limits = profile_catalogue(known, measure, again=again)
    return RouterReport(catalogue=profiled, limits=limits, tuple_us=times)


def _read_times(
    catalogue: Catalogue, tuple_us: float | Mapping[str, float], *, again: bool
) -> dict[str, float]:
    """Microseconds by type that is measured."""
    wanted = [one.name for one in catalogue.machines if again or one.router_per_second is None]
    times = dict(tuple_us) if isinstance(tuple_us, Mapping) else dict.fromkeys(wanted, tuple_us)
    with Findings() as findings:
        for name, micros in times.items():
            check_number(findings, micros, "--tuple-us", name, above=0.0)
            if name not in catalogue.by_name:
                findings.add(
                    "--tuple-us",
                    seen=f"machine type {name!r}",
                    expected=f"one of catalogue {catalogue.name!r}",
                    remedy=did_you_mean(name, list(catalogue.by_name)),
                )
        for name in wanted:
            if name not in times:
                findings.add(
                    "--tuple-us",
                    seen=f"no time for machine type {name!r}",
                    expected=f"{name}=MICROSECONDS, or one number for all types",
                )
    return times
