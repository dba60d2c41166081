"""Forecasts on Spark: the same figures as alone, and a fault stays with its series."""

import json

import numpy as np
import pytest

from streamgauge.pipeline.forecasts import forecast_all
from streamgauge.traffic.forecast import Wish
from streamgauge.traffic.long_table import forecast_or_explain, read_rows
from tests.cli.conftest import run  # noqa: F401
from tests.cli.test_forecast import found, lake  # noqa: F401
from tests.traffic.day_courses import course
from tests.traffic.test_forecast import rows_of

HOUR = Wish(horizon_seconds=3600.0)


def test_each_series_has_the_forecast_that_it_has_alone_and_faults_stay_apart(spark):
    series = [rows_of(course(2, seed=seed), f"s{seed}") for seed in range(3)]
    series += [rows_of([1.0, -1.0] * 20, "bad"), rows_of([5.0], "short")]
    forecasts, failures = read_rows(series, forecast_all(spark, series, HOUR).to_pylist(), HOUR)
    assert [one.series.name for one in forecasts] == ["s0", "s1", "s2"]
    for one, rows in zip(forecasts, series, strict=False):
        alone = forecast_or_explain(rows, HOUR)
        np.testing.assert_array_equal(one.middle, alone.middle)
        np.testing.assert_array_equal(one.quantiles, alone.quantiles)
    assert [failure.name for failure in failures] == ["bad", "short"]


def test_each_worker_computes_matrices_on_one_core(spark):
    def report(group):
        import os

        import pyarrow as pa

        threads = os.environ.get("OMP_NUM_THREADS", "all")
        return pa.table({"threads": [threads]})

    rows = spark.range(16).repartition(8, "id").groupBy("id")
    found = rows.applyInArrow(report, "threads string").collect()
    assert {row.threads for row in found} == {"1"}


def test_no_series_give_no_rows(spark):
    assert forecast_all(spark, [], HOUR).num_rows == 0


@pytest.mark.usefixtures("spark")
def test_all_topologies_of_a_lake_are_forecast_on_spark(run, lake):  # noqa: F811
    answer = found(run("forecast", "--lake", lake.uri, "--all", "--horizon", "10m", "--json"))
    assert [one["series"] for one in answer["series"]] == ["words/sentences"]
    assert json.dumps(answer["failures"]) == "[]"
