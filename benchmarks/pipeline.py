"""The metrics pipeline: a fleet's calibration and ingest on Spark, beside pandas and DuckDB.

Spark runs on the cores of one machine with 2 GB for its driver, which is all there is of it. Every
piece of work has a process of its own (`benchmarks.pipeline_work`). Ratios are of wall time without
the start of Spark unless they say so; those of CPU time hold on a machine that others use too.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.pipeline_figures import NAMES, read_figures
from benchmarks.pipeline_fleet import DAY_US, START_US, Fleet
from benchmarks.pipeline_inputs import write_lake, write_lines
from benchmarks.pipeline_pandas import largest_difference
from benchmarks.processes import Outcome, WorkFailed, run_apart
from benchmarks.report import Entry, growth
from benchmarks.spark_tasks import jobs, stages

WORK = "benchmarks.pipeline_work"
STAGES_SHOWN, LEAST_TASKS = 6, 4
FIRST, ONE_CORE = "Spark, 2 cores", "Spark, 1 core"
SECOND = "Spark, again, over an overlapping period"
NOTHING_KEPT = "Spark, that period, nothing kept"
PANDAS, DUCKDB = "pandas", "DuckDB, 2 GB"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large a run is.

    Attributes:
        fleet: What is calibrated.
        growing: Two fleets that differ in days alone.
        lines: What is ingested.
    """

    fleet: Fleet
    growing: tuple[Fleet, Fleet]
    lines: Fleet


SMALL = Sizes(
    fleet=Fleet(topologies=12, days=3),
    growing=(Fleet(topologies=12, days=3), Fleet(topologies=12, days=6)),
    lines=Fleet(topologies=14, days=1),
)
# Samples: 22 million; 11 and 108 million; 10 million lines.
LARGE = Sizes(
    fleet=Fleet(topologies=500, days=3),
    growing=(Fleet(topologies=240, days=3), Fleet(topologies=240, days=30)),
    lines=Fleet(topologies=670, days=1),
)


def run(*, large: bool) -> list[Entry]:
    """The entries of this module."""
    sizes = LARGE if large else SMALL
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        place = Path(folder)
        ran = _calibrations(place, sizes.fleet, large=large)
        return [
            _calibration(place, sizes.fleet, ran),
            _growth(place, sizes, ran[FIRST]),
            _ingest(place, sizes.lines),
        ]


