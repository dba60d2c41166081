"""Measured figures as cells of a table; ± is always one standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamgauge.drawing.quantities import number, number_within, share

if TYPE_CHECKING:
    from streamgauge.profile.figures import Figure, TimeFigures

# No rate or time is as large as this; a number that is would break every table.
HUGE = 1e9
# A standard error below this part of a figure is not worth its digits.
SURE = 1e-4


def shorten_number(value: float) -> str:
    """A number of a dozen characters at most."""
    return f"{value:.3g}" if value >= HUGE else number(value)


def show_figure(figure: Figure | None) -> str | None:
    """A figure ± its standard error, where that is large enough to be seen."""
    if figure is None:
        return None
    error = figure.standard_error
    if error is None or figure.value >= HUGE or error < SURE * figure.value:
        return shorten_number(figure.value)
    return number_within(figure.value, error)


def show_mean_time(times: TimeFigures | None) -> str | None:
    """A mean time ± its standard error, in milliseconds."""
    return None if times is None else show_figure(times.mean_ms)


def show_value(figure: Figure | None, scale: float = 1.0) -> str | None:
    """A figure without its error, where there is no room for it."""
    return None if figure is None else shorten_number(figure.value * scale)


def show_level(figure: Figure | None) -> str | None:
    """A figure that is mostly a whole number, such as threads or places in a queue."""
    return None if figure is None else f"{figure.value:,g}"


def show_part(figure: Figure | None) -> str | None:
    """A figure in per cent."""
    return None if figure is None else share(figure.value)


def show_quantile(times: TimeFigures | None, probability: float) -> str | None:
    """A quantile in milliseconds, where it is known."""
    if times is None or probability not in times.quantiles_ms:
        return None
    return shorten_number(times.quantiles_ms[probability])


def show_samples(times: TimeFigures | None) -> str | None:
    """How many observations a time rests on; None for a time that was written by hand."""
    return f"{times.mean_ms.samples:,}" if times is not None and times.mean_ms.samples else None
