"""Planners: all schedulers and scalers on the same jobs, judged by the simulator.

Writes, besides its part of the report, the tables of docs/planners.md to build/planners.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import planners_page as pages
from benchmarks import planners_placing as placing
from benchmarks import planners_scaling as scaling
from benchmarks.planners_jobs import LEFT_OUT, example_case, example_names, random_case
from benchmarks.report import Entry, progress

PAGE = Path("build/planners.md")
RANDOM, FEW_RANDOM = range(100), range(6)
FEW_EXAMPLES = ("henge-diamond", "henge-star", "word-count-top-3-small")
REPEAT_EVERY, FEW_REPEAT_EVERY = 10, 4


def run(*, large: bool) -> list[Entry]:
    """The comparison of schedulers, and that of scalers."""
    seeds, every = (RANDOM, REPEAT_EVERY) if large else (FEW_RANDOM, FEW_REPEAT_EVERY)
    sections: list[pages.Section] = []
    entries = [
        _compare_schedulers(seeds, example_names() if large else FEW_EXAMPLES, every, sections),
        _compare_scalers(seeds, every, sections),
    ]
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(pages.page(sections), encoding="utf-8")
    return entries


def _compare_schedulers(
    seeds: Sequence[int], examples: Sequence[str], every: int, sections: list[pages.Section]
) -> Entry:
    """Random jobs, of which every so many-th is repeated with another seed, and the examples."""
    entry = Entry(
        "planners_placing",
        f"schedulers on {len(seeds)} random and {len(examples)} example jobs, over even",
    )
    entry.cases["left out"] = dict(LEFT_OUT)
    random_jobs = [
        figures
        for seed in progress(seeds, "jobs placed")
        for figures in placing.place_case(random_case(seed), again=seed % every == 0)
    ]
    example_jobs = [
        figures
        for name in progress(examples, "examples placed")
        for figures in placing.place_case(example_case(name), again=False)
    ]
    for near, shuffle in ((False, "nearness off"), (True, "nearness on")):
        here = [figures for figures in random_jobs if figures.near is near]
        _summarise_random_jobs(entry, here, shuffle, sections)
        shown = {figures.name: asdict(figures) for figures in example_jobs if figures.near is near}
        entry.cases[f"examples, {shuffle}"] = shown
        columns = pages.example_columns(example_jobs[0].plans)
        title = f"Examples, {shuffle}: mean latency, tuples between nodes"
        sections.append((title, pages.table("example", shown, columns)))
        entry.cases.update({f"{figures.name}, {shuffle}": asdict(figures) for figures in here})
    return entry


def _summarise_random_jobs(
    entry: Entry, jobs: Sequence[placing.CaseFigures], shuffle: str, sections: list[pages.Section]
) -> None:
    """All random jobs, light and heavy ones, acked ones; and what noise there is."""
    acked = [one for one in jobs if not math.isnan(one.plans[placing.EVEN].acked_ms)]
    groups = (
        ("random jobs", jobs, pages.PLACING),
        ("light random jobs", [one for one in jobs if one.light], pages.PLACING),
        ("heavy random jobs", [one for one in jobs if not one.light], pages.PLACING),
        ("acked random jobs", acked, pages.ACKED),
    )
    for group, members, columns in groups:
        if members:
            summary = placing.summarise(members)
            entry.cases[f"summary of {group}, {shuffle}"] = summary
            title = f"{len(members)} {group}, {shuffle}"
            sections.append((title, pages.table("scheduler", summary, columns)))
    noise = entry.cases[f"noise, {shuffle}"] = placing.find_noise(jobs)
    text = f"{noise['cases']} jobs repeated: " + ", ".join(
        f"{figure} {pages.spread(noise[figure], digits=3)}" for figure in placing.NOISY
    )
    sections.append((f"What ratios to even move by with another seed, {shuffle}", [text]))
    for name, row in entry.cases[f"summary of random jobs, {shuffle}"].items():
        label = f"median mean latency of {name} over even's, {shuffle}"
        entry.ratios[label] = row["ratios"]["mean_ms"][1]


def _compare_scalers(seeds: Sequence[int], every: int, sections: list[pages.Section]) -> Entry:
    """Random and published graphs, of which every so many-th is repeated with another seed."""
    entry = Entry(
        "planners_scaling",
        f"scalers on {len(seeds)} random and {len(scaling.PUBLISHED)} published graphs, simulated",
    )
    groups = {
        "random graphs": [
            scaling.scale_graph(
                f"random {seed}", scaling.random_graph(seed), again=seed % every == 0
            )
            for seed in progress(seeds, "random graphs scaled")
        ],
        "published graphs": [
            scaling.scale_graph(name, scaling.published_graph(name), again=index % every == 0)
            for index, name in progress([*enumerate(scaling.PUBLISHED)], "graphs scaled")
        ],
    }
    for group, graphs in groups.items():
        for budget in scaling.BUDGETS:
            title = f"{group}, {budget} units"
            summary = entry.cases[f"summary of {title}"] = scaling.summarise(graphs, budget)
            sections.append(
                (f"{len(graphs)} {title}", pages.table("scaler", summary, pages.SCALING))
            )
            for name, row in summary.items():
                label = f"median increase of {name} over that of exact, {title}"
                entry.ratios[label] = row["queues"]["realised over exact"][1]
    every_graph = [graph for graphs in groups.values() for graph in graphs]
    noise = entry.cases["noise"] = scaling.find_noise(every_graph)
    text = f"{noise['throughputs']} throughputs repeated: {pages.spread(noise['moved'], digits=4)}"
    sections.append(("What throughputs move by with another seed", [text]))
    entry.cases.update({graph.name: asdict(graph) for graph in every_graph})
    return entry
