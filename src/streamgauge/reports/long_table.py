"""Figures of a result as rows of its long table, each with the unit that its name ends in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from streamgauge.reports.content import FigureRow

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# By the end of a figure's name; of a machine, its cores by what they do.
UNITS = {
    "_per_second": "1/s",
    "_seconds": "s",
    "_ms": "ms",
    "_bytes": "bytes",
    "cores": "cores",
    "busy": "cores",
    "polling": "cores",
    "background": "cores",
}


def find_unit(figure: str) -> str:
    """The unit of a figure; empty for a count or a ratio."""
    return next((unit for end, unit in UNITS.items() if figure.endswith(end)), "")


def list_figures(
    subject: str,
    name: str,
    record: Mapping[str, float] | DataclassInstance,
    unit: str | None = None,
) -> Iterator[FigureRow]:
    """The numbers of a record.

    Args:
        subject: What kind of thing the record is of: ``operator``, ``worker`` …
        name: Which one.
        record: Numbers by name, or an object whose fields that are numbers are taken.
        unit: Of all numbers; by default that which a number's name ends in.
    """
    values: Mapping[str, Any]
    if isinstance(record, Mapping):
        values = record
    else:
        values = {field.name: getattr(record, field.name) for field in fields(record)}
    for figure, value in values.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield FigureRow(
                subject=subject,
                name=name,
                figure=figure,
                value=float(value),
                unit=find_unit(figure) if unit is None else unit,
            )
