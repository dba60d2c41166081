"""Forecasts of many series on Spark: one group a series, by the function that serves one alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa
from pyspark.sql import DataFrame

from streamgauge.pipeline.schemas import spark_schema
from streamgauge.pipeline.session import Session
from streamgauge.traffic.forecast import Wish
from streamgauge.traffic.long_table import forecast_rows
from streamgauge.traffic.series import SeriesRows

# The long table: a row for each value.
VALUES = pa.schema(
    [
        ("series", pa.string()),
        ("time_us", pa.int64()),
        ("value", pa.float64()),
        ("masked", pa.bool_()),
    ]
)
# A row for each step ahead; where there is no forecast, one row that says why.
FORECASTS = pa.schema(
    [
        ("series", pa.string()),
        ("time_us", pa.int64()),
        ("value", pa.float64()),
        ("quantiles", pa.list_(pa.float64())),
        ("error", pa.string()),
    ]
)
# Groups of series for each core, so that no core waits for long for the last one.
TASKS_PER_CORE = 4


def forecast_all(spark: Session, series: Iterable[SeriesRows], wish: Wish) -> pa.Table:
    """Rows of `FORECASTS` for all series, those of a series in order of time."""
    tables = [
        pa.table(
            {
                "series": pa.repeat(one.name, len(one.times_us)),
                "time_us": one.times_us,
                "value": one.values,
                "masked": one.masked,
            },
            schema=VALUES,
        )
        for one in series
    ]
    if not tables:
        return FORECASTS.empty_table()
    rows = spark.createDataFrame(pa.concat_tables(tables))
    # Spark gives each worker OMP_NUM_THREADS=1 (spark.task.cpus), so matrices take one core each.
    tasks = TASKS_PER_CORE * spark.sparkContext.defaultParallelism
    found = forecast_groups(rows.repartition(tasks, "series"), wish).toArrow()
    return found.sort_by([("series", "ascending"), ("time_us", "ascending")])


def forecast_groups(rows: DataFrame, wish: Wish) -> DataFrame:
    """The forecasts of a long table, as rows of `FORECASTS`."""
    return rows.groupBy("series").applyInArrow(_adapt(wish), spark_schema(FORECASTS))


def _adapt(wish: Wish) -> Callable[[pa.Table], pa.Table]:
    """The function of one group, for Spark."""

    def forecast_group(group: pa.Table) -> pa.Table:
        columns = {name: group[name].to_numpy() for name in ("time_us", "value", "masked")}
        named = SeriesRows(group["series"][0].as_py(), *columns.values())
        return pa.Table.from_pylist(forecast_rows(named, wish), schema=FORECASTS)

    return forecast_group
