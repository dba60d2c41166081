"""``python -m benchmarks.pipeline_work``: one piece of work, whose last line says how it went.

Every piece runs in a process of its own, so that one's memory, cores and warm code are not the
next one's. Starting Spark is told apart from what it then does.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.pipeline_figures import figures_of, write_figures
from benchmarks.processes import Stopwatch
from benchmarks.spark_tasks import log_settings
from streamgauge.lake.tables import Lake

DRIVER_MEMORY = "2g"
# Reading profiles back takes longer than making them; a few dozen show whether they are right.
MOST_CHECKED = 40

Answer = dict[str, Any]


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


def _session(arguments: argparse.Namespace, rows: int) -> Any:
    """The session that the command would make for so many rows."""
    from streamgauge.cli.spark import MOST_BRIEF_ROWS
    from streamgauge.pipeline.session import make_session

    conf = {"spark.driver.memory": DRIVER_MEMORY}
    if arguments.log is not None:
        arguments.log.mkdir(parents=True)
        conf |= log_settings(arguments.log)
    brief = rows < MOST_BRIEF_ROWS
    master = f"local[{arguments.cores}]"
    return make_session("benchmark", master=master, conf=conf, brief=brief)


def _calibrate(arguments: argparse.Namespace) -> Answer:
    from streamgauge.pipeline.calibrate.choosing import ANYTHING, Wish
    from streamgauge.pipeline.calibrate.job import calibrate
    from streamgauge.pipeline.calibrate.stretches import Period

    wish = ANYTHING
    if arguments.period:
        first, last = arguments.period
        wish = Wish(period=Period(start_us=first, end_us=last))
    lake, starting = Lake(arguments.source), Stopwatch()
    spark = _session(arguments, lake.table("samples").snapshot().rows)
    started, working = starting.read(), Stopwatch()
    said: list[tuple[str, float | None]] = []
    made = list(
        calibrate(
            spark,
            lake,
            wish=wish,
            say=lambda text: said.append((text, working.read()["seconds"])),
        )
    )
    answer: Answer = {
        **working.read(),
        "starting": started,
        "steps": said,
        "profiles": sum(one.profile is not None for one in made),
        "faults": sorted({one.fault for one in made if one.fault is not None})[:5],
        "profile_bytes": sum(len(one.profile or "") for one in made),
    }
    spark.stop()
    if arguments.figures is not None:
        _write_some([one.profile for one in made if one.profile], arguments.figures)
    return answer


def _write_some(profiles: list[str], path: Path) -> None:
    from streamgauge.profile.files.jobs import parse_profile

    figures = {}
    for text in profiles[:: max(1, len(profiles) // MOST_CHECKED)]:
        figures.update(figures_of(parse_profile(text)))
    write_figures(path, figures)


def _pandas(arguments: argparse.Namespace) -> Answer:
    from benchmarks import pipeline_pandas

    paths, working = _paths(arguments.source), Stopwatch()
    samples = pipeline_pandas.read(paths)
    reading = working.read()
    found = pipeline_pandas.figures(samples)
    answer: Answer = {
        **working.read(),
        "reading": reading,
        "samples": len(samples),
        "figures": len(found.figures),
    }
    if arguments.figures is not None:
        write_figures(arguments.figures, found.figures)
    return answer


def _duckdb(arguments: argparse.Namespace) -> Answer:
    from benchmarks.pipeline_duckdb import aggregate

    paths, working = _paths(arguments.source), Stopwatch()
    rows = aggregate(paths, threads=arguments.cores)
    return {**working.read(), "rows": rows}


def _ingest(arguments: argparse.Namespace) -> Answer:
    from streamgauge.cli.spark import BYTES_PER_ROW
    from streamgauge.pipeline.ingest.job import ingest_files
    from streamgauge.pipeline.ingest.listing import find_files

    starting = Stopwatch()
    spark = _session(arguments, _size(arguments.source) // BYTES_PER_ROW)
    started, working = starting.read(), Stopwatch()
    tally = ingest_files(spark, Lake(arguments.target), find_files([str(arguments.source)]))
    answer: Answer = {
        **working.read(),
        "starting": started,
        "lines": tally.lines,
        "taken": sum(tally.taken.values()),
        "bytes": _size(arguments.target),
    }
    spark.stop()
    shutil.rmtree(arguments.target)
    return answer


def _duckdb_ingest(arguments: argparse.Namespace) -> Answer:
    from benchmarks.pipeline_duckdb import read_lines

    working = Stopwatch()
    rows = read_lines(str(arguments.source / "*.jsonl"), arguments.target, threads=arguments.cores)
    answer: Answer = {**working.read(), "lines": rows, "bytes": arguments.target.stat().st_size}
    arguments.target.unlink()
    return answer


def _paths(lake: Path) -> list[str]:
    table = Lake(lake).table("samples")
    return [f"{table.uri}/{file.path}" for file in table.snapshot().files]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


_WORK: dict[str, Callable[[argparse.Namespace], Answer]] = {
    "calibrate": _calibrate,
    "pandas": _pandas,
    "duckdb": _duckdb,
    "ingest": _ingest,
    "duckdb-ingest": _duckdb_ingest,
}

if __name__ == "__main__":
    main()
