"""Forecasts of many series: one Spark job on two cores beside a plain loop.

Series have 2,000 values of 5 minutes and a horizon of an hour: 500 of them with --large, else 40.
Time on the clock means something only on a machine that does nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.report import Entry
from benchmarks.traffic_courses import make_courses
from streamgauge.pipeline.forecasts import forecast_all
from streamgauge.pipeline.session import make_session
from streamgauge.traffic.forecast import Wish
from streamgauge.traffic.long_table import forecast_rows
from streamgauge.traffic.series import SeriesRows

VALUES = 2000
SERIES, LARGE = 40, 500
MASTER = "local[2]"


def run(*, large: bool) -> Iterator[Entry]:
    """One entry."""
    wish = Wish(horizon_seconds=3600.0)
    fleet = _make_fleet(LARGE if large else SERIES)
    begin, busy = time.perf_counter(), time.process_time()
    alone = [row for one in fleet for row in forecast_rows(one, wish)]
    loop, loop_cpu = time.perf_counter() - begin, time.process_time() - busy
    session = make_session("traffic-fleet", master=MASTER)
    try:
        begin = time.perf_counter()
        table = forecast_all(session, fleet, wish)
        spark = time.perf_counter() - begin
    finally:
        session.stop()
    together = {(row["series"], row["time_us"]): row["value"] for row in table.to_pylist()}
    same = all(together[row["series"], row["time_us"]] == row["value"] for row in alone)
    entry = Entry(f"traffic fleet of {len(fleet)}", f"{VALUES} values each, {MASTER}")
    entry.ratios.update(
        {
            "plain loop, s": loop,
            "plain loop, CPU seconds a series": loop_cpu / len(fleet),
            "Spark job without the session's start, s": spark,
            "plain loop over Spark": loop / spark,
            "same figures": float(same),
        }
    )
    yield entry


def _make_fleet(size: int) -> list[SeriesRows]:
    """Courses of 5 minutes, of several kinds and seeds."""
    found: list[SeriesRows] = []
    seed = 0
    while len(found) < size:
        seed += 1
        for one in make_courses(seed):
            if one.step_seconds != 300.0 or len(found) == size:
                continue
            values = one.values[:VALUES]
            times = one.start_us + one.step_us * np.arange(VALUES, dtype=np.int64)
            hidden = np.zeros(VALUES, dtype=bool)
            found.append(SeriesRows(f"{one.name}-{seed}", times, values, hidden))
    return found
