"""Synthetic applications: what a description expands to, and what a cycle of load takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from streamgauge.applications import Platform, list_remarks, make_job
from streamgauge.applications.cycles import (
    PROBED_CYCLES,
    LoadTiming,
    check_cpu_times,
    find_load,
    fit_cycle_time,
)
from streamgauge.applications.files.applications import load_application
from streamgauge.applications.files.platforms import load_platform
from streamgauge.applications.workflow import RoutedEdges
from streamgauge.errors import InvalidInput, in_file, suggest_name
from streamgauge.reports.application import ApplicationReport, CycleReport
from streamgauge.transport.engine import load_engine

US_PER_MS = 1e3


def expand_application(
    file: str | Path,
    platform: str | Path | None = None,
    *,
    cycle_ns: float | None = None,
    routed: str = RoutedEdges.ALL,
) -> ApplicationReport:
    """The job that a workflow or pipeline expands to.

    Args:
        file: Its description.
        platform: What it is to run on: workers, cluster, engine; the defaults if not given.
        cycle_ns: Nanoseconds of a cycle of load, instead of the platform's.
        routed: Which connections of a workflow get its routing: ``all`` or ``first-level``.

    Raises:
        InvalidInput: A file is wrong; every problem is listed with its line.
    """
    edges = [str(edges) for edges in RoutedEdges]
    if routed not in edges:
        raise InvalidInput.single(
            ("--routed",),
            seen=repr(routed),
            expected=f"one of {', '.join(edges)}",
            remedy=suggest_name(routed, edges),
        )
    application = load_application(file, routed=RoutedEdges(routed))
    described = Platform() if platform is None else load_platform(platform)
    if cycle_ns is not None:
        with in_file("--cycle-ns"):
            described = replace(described, cycle_ns=cycle_ns)
    with in_file(str(file)):
        job = make_job(application, described)
    return ApplicationReport(
        application=application,
        platform=described,
        job=job,
        warnings=list_remarks(application, described),
    )


def time_cycles(
    asked_ms: Sequence[float] = (),
    platform: str | Path | None = None,
    *,
    engine_us: float = 0.0,
    rounds: int = 30,
) -> CycleReport:
    """Time a cycle of load on this machine, in the language of the platform's engine.

    Args:
        asked_ms: CPU times of a tuple for which to find a load.
        platform: What applications are to run on; the default platform if not given.
        engine_us: CPU microseconds of the engine itself for a tuple, if part of `asked_ms`.
        rounds: How many times each number of cycles is timed.

    Raises:
        InvalidInput: The platform's engine has no loads that can be timed.
    """
    engine_ms = engine_us / US_PER_MS
    check_cpu_times(asked_ms, engine_ms)
    described = Platform() if platform is None else load_platform(platform)
    time_busy_waits = load_engine(described.engine).load("busy_waits")
    if time_busy_waits is None:
        raise InvalidInput.single(
            ("engine",),
            file=str(platform or ""),
            seen=f"engine {described.engine!r}",
            expected="an engine whose loads can be timed on this machine",
        )

    def probe(cycles: Sequence[int]) -> Sequence[LoadTiming]:
        timings: Sequence[LoadTiming] = time_busy_waits(cycles, rounds=rounds).timings
        return timings

    waits = time_busy_waits(PROBED_CYCLES, rounds=rounds)
    time = fit_cycle_time(waits.timings)
    loads = tuple(find_load(ms, time, probe, engine_ms=engine_ms) for ms in asked_ms)
    return CycleReport(time=time, java=waits.java, loads=loads)
