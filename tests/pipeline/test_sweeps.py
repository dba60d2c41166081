"""Sweeps on Spark: the same rows as without it."""

import streamgauge as sg
from tests.api.test_sweep import SWEEP, files, rows_of  # noqa: F401


def test_rows_are_those_of_a_sweep_without_spark(spark, files, tmp_path):  # noqa: F811
    path = files(SWEEP + "models: [cost, analytic]\n")
    here = sg.sweep(path, on_spark=False)
    there = sg.sweep(path, on_spark=True, output=tmp_path / "out")
    assert [*map(str, rows_of(there))] == [*map(str, rows_of(here))]
    # Everything is there: nothing is left to do.
    said = []
    sg.sweep(path, on_spark=True, output=tmp_path / "out", say=said.append)
    assert said == ["0 cases to evaluate"]