def _calibrations(place: Path, fleet: Fleet, *, large: bool) -> dict[str, Outcome]:
    """One fleet: Spark on one and two cores, again from what it kept, pandas and DuckDB."""
    _say(f"calibrating {fleet.samples:,} samples")
    lake = place / "lake"
    write_lake(lake, fleet)
    ran = {ONE_CORE: _spark(_fresh(lake, place / "one-core"), "--cores", "1")}
    shutil.rmtree(place / "one-core")
    ran[FIRST] = _spark(lake, "--log", str(place / "events"), "--figures", str(place / "ours.json"))
    # The same lake, which now has what the first kept; its first half day is left out.
    later = ("--period", str(START_US + DAY_US // 2), str(fleet.end_us))
    ran[SECOND] = _spark(lake, *later)
    if large:
        ran[NOTHING_KEPT] = _spark(_fresh(lake, place / "nothing-kept"), *later)
        shutil.rmtree(place / "nothing-kept")
    ran[PANDAS] = run_apart(WORK, "pandas", str(lake), "--figures", str(place / "theirs.json"))
    ran[DUCKDB] = run_apart(WORK, "duckdb", str(lake))
    shutil.rmtree(lake)
    return ran


def _calibration(place: Path, fleet: Fleet, ran: Mapping[str, Outcome]) -> Entry:
    """What the runs of one fleet say."""
    compared = _compared(place / "ours.json", place / "theirs.json")
    heaviest = stages(place / "events")
    # Of fewer tasks than this, the median says nothing.
    dealt = [one for one in heaviest if one["tasks"] >= LEAST_TASKS]
    first, pandas = ran[FIRST], ran[PANDAS]
    ratios = {
        **_against("Spark / pandas", first, pandas),
        "Spark / pandas, seconds, start of Spark included": _with_start(first)
        / pandas.answer["seconds"],
        **_against("Spark / DuckDB", first, ran[DUCKDB]),
        **_against("first / second over an overlapping period", first, ran[SECOND]),
        "1 core / 2 cores, seconds": ran[ONE_CORE].answer["seconds"] / first.answer["seconds"],
        "largest relative difference from pandas": max(
            one["largest relative difference"] for one in compared.values()
        ),
    }
    if dealt:
        name = f"slowest / median task of the heaviest stage of {LEAST_TASKS} tasks or more"
        ratios[name] = dealt[0]["slowest / median"]
    if NOTHING_KEPT in ran:
        name = "that period without / with what was kept"
        ratios |= _against(name, ran[NOTHING_KEPT], ran[SECOND])
    return Entry(
        name="pipeline calibration",
        about=f"{fleet.samples:,} samples of {fleet.topologies} topologies of 50 tasks, half of"
        " them of one; seconds without the start of Spark",
        cases={
            **{name: _case(outcome) for name, outcome in ran.items()},
            "Spark's jobs": {"jobs": jobs(place / "events")},
            **{f"stage {n}": one for n, one in enumerate(heaviest[:STAGES_SHOWN], start=1)},
            **{f"Spark against pandas: {name}": one for name, one in compared.items()},
        },
        ratios=ratios,
    )


def _growth(place: Path, sizes: Sizes, whole: Outcome) -> Entry:
    """How time grows with the days of a fleet; that it does not finish is an answer too."""
    few, many = sizes.growing
    about = (
        f"calibration of {few.samples:,} and {many.samples:,} samples of {few.topologies}"
        f" topologies, {few.days} and {many.days} days"
    )
    cases: dict[str, dict[str, Any]] = {}
    for fleet in sizes.growing:
        name = f"{fleet.samples:,} samples"
        _say(f"calibrating {name}")
        try:
            cases[name] = _case(whole if fleet == sizes.fleet else _calibrated(place, fleet))
        except WorkFailed as fault:
            return Entry(
                name="pipeline growth", about=about, cases={**cases, name: {"fault": str(fault)}}
            )
    seconds = [case["seconds"] for case in cases.values()]
    times = many.samples / few.samples
    return Entry(
        name="pipeline growth",
        about=about,
        cases=cases,
        ratios={
            "growth exponent of seconds": growth(seconds[0], seconds[1], times),
            "time over what linear growth would take": seconds[1] / seconds[0] / times,
        },
    )


def _calibrated(place: Path, fleet: Fleet) -> Outcome:
    """A fleet of its own, calibrated once."""
    lake = place / "growing"
    write_lake(lake, fleet)
    try:
        return _spark(lake)
    finally:
        shutil.rmtree(lake)


def _ingest(place: Path, fleet: Fleet) -> Entry:
    """JSON lines into a lake, beside DuckDB reading the same files into a table."""
    _say(f"ingesting {fleet.samples:,} lines")
    folder = place / "lines"
    lines = write_lines(folder, fleet)
    size = sum(path.stat().st_size for path in folder.iterdir())
    ours = run_apart(WORK, "ingest", str(folder), "--target", str(place / "ingested"))
    theirs = run_apart(WORK, "duckdb-ingest", str(folder), "--target", str(place / "lines.duckdb"))
    assert ours.answer["taken"] == theirs.answer["lines"] == lines
    shutil.rmtree(folder)
    return Entry(
        name="pipeline ingest",
        about=f"{lines:,} JSON lines, {size / 2**20:,.0f} MiB; DuckDB neither checks lines nor"
        " looks for duplicates",
        cases={
            name: {**_case(one), "lines per second": lines / one.answer["seconds"]}
            for name, one in ((FIRST, ours), (DUCKDB, theirs))
        },
        ratios=_against("Spark / DuckDB", ours, theirs),
    )


def _spark(lake: Path, *arguments: str) -> Outcome:
    return run_apart(WORK, "calibrate", str(lake), *arguments)


def _fresh(lake: Path, place: Path) -> Path:
    """The same lake before anything was kept; files are shared, not copied."""
    place.mkdir()
    for name in ("samples", "plans"):
        shutil.copytree(lake / name, place / name, copy_function=os.link)
    return place


def _case(outcome: Outcome) -> dict[str, Any]:
    return {
        **outcome.answer,
        "process_seconds": outcome.seconds,
        "peak_bytes": outcome.peak_bytes,
    }


def _with_start(outcome: Outcome) -> float:
    answer = outcome.answer
    return float(answer["seconds"] + answer["starting"]["seconds"])


def _against(name: str, one: Outcome, other: Outcome) -> dict[str, float]:
    """Ratios of wall time, CPU time and memory, as far as they are known."""
    found = {f"{name}, seconds": one.answer["seconds"] / other.answer["seconds"]}
    if one.answer["cpu_seconds"] and other.answer["cpu_seconds"]:
        found[f"{name}, CPU seconds"] = one.answer["cpu_seconds"] / other.answer["cpu_seconds"]
    if one.peak_bytes and other.peak_bytes:
        found[f"{name}, peak memory"] = one.peak_bytes / other.peak_bytes
    return found


def _compared(ours: Path, theirs: Path) -> dict[str, dict[str, float]]:
    """Figures of the profiles that were looked into against those of pandas."""
    seen, known = read_figures(ours), read_figures(theirs)
    topologies = {key[1] for key in seen}
    among = {key: value for key, value in known.items() if key[1] in topologies}
    return largest_difference(seen, among, NAMES)


def _say(text: str) -> None:
    print(f"  {text} …", file=sys.stderr)
