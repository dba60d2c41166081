"""The study of planners as Markdown: the tables of docs/planners.md, ready to be copied."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from benchmarks.planners_scaling import HELD_BACK, SETTINGS

Columns = Mapping[str, Callable[[Any], str]]
# A title, and the lines below it.
Section = tuple[str, Sequence[str]]


def page(sections: Iterable[Section]) -> str:
    """Headed sections, one below the other."""
    parts = [f"### {title}\n\n" + "\n".join(lines) for title, lines in sections]
    return "\n\n".join(parts) + "\n"


def table(of: str, rows: Mapping[str, Any], columns: Columns) -> list[str]:
    """One row per name of what the table is of, and a column per function of a row."""
    head = [of, *columns]
    body = [[name, *(cell(row) for cell in columns.values())] for name, row in rows.items()]
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head)] + [
        f"| {' | '.join(cells)} |" for cells in body
    ]


def spread(quartiles: Sequence[float], *, digits: int = 2) -> str:
    """Median and quartiles: ``0.50 (0.25–0.75)``; a dash where there are none."""
    if math.isnan(quartiles[1]):
        return "–"
    low, median, high = ("∞" if math.isinf(one) else f"{one:.{digits}f}" for one in quartiles)
    return f"{median} ({low}–{high})"


def percent(part: float) -> str:
    """A part of one."""
    return f"{part:.1%}" if part < 0.1 else f"{part:.0%}"


# Latency, traffic and machines against even placement.
PLACING: Columns = {
    "mean latency": lambda row: spread(row["ratios"]["mean_ms"]),
    "p99": lambda row: spread(row["ratios"]["p99_ms"]),
    "tuples between nodes": lambda row: spread(row["ratios"]["remote_per_second"]),
    "nodes": lambda row: spread(row["ratios"]["nodes"]),
    "highest rate": lambda row: spread(row["ratios"]["limit"]),
    "lower / same / higher mean": lambda row: "{lower} / {same} / {higher}".format(**row["signs"]),
    "best": lambda row: percent(row["best"]),
    "hot": lambda row: str(row["hot"]),
    "overloaded": lambda row: str(row["overloaded"]),
    "infeasible": lambda row: str(row["infeasible"]),
}
# When sources learn that a tree is complete, against even placement.
ACKED: Columns = {
    "time until acked": lambda row: spread(row["ratios"]["acked_ms"]),
    "mean latency": PLACING["mean latency"],
    "overloaded": PLACING["overloaded"],
}


def _spread_of(setting: str, figure: str) -> Callable[[Any], str]:
    return lambda row: spread(row[setting][figure])


# Increases as parts of the throughput before.
SCALING: Columns = {
    "units used": lambda row: f"{row['units used']:.1f}",
    "predicted increase": lambda row: spread(row["predicted"]),
    **{f"simulated, {setting}": _spread_of(setting, "realised") for setting in SETTINGS},
    "over the exact one's, queues": _spread_of("queues", "realised over exact"),
    f"over the exact one's, {HELD_BACK}": _spread_of(HELD_BACK, "realised over exact"),
    "throughput over prediction, queues": lambda row: spread(row["agreement"], digits=3),
}


def example_columns(schedulers: Iterable[str]) -> Columns:
    """The load of an example, and what each scheduler's plan does."""
    return {"load": lambda row: percent(row["load"])} | {
        name: _plan_cell(name) for name in schedulers
    }


def _plan_cell(scheduler: str) -> Callable[[Any], str]:
    def cell(row: Any) -> str:
        plan = row["plans"][scheduler]
        if not plan["feasible"]:
            return "infeasible"
        if plan["overloaded"]:
            return "overloaded"
        return f"{plan['mean_ms']:.3g} ms, {plan['remote_per_second']:,.0f}/s"

    return cell
