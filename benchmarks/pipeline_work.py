"""``python -m benchmarks.pipeline_work``: one piece of work, whose last line says how it went.

Every piece runs in a process of its own, so that one's memory, cores and warm code are not the
next one's. The start of Spark is timed apart from what it then does.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.processes import Answer, Stopwatch
from streamgauge.lake.tables import Lake

DRIVER_MEMORY = "2g"
# Reading profiles back takes longer than making them; a few dozen show whether they are right.
MOST_CHECKED = 40


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="benchmarks.pipeline_work", description=__doc__)
    parser.add_argument("work", choices=sorted(_WORK))
    parser.add_argument("source", type=Path)
    parser.add_argument("--target", type=Path, help="where an ingest goes to")
    parser.add_argument("--figures", type=Path, help="where figures are written to")
    parser.add_argument("--log", type=Path, help="a folder for Spark's events")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--period", type=int, nargs=2, help="microseconds since 1970")
    arguments = parser.parse_args()
    print(json.dumps(_WORK[arguments.work](arguments)))


@contextmanager
def _session(arguments: argparse.Namespace, rows: int) -> Iterator[tuple[Any, Answer]]:
    """The session that the command would make for so many rows, and what its start took."""
    from benchmarks.spark_tasks import log_settings
    from streamgauge.api.spark import MOST_BRIEF_ROWS
    from streamgauge.pipeline.session import make_session

    conf = {"spark.driver.memory": DRIVER_MEMORY}
    if arguments.log is not None:
        conf |= log_settings(arguments.log)
    starting = Stopwatch()
    spark = make_session(
        "benchmark",
        master=f"local[{arguments.cores}]",
        conf=conf,
        brief=rows < MOST_BRIEF_ROWS,
    )
    try:
        yield spark, starting.read()
    finally:
        spark.stop()


def _calibrate(arguments: argparse.Namespace) -> Answer:
    from benchmarks.pipeline_figures import figures_of, write_figures
    from streamgauge.pipeline.calibrate.choosing import ANYTHING, Wish
    from streamgauge.pipeline.calibrate.job import calibrate
    from streamgauge.pipeline.calibrate.stretches import Period
    from streamgauge.profile.files.jobs import parse_profile

    wish = ANYTHING
    if arguments.period:
        first, last = arguments.period
        wish = Wish(period=Period(start_us=first, end_us=last))
    lake = Lake(arguments.source)
    steps: list[tuple[str, float]] = []
    with _session(arguments, lake.table("samples").snapshot().rows) as (spark, starting):
        working = Stopwatch()

        def note(text: str) -> None:
            steps.append((text, working.read()["seconds"]))

        made = list(calibrate(spark, lake, wish=wish, say=note))
        taken = working.read()
    profiles = [one.profile for one in made if one.profile is not None]
    if arguments.figures is not None:
        chosen = profiles[:: max(1, len(profiles) // MOST_CHECKED)]
        figures = [figures_of(parse_profile(text)) for text in chosen]
        write_figures(arguments.figures, {key: one[key] for one in figures for key in one})
    return {
        **taken,
        "starting": starting,
        "steps": steps,
        "profiles": len(profiles),
        "faults": sorted({one.fault for one in made if one.fault is not None})[:5],
        "profile_bytes": sum(map(len, profiles)),
    }


def _pandas(arguments: argparse.Namespace) -> Answer:
    from benchmarks import pipeline_pandas
    from benchmarks.pipeline_figures import write_figures

    paths, working = _paths(arguments.source), Stopwatch()
    samples = pipeline_pandas.read(paths)
    reading = working.read()
    figures = pipeline_pandas.figures(samples).figures
    taken = working.read()
    if arguments.figures is not None:
        write_figures(arguments.figures, figures)
    return {**taken, "reading": reading, "samples": len(samples), "figures": len(figures)}


def _duckdb(arguments: argparse.Namespace) -> Answer:
    from benchmarks.pipeline_duckdb import aggregate

    paths, working = _paths(arguments.source), Stopwatch()
    rows = aggregate(paths, threads=arguments.cores)
    return {**working.read(), "rows": rows}


def _ingest(arguments: argparse.Namespace) -> Answer:
    from streamgauge.api.spark import BYTES_PER_ROW
    from streamgauge.pipeline.ingest.job import ingest_files
    from streamgauge.pipeline.ingest.listing import find_files

    rows = sum(path.stat().st_size for path in arguments.source.iterdir()) // BYTES_PER_ROW
    with _session(arguments, rows) as (spark, starting):
        working = Stopwatch()
        tally = ingest_files(spark, Lake(arguments.target), find_files([str(arguments.source)]))
        return {**working.read(), "starting": starting, "lines": sum(tally.taken.values())}


def _duckdb_ingest(arguments: argparse.Namespace) -> Answer:
    from benchmarks.pipeline_duckdb import read_lines

    working = Stopwatch()
    rows = read_lines(str(arguments.source / "*.jsonl"), arguments.target, threads=arguments.cores)
    return {**working.read(), "lines": rows}


def _paths(lake: Path) -> list[str]:
    table = Lake(lake).table("samples")
    return [f"{table.uri}/{file.path}" for file in table.snapshot().files]


_WORK = {
    "calibrate": _calibrate,
    "pandas": _pandas,
    "duckdb": _duckdb,
    "ingest": _ingest,
    "duckdb-ingest": _duckdb_ingest,
}

if __name__ == "__main__":
    main()
