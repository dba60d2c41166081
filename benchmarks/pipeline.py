"""The metrics pipeline: a fleet's calibration on Spark, beside pandas, and ingest, beside DuckDB.

Spark runs on the cores of one machine with 2 GB for its driver, which is all there is of it. Every
piece of work has a process of its own (`benchmarks.pipeline_work`), the making of its input
included, and is gone before the next begins: the memory of all is that of the largest. Ratios are
of wall-clock time without the start of Spark unless they say so; those of CPU time hold on a
machine that others use too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.pipeline_fleet import BUCKET_US, Fleet
from benchmarks.pipeline_inputs import FEW_LINES, write_few_lines, write_lake, write_lines
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

Done = Mapping[str, Entry]


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
# Samples: 22 million; 11 and 107 million; 10 million lines.
LARGE = Sizes(
    fleet=Fleet(topologies=500, days=3),
    growing=(Fleet(topologies=240, days=3), Fleet(topologies=240, days=30)),
    lines=Fleet(topologies=670, days=1),
)


def _sizes(large: bool) -> Sizes:
    return LARGE if large else SMALL


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as name:
        yield Path(name)


def _run(what: str, work: Callable[..., Answer], *arguments: object, **options: object) -> Answer:
    """A piece of work apart, and a line about what it took."""
    answer = run_apart(work, *arguments, **options)
    seconds, gib = answer["process_seconds"], answer["peak_bytes"] / 2**30
    say(f"{what}: {seconds:.0f} s in all, {gib:.1f} GiB")
    return answer


def _measure_calibration(done: Done, *, large: bool) -> Entry:
    """One fleet: Spark on one and two cores, and pandas."""
    del done
    fleet = _sizes(large).fleet
    with _folder() as place:
        lake = place / "lake"
        _run(f"writing {fleet.samples:,} samples", write_lake, lake, fleet)
        answers = {
            ONE_CORE: _run(ONE_CORE, calibrate_on_spark, lake, master="local[1]"),
            FIRST: _run(FIRST, calibrate_on_spark, lake),
            PANDAS: _run(PANDAS, estimate_in_pandas, lake),
        }
    ours, theirs = answers[FIRST]["figures"], answers[PANDAS]["figures"]
    topologies = {topology for _, topology, *_ in ours}
    among = {key: value for key, value in theirs.items() if key[1] in topologies}
    differences = largest_difference(ours, among)
    first, pandas = answers[FIRST], answers[PANDAS]
    apart = max(one["largest relative difference"] for one in differences.values())
    started = first["seconds"] + first["starting"]["seconds"]
    return Entry(
        "pipeline calibration",
        f"{fleet.samples:,} samples of {fleet.topologies} topologies of 50 tasks, half of them of "
        "one; seconds without the start of Spark",
        cases={
            **{name: _count_figures(answer) for name, answer in answers.items()},
            **{f"Spark against pandas: {name}": one for name, one in differences.items()},
        },
        ratios={
            **_ratios("Spark / pandas", first, pandas),
            "Spark / pandas, seconds, start of Spark included": started / pandas["seconds"],
            "1 core / 2 cores, seconds": answers[ONE_CORE]["seconds"] / first["seconds"],
            "largest relative difference from pandas": apart,
        },
    )


def _measure_growth(done: Done, *, large: bool, many: bool) -> Entry:
    """A fleet of few or many days; with both, how everything grows with the days."""
    fleet = _sizes(large).growing[many]
    name = f"{fleet.samples:,} samples"
    with _folder() as place:
        events = place / "events"
        events.mkdir()
        _run(f"writing {name}", write_lake, place / "lake", fleet)
        answer = _run(f"calibrating {name}", calibrate_on_spark, place / "lake", events=events)
        answer = _count_figures(answer)
    entry = Entry(
        _named(_GROWTH, many),
        f"calibration of {name} of {fleet.topologies} topologies, {fleet.days} days; bytes of"
        " memory of all processes at once",
        cases={name: answer},
        ratios={
            "seconds": answer["seconds"],
            "CPU seconds": answer["cpu_seconds"],
            "peak memory, bytes": answer["peak_bytes"],
            **{f"tasks: {label}": answer["tasks"][label] for label in _TASKS},
        },
    )
    before = done.get(_named(_GROWTH, False)) if many else None
    if before is not None:
        times = fleet.samples / _sizes(large).growing[False].samples
        for label, value in dict(entry.ratios).items():
            if value and before.ratios[label]:
                exponent = growth(before.ratios[label], value, times)
                entry.ratios[f"growth exponent of {label}"] = exponent
    entry.ratios["CPU seconds a million samples"] = answer["cpu_seconds"] / fleet.samples * 1e6
    return entry


def _measure_ingest(done: Done, *, large: bool) -> Entry:
    """JSON lines into a lake, beside DuckDB reading them; late lines, and lines that come again."""
    del done
    fleet = _sizes(large).lines
    with _folder() as place:
        folder, lake, late = place / "lines", place / "lake", place / "late"
        written = _run(f"writing {fleet.samples:,} lines", write_lines, folder, fleet)
        fewer = _run("writing them grouped", write_lines, place / "grouped", fleet, grouped=True)
        _run("writing a lake of the same times", write_lake, late, fleet, shift_us=1)
        ours = _run("Spark", ingest_on_spark, folder, lake)
        theirs = _run("DuckDB", read_in_duckdb, folder, place / "lines.duckdb")
        later = _run("late lines", ingest_on_spark, folder, late)
        again = _run("lines again", ingest_on_spark, folder.rename(place / "again"), lake)
        grouped = _run("grouped lines", ingest_on_spark, place / "grouped", place / "lake-2")
        stored = sum(file.bytes for file in Lake(lake).table("samples").snapshot().files)
    lines, size = written["lines"], written["bytes"]
    assert ours["taken"] == later["taken"] == theirs["lines"] == again["duplicates"] == lines
    assert grouped["taken"] == lines
    return Entry(
        "pipeline ingest",
        f"{lines:,} JSON lines, {size / 2**20:,.0f} MiB; DuckDB neither checks nor compares them; "
        "late ones meet as many rows of their times and topologies; seconds without the start of"
        " Spark",
        cases={
            FIRST: ours,
            "DuckDB": theirs,
            "late": later,
            "again": again,
            "grouped": {**grouped, **fewer},
        },
        ratios={
            "lines per second": lines / ours["seconds"],
            "raw bytes a sample": size / lines,
            "raw bytes a sample, grouped": fewer["bytes"] / lines,
            "stored bytes a sample": stored / lines,
            "CPU seconds a million lines": ours["cpu_seconds"] / lines * 1e6,
            "peak memory, bytes": ours["peak_bytes"],
            **_ratios("Spark / DuckDB", ours, theirs),
            **_ratios("late / first", later, ours),
            **_ratios("again / first", again, ours),
            **_ratios("grouped / first", grouped, ours),
        },
    )


def _measure_few_lines(done: Done, *, large: bool, many: bool) -> Entry:
    """A few lines of all topologies into a lake of few or many days."""
    fleet = _sizes(large).growing[many]
    entry = Entry(
        _named(_FEW_LINES, many),
        f"{FEW_LINES:,} lines of {fleet.topologies - 1} topologies into {fleet.samples:,} rows of"
        f" {fleet.days} days; the newest day has {fleet.samples // fleet.days:,} rows; seconds"
        " without the start of Spark",
    )
    # How long after their last buckets lines are of, and how many of them give way to others.
    cases = {
        "of a new day": (BUCKET_US, 0),
        "of the newest day": (-BUCKET_US // 2, 0),
        "corrections": (0, FEW_LINES),
        "corrections of the same rows": (0, FEW_LINES),
    }
    with _folder() as place:
        lake = place / "lake"
        _run(f"writing {fleet.samples:,} samples", write_lake, lake, fleet)
        for number, (case, (after_us, superseded)) in enumerate(cases.items(), start=1):
            folder = place / str(number)
            write_few_lines(folder, fleet, after_us=after_us, value=number)
            answer = _run(case, ingest_on_spark, folder, lake)
            assert (answer["taken"], answer["superseded"]) == (FEW_LINES - superseded, superseded)
            entry.cases[case] = answer
            for label, key in _COSTS.items():
                entry.ratios[f"{case}, {label}"] = answer[key]
    before = done.get(_named(_FEW_LINES, False)) if many else None
    if before is not None:
        for label in [f"{case}, CPU seconds" for case in cases]:
            times = entry.ratios[label] / before.ratios[label]
            entry.ratios[f"{label}, many days / few days"] = times
    return entry


_GROWTH, _FEW_LINES = "pipeline growth", "pipeline few lines"
_COSTS = {"seconds": "seconds", "CPU seconds": "cpu_seconds", "peak memory": "peak_bytes"}
_TASKS = ("input_bytes", "shuffle_written_bytes", "spilled_bytes", "jvm_heap_bytes", "python_bytes")


def _named(part: str, many: bool) -> str:
    return f"{part}, {'many' if many else 'few'} days"


# Each leaves nothing behind that another needs; ratios of few and many days take both.
PARTS: Mapping[str, Callable[..., Entry]] = {
    "pipeline calibration": _measure_calibration,
    "pipeline ingest": _measure_ingest,
    **{_named(_FEW_LINES, many): partial(_measure_few_lines, many=many) for many in (False, True)},
    **{_named(_GROWTH, many): partial(_measure_growth, many=many) for many in (False, True)},
}


def _count_figures(answer: Answer) -> Answer:
    return {**answer, "figures": len(answer["figures"])}


def _ratios(name: str, one: Answer, other: Answer) -> dict[str, float]:
    """Of wall-clock time, CPU time and memory."""
    return {f"{name}, {label}": one[key] / other[key] for label, key in _COSTS.items()}
