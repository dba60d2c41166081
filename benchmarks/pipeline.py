"""The metrics pipeline: a fleet's calibration and ingest on Spark, beside pandas and DuckDB.

Spark runs on the cores of one machine with 2 GB for its driver, which is all there is of it. Every
piece of work has a process of its own (`benchmarks.pipeline_work`). Ratios are of wall-clock time
without the start of Spark unless they say so; those of CPU time hold on a machine that others use
too.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.pipeline_figures import read_figures
from benchmarks.pipeline_fleet import DAY_US, START_US, Fleet
from benchmarks.pipeline_inputs import write_lake, write_lines
from benchmarks.pipeline_pandas import largest_difference
from benchmarks.processes import Answer, WorkFailed, run_apart
from benchmarks.report import Entry, growth, say
from benchmarks.spark_tasks import read_stages

STAGES_SHOWN, LEAST_TASKS = 6, 4
FIRST, ONE_CORE = "Spark, 2 cores", "Spark, 1 core"
SECOND = "Spark, again, over an overlapping period"
NOTHING_KEPT = "Spark, that period, nothing kept"
PANDAS, DUCKDB = "pandas", "DuckDB, 2 GB"

work = partial(run_apart, "benchmarks.pipeline_work")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What is calibrated, two fleets that differ in days alone, and what is ingested."""

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
    """Calibration, how it grows, and ingest."""
    sizes = LARGE if large else SMALL
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        place = Path(folder)
        answers = _calibrate(place, sizes.fleet, large=large)
        return [
            _compare(place, sizes.fleet, answers),
            _measure_growth(place, sizes, answers[FIRST]),
            _measure_ingest(place, sizes.lines),
        ]


