"""The study of planners as Markdown: the tables of docs/planners.md, ready to be copied."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.planners_scaling import HELD_BACK, SETTINGS


def page(sections: Iterable[tuple[str, Iterable[str]]]) -> str:
    """Headed sections, one below the other."""
    parts = [f"### {title}\n\n" + "\n".join(lines) for title, lines in sections]
    return "\n\n".join(parts) + "\n"


def placing_table(summary: Mapping[str, Any]) -> Iterator[str]:
    """One row per scheduler: latency, traffic and machines against even placement."""
    yield from _table(
        (
            "scheduler",
            "mean latency",
            "p99",
            "tuples between nodes",
            "nodes",
            "highest rate",
            "lower / same / higher mean",
            "best",
            "worst",
            "hot",
            "overloaded",
            "infeasible",
        ),
        [
            (
                name,
                spread(one["ratios"]["mean_ms"]),
                spread(one["ratios"]["p99_ms"]),
                spread(one["ratios"]["remote_per_second"]),
                spread(one["nodes"]),
                spread(one["ratios"]["limit"]),
                "{lower} / {same} / {higher}".format(**one["signs"]),
                percent(one["best"]),
                percent(one["worst"]),
                str(one["hot"]),
                str(one["overloaded"]),
                str(one["infeasible"]),
            )
            for name, one in summary.items()
        ],
    )


def acked_table(summary: Mapping[str, Any]) -> Iterator[str]:
    """One row per scheduler: when sources learn that a tree is complete, against even."""
    yield from _table(
        ("scheduler", "time until acked", "mean latency", "overloaded"),
        [
            (
                name,
                spread(one["ratios"]["acked_ms"]),
                spread(one["ratios"]["mean_ms"]),
                str(one["overloaded"]),
            )
            for name, one in summary.items()
        ],
    )


def example_table(
    cases: Mapping[str, Mapping[str, Any]], schedulers: Sequence[str]
) -> Iterator[str]:
    """One row per example: mean latency in milliseconds by scheduler."""
    rows = []
    for name, case in cases.items():
        plans = case["plans"]
        rows.append((name, percent(case["load"]), *(_plan_cell(plans[one]) for one in schedulers)))
    yield from _table(("example", "load", *schedulers), rows)


def _plan_cell(plan: Mapping[str, Any]) -> str:
    if not plan["feasible"]:
        return "infeasible"
    if plan["overloaded"]:
        return "overloaded"
    return f"{plan['mean_ms']:.3g} ms, {plan['remote_per_second']:,.0f}/s"


def scaling_table(summary: Mapping[str, Any]) -> Iterator[str]:
    """One row per scaler: increases as parts of the throughput before."""
    yield from _table(
        (
            "scaler",
            "units used",
            "predicted increase",
            *(f"simulated, {setting}" for setting in SETTINGS),
            "over the exact one's, queues",
            f"over the exact one's, {HELD_BACK}",
            "throughput over prediction, queues",
        ),
        [
            (
                name,
                f"{one['units used']:.1f}",
                spread(one["predicted"]),
                *(spread(one[setting]["realised"]) for setting in SETTINGS),
                spread(one["queues"]["realised over exact"]),
                spread(one[HELD_BACK]["realised over exact"]),
                spread(one["measured over expected"], digits=3),
            )
            for name, one in summary.items()
        ],
    )


def spread(quartiles: Sequence[float], *, digits: int = 2) -> str:
    """Median and quartiles: ``0.50 (0.25–0.75)``; a dash where there are none."""
    if math.isnan(quartiles[1]):
        return "–"
    low, median, high = ("∞" if math.isinf(one) else f"{one:.{digits}f}" for one in quartiles)
    return f"{median} ({low}–{high})"


def percent(part: float) -> str:
    """A part of one."""
    return f"{part:.1%}" if part < 0.1 else f"{part:.0%}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(row)} |"
