"""Planners: all schedulers and scalers on the same jobs, judged by the simulator.

Writes, besides its part of the report, the tables of docs/planners.md to build/planners.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import planners_page as pages
from benchmarks import planners_placing as placing
from benchmarks import planners_scaling as scaling
from benchmarks.planners_jobs import EXAMPLES, LEFT_OUT, example_case, random_case
from benchmarks.report import Entry

PAGE = Path("build/planners.md")
RANDOM, FEW_RANDOM = 100, 6
FEW_EXAMPLES = ("henge-diamond", "henge-star", "word-count-top-3-small")
REPEAT_EVERY, FEW_REPEAT_EVERY = 10, 4
SHUFFLES = {False: "nearness off", True: "nearness on"}


def run(*, large: bool) -> list[Entry]:
    """The comparison of schedulers, and that of scalers."""
    placed, sections = _placing(large=large)
    scaled, more = _scaling(large=large)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(pages.page([*sections, *more]), encoding="utf-8")
    return [replace(one, cases=_written(one.cases)) for one in (placed, scaled)]


def _written(value: Any) -> Any:
    """The same without what JSON has no numbers for: infinite and missing figures are null."""
    if isinstance(value, Mapping):
        return {key: _written(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_written(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _placing(*, large: bool) -> tuple[Entry, list[Any]]:
    number, every = (RANDOM, REPEAT_EVERY) if large else (FEW_RANDOM, FEW_REPEAT_EVERY)
    names = EXAMPLES if large else FEW_EXAMPLES
    found = list(
        placing.place_cases(
            ((random_case(seed), True) for seed in range(number)),
            total=number,
            repeat_every=every,
        )
    )
    examples = list(
        placing.place_cases(
            ((example_case(name), False) for name in names), total=len(names), repeat_every=every
        )
    )
    sections: list[Any] = []
    ratios: dict[str, float] = {}
    cases: dict[str, dict[str, Any]] = {"left out": dict(LEFT_OUT)}
    for near, called in SHUFFLES.items():
        here = [one for one in found if one.near is near]
        sections += _random_sections(here, called, cases, ratios)
        shown = {one.name: one.to_dict() for one in examples if one.near is near}
        cases[f"examples, {called}"] = shown
        table = pages.example_table(shown, list(examples[0].plans))
        sections.append((f"Examples, {called}: mean latency, tuples between nodes", table))
        cases |= {f"{one.name}, {called}": one.to_dict() for one in here}
    return (
        Entry(
            name="planners_placing",
            about=f"schedulers on {number} random and {len(names)} example jobs, over even",
            cases=cases,
            ratios=ratios,
        ),
        sections,
    )


def _random_sections(
    found: Sequence[placing.CaseFigures],
    called: str,
    cases: dict[str, dict[str, Any]],
    ratios: dict[str, float],
) -> list[Any]:
    """All random jobs, light and heavy ones, acked ones; and what noise there is."""
    groups = {
        "random jobs": found,
        "light random jobs": [one for one in found if one.light],
        "heavy random jobs": [one for one in found if not one.light],
    }
    acked = [one for one in found if not math.isnan(one.plans[placing.EVEN].acked_ms)]
    sections: list[Any] = []
    for group, some in groups.items():
        if not some:
            continue
        summary = cases[f"summary of {group}, {called}"] = placing.summary(some)
        sections.append((f"{len(some)} {group}, {called}", pages.placing_table(summary)))
    if acked:
        summary = cases[f"summary of acked random jobs, {called}"] = placing.summary(acked)
        sections.append((f"{len(acked)} acked random jobs, {called}", pages.acked_table(summary)))
    noise = cases[f"noise, {called}"] = placing.floor(found)
    text = f"{noise['cases']} jobs repeated: " + ", ".join(
        f"{figure} {pages.spread(noise[figure], digits=3)}"
        for figure in ("mean_ms", "p99_ms", "acked_ms")
    )
    sections.append((f"What ratios to even move by with another seed, {called}", [text]))
    whole = cases[f"summary of random jobs, {called}"]
    ratios |= {
        f"median mean latency of {name} over even's, {called}": one["ratios"]["mean_ms"][1]
        for name, one in whole.items()
    }
    return sections


def _scaling(*, large: bool) -> tuple[Entry, list[Any]]:
    number, every = (RANDOM, REPEAT_EVERY) if large else (FEW_RANDOM, FEW_REPEAT_EVERY)
    published = list(
        scaling.scale_graphs(
            ((name, scaling.published_graph(name)) for name in scaling.PUBLISHED),
            total=len(scaling.PUBLISHED),
            repeat_every=every,
        )
    )
    found = list(
        scaling.scale_graphs(
            ((f"random {seed}", scaling.random_graph(seed)) for seed in range(number)),
            total=number,
            repeat_every=every,
        )
    )
    sections: list[Any] = []
    cases: dict[str, dict[str, Any]] = {}
    ratios: dict[str, float] = {}
    for title, graphs in (("random graphs", found), ("published graphs", published)):
        for budget in scaling.BUDGETS:
            called = f"{title}, {budget} units"
            summary = cases[f"summary of {called}"] = scaling.summary(graphs, budget)
            sections.append((f"{len(graphs)} {called}", pages.scaling_table(summary)))
            ratios |= {
                f"median increase of {name} over that of exact, {called}": one["queues"][
                    "realised over exact"
                ][1]
                for name, one in summary.items()
            }
    noise = cases["noise"] = scaling.floor([*published, *found])
    text = f"{noise['throughputs']} throughputs repeated: {pages.spread(noise['moved'], digits=4)}"
    sections.append(("What throughputs move by with another seed", [text]))
    cases |= {one.name: scaling.to_dict(one) for one in (*published, *found)}
    entry = Entry(
        name="planners_scaling",
        about=f"scalers on {number} random and {len(published)} published graphs, simulated",
        cases=cases,
        ratios=ratios,
    )
    return entry, sections