def _calibrate(place: Path, fleet: Fleet, *, large: bool) -> dict[str, Answer]:
    """One fleet: Spark on one and two cores, again from what it kept, pandas and DuckDB."""
    say(f"calibrating {fleet.samples:,} samples")
    lake = place / "lake"
    write_lake(lake, fleet)
    one_core = work("calibrate", _copy(lake, place / "one-core"), "--cores", "1")
    log, figures = str(place / "events"), str(place / "spark.json")
    answers = {
        ONE_CORE: one_core,
        FIRST: work("calibrate", str(lake), "--log", log, "--figures", figures),
    }
    # The same lake, which now has what the first kept; its first half day is left out.
    later = ("--period", str(START_US + DAY_US // 2), str(fleet.end_us))
    answers[SECOND] = work("calibrate", str(lake), *later)
    if large:
        answers[NOTHING_KEPT] = work("calibrate", _copy(lake, place / "nothing-kept"), *later)
    answers[PANDAS] = work("pandas", str(lake), "--figures", str(place / "pandas.json"))
    answers[DUCKDB] = work("duckdb", str(lake))
    return answers


def _copy(lake: Path, place: Path) -> str:
    """The same lake before anything was kept; files are shared, not copied."""
    place.mkdir()
    for name in ("samples", "plans"):
        shutil.copytree(lake / name, place / name, copy_function=os.link)
    return str(place)


def _compare(place: Path, fleet: Fleet, answers: Mapping[str, Answer]) -> Entry:
    """What the runs of one fleet say, and how far figures are from those of pandas."""
    ours, theirs = read_figures(place / "spark.json"), read_figures(place / "pandas.json")
    topologies = {topology for _, topology, *_ in ours}
    among = {key: value for key, value in theirs.items() if key[1] in topologies}
    differences = largest_difference(ours, among)
    jobs, stages = read_stages(place / "events")
    entry = Entry(
        "pipeline calibration",
        f"{fleet.samples:,} samples of {fleet.topologies} topologies of 50 tasks, half of them of "
        "one; seconds without the start of Spark",
        cases={
            **answers,
            "Spark's jobs": {"jobs": jobs},
            **{f"stage {n}": stage for n, stage in enumerate(stages[:STAGES_SHOWN], start=1)},
            **{f"Spark against pandas: {name}": one for name, one in differences.items()},
        },
    )
    first, pandas = answers[FIRST], answers[PANDAS]
    entry.ratios.update(_ratios("Spark / pandas", first, pandas))
    label = "Spark / pandas, seconds, start of Spark included"
    entry.ratios[label] = (first["seconds"] + first["starting"]["seconds"]) / pandas["seconds"]
    entry.ratios.update(_ratios("Spark / DuckDB", first, answers[DUCKDB]))
    label = "first / second over an overlapping period"
    entry.ratios.update(_ratios(label, first, answers[SECOND]))
    entry.ratios["1 core / 2 cores, seconds"] = answers[ONE_CORE]["seconds"] / first["seconds"]
    apart = max(one["largest relative difference"] for one in differences.values())
    entry.ratios["largest relative difference from pandas"] = apart
    if NOTHING_KEPT in answers:
        label = "that period without / with what was kept"
        entry.ratios.update(_ratios(label, answers[NOTHING_KEPT], answers[SECOND]))
    # Of fewer tasks than this, the median says nothing.
    for stage in [stage for stage in stages if stage["tasks"] >= LEAST_TASKS][:1]:
        label = f"slowest / median task of the heaviest stage of {LEAST_TASKS} tasks or more"
        entry.ratios[label] = stage["slowest / median"]
    return entry


def _measure_growth(place: Path, sizes: Sizes, whole: Answer) -> Entry:
    """How time grows with the days of a fleet; that it does not finish is an answer too."""
    few, many = sizes.growing
    entry = Entry(
        "pipeline growth",
        f"calibration of {few.samples:,} and {many.samples:,} samples of {few.topologies} "
        f"topologies, {few.days} and {many.days} days",
    )
    for fleet in sizes.growing:
        name, lake = f"{fleet.samples:,} samples", place / f"growing-{fleet.days}"
        say(f"calibrating {name}")
        if fleet == sizes.fleet:
            entry.cases[name] = whole
            continue
        write_lake(lake, fleet)
        try:
            entry.cases[name] = work("calibrate", str(lake))
        except WorkFailed as fault:
            entry.cases[name] = {"fault": str(fault)}
            return entry
    small, big = (case["seconds"] for case in entry.cases.values())
    times = many.samples / few.samples
    entry.ratios["growth exponent of seconds"] = growth(small, big, times)
    entry.ratios["time over what linear growth would take"] = big / small / times
    return entry


def _measure_ingest(place: Path, fleet: Fleet) -> Entry:
    """JSON lines into a lake, beside DuckDB reading the same files into a table."""
    say(f"ingesting {fleet.samples:,} lines …")
    folder = place / "lines"
    lines = write_lines(folder, fleet)
    size = sum(path.stat().st_size for path in folder.iterdir())
    answers = {
        FIRST: work("ingest", str(folder), "--target", str(place / "ingested")),
        DUCKDB: work("duckdb-ingest", str(folder), "--target", str(place / "lines.duckdb")),
    }
    for answer in answers.values():
        assert answer["lines"] == lines
        answer["lines per second"] = lines / answer["seconds"]
    return Entry(
        "pipeline ingest",
        f"{lines:,} JSON lines, {size / 2**20:,.0f} MiB; DuckDB neither checks lines nor looks for "
        "duplicates",
        cases=answers,
        ratios=_ratios("Spark / DuckDB", answers[FIRST], answers[DUCKDB]),
    )


def _ratios(name: str, one: Answer, other: Answer) -> dict[str, float]:
    """Of wall-clock time, CPU time and memory."""
    figures = {"seconds": "seconds", "CPU seconds": "cpu_seconds", "peak memory": "peak_bytes"}
    return {f"{name}, {label}": one[key] / other[key] for label, key in figures.items()}
