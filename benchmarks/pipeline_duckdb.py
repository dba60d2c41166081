"""The same aggregations in SQL, by DuckDB with as much memory as Spark's driver has."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

MEMORY = "2GB"
_INPUT = "topology, component, task"

# Name → query over `samples`; every answer has as many rows as there are subjects.
_QUERIES = {
    "known time": """
        SELECT topology, max(seconds) AS seconds FROM (
            SELECT topology, worker, sum(bucket_seconds) AS seconds FROM samples
            WHERE metric = 'worker_heartbeats' GROUP BY ALL)
        GROUP BY ALL""",
    "tasks": f"""
        SELECT {_INPUT},
            sum(value) FILTER (metric = 'executed') AS executed,
            sum(value) FILTER (metric = 'emitted') AS emitted,
            var_samp(value) FILTER (metric = 'executed')
                / avg(value) FILTER (metric = 'executed') AS dispersion,
            sum(value) FILTER (metric = 'execute_latency_sum')
                / sum(count) FILTER (metric = 'execute_latency_sum') AS mean,
            sum(value) FILTER (metric = 'execute_latency_squares')
                / sum(count) FILTER (metric = 'execute_latency_squares') AS squares
        FROM samples
        WHERE metric IN
            ('executed', 'emitted', 'execute_latency_sum', 'execute_latency_squares')
        GROUP BY ALL""",
    "bins": f"""
        SELECT {_INPUT}, bin, value,
            sum(value) OVER (PARTITION BY {_INPUT} ORDER BY bin) AS until,
            sum(value) OVER (PARTITION BY {_INPUT}) AS total
        FROM (SELECT {_INPUT}, bin, sum(value) AS value FROM samples
            WHERE metric = 'execute_latency_bin' GROUP BY ALL)""",
    "routing": """
        SELECT topology, source_component, source_task, task, sent,
            sent / sum(sent) OVER (PARTITION BY topology, source_component, source_task) AS share
        FROM (SELECT topology, source_component, source_task, task, sum(value) AS sent
            FROM samples WHERE metric = 'transferred' GROUP BY ALL)""",
    "coefficients": f"""
        SELECT {_INPUT}, sum(x * y) / sum(x * x) AS coefficient FROM (
            SELECT {_INPUT}, bucket_start,
                max(value) FILTER (metric = 'executed') AS x,
                max(value) FILTER (metric = 'emitted') AS y
            FROM samples WHERE metric IN ('executed', 'emitted') GROUP BY ALL)
        GROUP BY ALL""",
    "cpu": """
        SELECT topology, component, executor, sum(x * x) AS xx, sum(x * z) AS xz,
            sum(z * z) AS zz, sum(x * y) AS xy, sum(z * y) AS zy, sum(y) AS used
        FROM (
            SELECT topology, component, executor, bucket_start,
                max(value) FILTER (metric = 'executed') AS x,
                max(value) FILTER (metric = 'executor_idle') AS z,
                max(value) FILTER (metric = 'executor_cpu') AS y
            FROM samples WHERE metric IN ('executed', 'executor_idle', 'executor_cpu')
            GROUP BY ALL)
        GROUP BY ALL""",
    "workers": """
        SELECT topology, worker, sum(value) AS used FROM samples
        WHERE metric = 'worker_cpu' GROUP BY ALL""",
}


def aggregate(paths: Sequence[str], *, threads: int) -> dict[str, int]:
    """Run all queries over Parquet files; gives the rows of each answer."""
    with _connect(":memory:", threads) as database:
        database.read_parquet(list(paths)).create_view("samples")
        return {name: len(database.sql(query).fetchall()) for name, query in _QUERIES.items()}


def read_lines(pattern: str, target: Path, *, threads: int) -> int:
    """Read files of JSON lines of samples into a table; gives its rows."""
    with _connect(str(target), threads) as database:
        database.execute(
            "CREATE TABLE samples AS SELECT *, make_timestamp(bucket_start_us) AS bucket_start"
            " FROM read_json($files, format = 'newline_delimited')",
            {"files": pattern},
        )
        return len(database.table("samples"))


@contextmanager
def _connect(target: str, threads: int) -> Iterator[duckdb.DuckDBPyConnection]:
    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, Any] = {
            "memory_limit": MEMORY,
            "threads": threads,
            "temp_directory": folder,
        }
        with duckdb.connect(target, config=settings) as database:
            yield database
