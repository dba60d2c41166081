"""``forecast``: what traffic is expected, from a file of rates or from what a lake measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from streamgauge.api.histories import LengthLike, read_lake, read_length
from streamgauge.api.loading import TimeLike
from streamgauge.api.simulator import Say, stay_silent
from streamgauge.api.spark import HERE, SparkOptions, open_session
from streamgauge.drawing.wording import count
from streamgauge.errors import Findings, in_file
from streamgauge.reports.forecast import ForecastReport

UNIT = "tuples/s"
# Learning from so many values takes about half a minute.
MANY_VALUES = 100_000


def forecast(
    series: str | Path | None = None,
    *,
    lake: str | Path | None = None,
    topology: str | None = None,
    every: bool = False,
    horizon: LengthLike = "1h",
    history: LengthLike | None = None,
    step: LengthLike | None = None,
    by: str = "source",
    start: TimeLike | None = None,
    end: TimeLike | None = None,
    method: str | Sequence[str] = (),
    quantiles: Sequence[float] = (),
    timezone: str | None = None,
    column: str | None = None,
    spark: SparkOptions = HERE,
    say: Say = stay_silent,
) -> ForecastReport:
    """What traffic is expected, with quantiles.

    Args:
        series: A CSV file with times and values, and the name of the series where it has several.
        lake: Instead of a file: a lake, whose source rates are forecast.
        topology: With a lake: whose sources.
        every: With a lake: all topologies, on Spark, one series after the other on each core.
        horizon: How far ahead, in seconds or as ``1h``.
        history: How much of the past may count; all by default.
        step: Length of a step; values within one are averaged. By default as values are apart.
        by: With a lake: a series for each ``source``, ``stream`` or ``task``.
        start: With a lake: first time to take into account.
        end: With a lake: time to stop before.
        method: Experts to combine; the standard ones where none are named, and ``standard``
            stands for them among others.
        quantiles: Probabilities; by default those of bands of 80 and 95 %, and the median.
        timezone: Whose days repeat, such as ``Europe/Berlin``; UTC's by default.
        column: With a file: which column to forecast.
        spark: With `every`: where Spark runs.
        say: Takes what is being done, in words.

    Raises:
        NotEnoughData: No series has a history that is long enough.
        InvalidInput: Arguments contradict each other, or a file has a fault.
        MissingExtra: A package is not installed.
    """
    from streamgauge.traffic.forecast import PROBABILITIES, Wish
    from streamgauge.traffic.forecast import forecast as forecast_series
    from streamgauge.traffic.long_table import Failure, check_any, forecast_or_explain, read_rows

    _check_combination(series, lake, topology, column, every=every)
    wish = Wish(
        horizon_seconds=read_length(horizon, "horizon"),
        history_seconds=None if history is None else read_length(history, "history"),
        step_seconds=None if step is None else read_length(step, "step"),
        experts=_read_methods(method),
        probabilities=tuple(sorted(quantiles)) or PROBABILITIES,
        zone=timezone,
    )
    if series is not None:
        from streamgauge.traffic.series_files import read_series_file

        rows, origin = read_series_file(series, value_column=column), Path(series).name
    else:
        rows = read_lake(
            str(lake),
            topology,
            step_seconds=wish.step_seconds,
            history_seconds=wish.history_seconds,
            by=by,
            start=start,
            end=end,
            say=say,
        )
        origin = str(lake) if topology is None else f"{lake}, {topology}"
    longest = max((len(one.times_us) for one in rows), default=0)
    if longest >= MANY_VALUES and wish.history_seconds is None:
        say(
            f"learning from {longest:,} values: 2,000 to 3,000 a second; --history 28d leaves out"
            " what is older, --step 5m takes means"
        )
    if every:
        with open_session("forecast", spark) as session:
            from streamgauge.pipeline.forecasts import forecast_all

            say(f"forecasting {count(len(rows), 'source')} on Spark")
            table = forecast_all(session, rows, wish)
        forecasts, failures = read_rows(rows, table.to_pylist(), wish)
    elif len(rows) == 1:
        with in_file("" if series is None else str(series)):
            forecasts = [forecast_series(rows[0].make_series(wish.step_seconds), wish)]
        failures = []
    else:
        found = [forecast_or_explain(one, wish) for one in rows]
        forecasts = [one for one in found if not isinstance(one, Failure)]
        failures = [one for one in found if isinstance(one, Failure)]
    check_any(forecasts, failures)
    return ForecastReport(
        origin=origin,
        horizon_seconds=wish.horizon_seconds,
        forecasts=tuple(forecasts),
        failures=tuple(failures),
        unit="" if series is not None else UNIT,
    )


def _read_methods(method: str | Sequence[str]) -> tuple[str, ...]:
    """Names of experts, each checked; in the order given, once."""
    from streamgauge.plugins import FORECASTERS, check_plugin
    from streamgauge.traffic.expert import STANDARD, standard_experts

    given = method.split(",") if isinstance(method, str) else list(method)
    names: list[str] = []
    for name in filter(None, (one.strip() for one in given)):
        if name == STANDARD:
            names += standard_experts()
        else:
            check_plugin(FORECASTERS, name, ("method",))
            names.append(name)
    return tuple(dict.fromkeys(names))


def _check_combination(
    series: str | Path | None,
    lake: str | Path | None,
    topology: str | None,
    column: str | None,
    *,
    every: bool,
) -> None:
    findings = Findings()
    if (series is None) == (lake is None):
        findings.add(
            "series",
            seen="neither --series nor --lake" if series is None else "both --series and --lake",
            expected="one of them",
        )
    elif lake is not None and every == (topology is not None):
        findings.add(
            "topology",
            seen="both --topology and --all" if every else "neither --topology nor --all",
            expected="one of them",
        )
    elif series is not None and (every or topology is not None):
        findings.add("series", seen="--topology or --all with a file", expected="a lake for those")
    if column is not None and series is None:
        findings.add("column", seen="--column without --series", expected="a file with columns")
    findings.raise_if_any()
