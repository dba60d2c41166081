"""The pieces of work of the pipeline's study, each for a process of its own.

So one's memory, cores and warm code are not the next one's. The start of Spark is timed apart from
what it then does. Whatever is heavy is imported by the work that needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.processes import Answer, Stopwatch
from benchmarks.spark_cluster import EVENT_LOG, read_event_log
from streamgauge.lake.tables import Lake

CORES, DRIVER_MEMORY = 2, "2g"
# Reading profiles back takes longer than making them; a few dozen show whether they are right.
MOST_CHECKED = 40


@contextmanager
def _session(
    master: str, rows: int, conf: Mapping[str, str] | None = None
) -> Iterator[tuple[Any, Answer]]:
    """The session that the command would make for so many rows, and what its start took."""
    from streamgauge.api.spark import MOST_BRIEF_ROWS
    from streamgauge.pipeline.session import make_session

    starting = Stopwatch()
    spark = make_session(
        "benchmark",
        master=master,
        conf={"spark.driver.memory": DRIVER_MEMORY, **(conf or {})},
        brief=rows < MOST_BRIEF_ROWS,
    )
    try:
        yield spark, starting.read()
    finally:
        spark.stop()


def calibrate_on_spark(
    folder: Path,
    *,
    master: str = f"local[{CORES}]",
    events: Path | None = None,
    conf: Mapping[str, str] | None = None,
) -> Answer:
    """Profiles of all topologies of a lake, and the figures of some of them.

    Args:
        folder: The lake.
        master: Where Spark runs.
        events: An empty folder for Spark's event log; what its tasks did is then counted.
        conf: Settings of Spark.
    """
    from benchmarks.pipeline_figures import figures_of
    from streamgauge.pipeline.calibrate.job import calibrate
    from streamgauge.profile.files.jobs import parse_profile

    lake = Lake(folder)
    steps: list[tuple[str, float]] = []
    settings = dict(conf or {})
    if events is not None:
        settings |= {**EVENT_LOG, "spark.eventLog.dir": events.as_uri()}
    rows = lake.table("samples").snapshot().rows
    with _session(master, rows, settings) as (spark, starting):
        working = Stopwatch()

        def note(text: str) -> None:
            steps.append((text, working.read()["seconds"]))

        made = list(calibrate(spark, lake, say=note))
        taken = working.read()
    profiles = [one.profile for one in made if one.profile is not None]
    checked = profiles[:: max(1, len(profiles) // MOST_CHECKED)]
    figures = [figures_of(parse_profile(text)) for text in checked]
    return {
        **taken,
        "starting": starting,
        "steps": steps,
        "profiles": len(profiles),
        "faults": sorted({one.fault for one in made if one.fault is not None})[:5],
        "profile_bytes": sum(map(len, profiles)),
        "figures": {key: one[key] for one in figures for key in one},
        **({} if events is None else {"tasks": read_event_log(events)}),
    }


def estimate_in_pandas(folder: Path) -> Answer:
    """The main figures."""
    from benchmarks import pipeline_pandas

    table = Lake(folder).table("samples")
    paths = [f"{table.uri}/{file.path}" for file in table.snapshot().files]
    working = Stopwatch()
    samples = pipeline_pandas.read(paths)
    reading = working.read()
    figures = pipeline_pandas.figures(samples).figures
    return {**working.read(), "reading": reading, "samples": len(samples), "figures": figures}


def ingest_on_spark(folder: Path, target: Path) -> Answer:
    """JSON lines into a lake."""
    from streamgauge.api.spark import BYTES_PER_ROW
    from streamgauge.pipeline.ingest.job import ingest_files
    from streamgauge.pipeline.ingest.listing import find_files

    rows = sum(path.stat().st_size for path in folder.iterdir()) // BYTES_PER_ROW
    with _session(f"local[{CORES}]", rows) as (spark, starting):
        working = Stopwatch()
        tally = ingest_files(spark, Lake(target), find_files([str(folder)]))
        return {
            **working.read(),
            "starting": starting,
            "taken": sum(tally.taken.values()),
            "duplicates": tally.duplicates,
            "superseded": tally.superseded,
        }


def read_in_duckdb(folder: Path, target: Path) -> Answer:
    """The same lines into a table of DuckDB, which neither checks nor compares them."""
    import duckdb

    settings: dict[str, Any] = {"memory_limit": "2GB", "threads": CORES}
    settings["enable_progress_bar"] = False
    working = Stopwatch()
    with duckdb.connect(str(target), config=settings) as database:
        database.execute(
            "CREATE TABLE samples AS SELECT *, make_timestamp(bucket_start_us) AS bucket_start"
            " FROM read_json($files, format = 'newline_delimited')",
            {"files": f"{folder}/*.jsonl"},
        )
        return {**working.read(), "lines": len(database.table("samples"))}
