"""The metrics pipeline: a fleet's calibration on Spark, beside pandas, and ingest, beside DuckDB.

Spark runs on the cores of one machine with 2 GB for its driver, which is all there is of it. Every
piece of work has a process of its own (`benchmarks.pipeline_work`). Ratios are of wall-clock time
without the start of Spark unless they say so; those of CPU time hold on a machine that others use
too.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.pipeline_fleet import Fleet
from benchmarks.pipeline_inputs import RECEIVED, write_lake, write_lines
from benchmarks.pipeline_pandas import largest_difference
from benchmarks.pipeline_work import (
    calibrate_on_spark,
    estimate_in_pandas,
    ingest_on_spark,
    read_in_duckdb,
)
from benchmarks.processes import Answer, run_apart
from benchmarks.report import Entry, growth, say
from streamgauge.lake.tables import Lake

FIRST, ONE_CORE = "Spark, 2 cores", "Spark, 1 core"
PANDAS = "pandas"
FEW_LINES = 1_000


class Sizes(NamedTuple):
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
        answers = _calibrate(place, sizes.fleet)
        return [
            _compare(sizes.fleet, answers),
            _measure_growth(place, sizes),
            _measure_ingest(place, sizes.lines),
        ]


def _calibrate(place: Path, fleet: Fleet) -> dict[str, Answer]:
    """One fleet: Spark on one and two cores, and pandas."""
    say(f"calibrating {fleet.samples:,} samples")
    lake = place / "lake"
    write_lake(lake, fleet)
    return {
        ONE_CORE: run_apart(calibrate_on_spark, lake, master="local[1]"),
        FIRST: run_apart(calibrate_on_spark, lake),
        PANDAS: run_apart(estimate_in_pandas, lake),
    }


def _compare(fleet: Fleet, answers: Mapping[str, Answer]) -> Entry:
    """What the runs of one fleet say, and how far figures are from those of pandas."""
    ours, theirs = answers[FIRST]["figures"], answers[PANDAS]["figures"]
    topologies = {topology for _, topology, *_ in ours}
    among = {key: value for key, value in theirs.items() if key[1] in topologies}
    differences = largest_difference(ours, among)
    entry = Entry(
        "pipeline calibration",
        f"{fleet.samples:,} samples of {fleet.topologies} topologies of 50 tasks, half of them of "
        "one; seconds without the start of Spark",
        cases={
            **{name: _count_figures(answer) for name, answer in answers.items()},
            **{f"Spark against pandas: {name}": one for name, one in differences.items()},
        },
    )
    first, pandas = answers[FIRST], answers[PANDAS]
    entry.ratios.update(_ratios("Spark / pandas", first, pandas))
    label = "Spark / pandas, seconds, start of Spark included"
    entry.ratios[label] = (first["seconds"] + first["starting"]["seconds"]) / pandas["seconds"]
    entry.ratios["1 core / 2 cores, seconds"] = answers[ONE_CORE]["seconds"] / first["seconds"]
    apart = max(one["largest relative difference"] for one in differences.values())
    entry.ratios["largest relative difference from pandas"] = apart
    return entry


def _measure_growth(place: Path, sizes: Sizes) -> Entry:
    """How time grows with the days of a fleet."""
    few, many = sizes.growing
    entry = Entry(
        "pipeline growth",
        f"calibration of {few.samples:,} and {many.samples:,} samples of {few.topologies} "
        f"topologies, {few.days} and {many.days} days",
    )
    for fleet in sizes.growing:
        name, lake = f"{fleet.samples:,} samples", place / f"growing-{fleet.days}"
        say(f"calibrating {name}")
        events = place / f"events-{fleet.days}"
        events.mkdir()
        write_lake(lake, fleet)
        answer = run_apart(calibrate_on_spark, lake, events=events)
        entry.cases[name] = _count_figures(answer)
    small, big = entry.cases.values()
    times = many.samples / few.samples
    for label, key in (("seconds", "seconds"), ("CPU seconds", "cpu_seconds")):
        entry.ratios[f"growth exponent of {label}"] = growth(small[key], big[key], times)
    for label in ("shuffle_written_bytes", "input_bytes"):
        few_bytes, many_bytes = small["tasks"][label], big["tasks"][label]
        entry.ratios[f"growth exponent of {label}"] = growth(few_bytes, many_bytes, times)
    entry.ratios["time over what linear growth would take"] = (
        big["seconds"] / small["seconds"] / times
    )
    entry.ratios["CPU seconds a million samples"] = big["cpu_seconds"] / many.samples * 1e6
    entry.ratios["spilled bytes"] = big["tasks"]["spilled_bytes"]
    return entry


def _measure_ingest(place: Path, fleet: Fleet) -> Entry:
    """JSON lines into a lake, beside DuckDB reading them, and a few lines into a lake with rows."""
    say(f"ingesting {fleet.samples:,} lines …")
    folder, few = place / "lines", place / "few-lines"
    lines = write_lines(folder, fleet)
    size = sum(path.stat().st_size for path in folder.iterdir())
    # Of times that the lake of the calibration has.
    few.mkdir()
    first = next(iter(sorted(folder.iterdir())))
    with first.open("rb") as source:
        (few / first.name).write_bytes(b"".join(islice(source, FEW_LINES)))
    # Received after the rows of that lake: where values differ, its files are written anew.
    os.utime(few / first.name, (RECEIVED.timestamp() + 1.0,) * 2)
    ours = run_apart(ingest_on_spark, folder, place / "ingested")
    theirs = run_apart(read_in_duckdb, folder, place / "lines.duckdb")
    assert ours["lines"] == theirs["lines"] == lines
    rows = Lake(place / "lake").table("samples").snapshot().rows
    return Entry(
        "pipeline ingest",
        f"{lines:,} JSON lines, {size / 2**20:,.0f} MiB; DuckDB neither checks nor compares them; "
        "seconds without the start of Spark",
        cases={
            FIRST: ours,
            "DuckDB": theirs,
            f"{FEW_LINES:,} lines into {rows:,} rows": run_apart(
                ingest_on_spark, few, place / "lake"
            ),
        },
        ratios={
            "lines per second": lines / ours["seconds"],
            **_ratios("Spark / DuckDB", ours, theirs),
        },
    )


def _count_figures(answer: Answer) -> Answer:
    return {**answer, "figures": len(answer["figures"])}


def _ratios(name: str, one: Answer, other: Answer) -> dict[str, float]:
    """Of wall-clock time, CPU time and memory."""
    figures = {"seconds": "seconds", "CPU seconds": "cpu_seconds", "peak memory": "peak_bytes"}
    return {f"{name}, {label}": one[key] / other[key] for label, key in figures.items()}
