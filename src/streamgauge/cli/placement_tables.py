"""Placements for people and programs: the best first, what each costs, and how to apply it."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from streamgauge.cli.output import counted, print_document, print_table, printable, terminal_width
from streamgauge.cli.placements import EVEN, OWN, Placement, Placements
from streamgauge.cli.prediction_verdict import verdict_of as said_of
from streamgauge.cli.scaling_tables import PLAN_FILE, print_commands, print_lines, short, signed
from streamgauge.cli.seen import any_duration, any_share, mean_of, quantile_of
from streamgauge.drawing.quantities import estimate, number, share
from streamgauge.models.ranking import CRITERIA
from streamgauge.planning.scheduling.diagnostics import BY_CORES
from streamgauge.profile.files.jobs import PlanFile
from streamgauge.profile.job import Assignment
from streamgauge.reports.document import replace_non_finite as finite
from streamgauge.topology.topology import ACKER
from streamgauge.transport.engine import load_engine

P99 = 0.99
# What a scheduler that cannot says of why, at most.
REFUSAL_LINES = 3


def print_placements(placements: Placements, commands: list[str]) -> None:
    """The verdict, tables, and what to type."""
    for line in textwrap.wrap(verdict_of(placements), terminal_width()):
        print(printable(line))
    print()
    _plans(placements)
    _risks(placements)
    print_lines("Bounds", bounds_of(placements))
    refused = [refusal(name, why) for name, why in placements.refused.items()]
    print_lines("Cannot place it", tuple(refused))
    print_lines("To keep in mind", notes_of(placements))
    print_commands(commands)


def verdict_of(placements: Placements) -> str:
    """Which plan is best, and by how much, in a few sentences."""
    best = placements.chosen
    size = f"{counted(len(best.plan.workers), 'worker')} on {counted(len(best.plan.nodes), 'node')}"
    text = f"{best.name}: {size}, {_remote(placements, best)} between nodes"
    before, change = placements.before, placements.against(best)
    if change is not None and before is not None and before.name != best.name:
        text += f", {signed(change)} against {before.name}"
    if best.prediction is None:
        return f"{text}."
    if before is not None and before.name != best.name:
        text += f"; p99 {_change(before, best)}"
    return f"{text}. {said_of(best.prediction)}"


def _change(before: Placement, after: Placement) -> str:
    assert after.prediction is not None
    now = any_duration(quantile_of(after.prediction.latency, P99))
    if before.prediction is None:
        return now
    then = any_duration(quantile_of(before.prediction.latency, P99))
    return now if then == now else f"{then} → {now}"


def _remote(placements: Placements, one: Placement) -> str:
    if placements.asked.assumed:
        return f"{share(one.remote_share)} of the tuples"
    return f"{estimate(one.traffic.remote)} tuples/s ({share(one.remote_share)})"


def _plans(placements: Placements) -> None:
    before = f"against {placements.before.name}" if placements.before else "against"
    remote = "between nodes" if placements.asked.assumed else "between nodes /s"
    columns = ["scheduler", "workers", "nodes", remote, before, "busiest node"]
    if placements.chosen.prediction is not None:
        columns += ["mean", "p99"]
    rows = [list(_plan_row(placements, one)) for one in placements.found.values()]
    by = placements.by if placements.by in CRITERIA else "traffic between nodes"
    print_table(f"Placements, the best first by {by}", columns, rows)


def _plan_row(placements: Placements, one: Placement) -> Iterator[object]:
    yield one.name
    yield len(one.plan.workers)
    yield len(one.plan.nodes)
    rate = "" if placements.asked.assumed else f"{short(one.traffic.remote)}, "
    yield f"{rate}{share(one.remote_share)}"
    change = placements.against(one)
    yield None if change is None else signed(change)
    yield busiest_node(one)
    if placements.chosen.prediction is not None:
        found = one.prediction
        yield None if found is None else mean_of(found.latency)
        yield None if found is None else any_duration(quantile_of(found.latency, P99))


def busiest_node(one: Placement) -> str:
    """The node with most to do, and how much that is."""
    found = one.diagnostics
    load = found.busiest_load
    told = any_share(load) if found.load_by == BY_CORES else f"{number(load)} a core"
    return f"{found.busiest_node} {told}"


def _risks(placements: Placements) -> None:
    """Ackers, and what may go wrong: the columns that have anything to say."""
    columns = {
        name: [cell(one) for one in placements.found.values()] for name, cell in _RISKS.items()
    }
    told = {name: cells for name, cells in columns.items() if any(one is not None for one in cells)}
    if not told:
        return
    rows = [
        [name, *(cells[index] for cells in told.values())]
        for index, name in enumerate(placements.found)
    ]
    print_table("Ackers and risks", ["scheduler", *told], rows)


def _acker_only(one: Placement) -> str | None:
    found = one.diagnostics
    return f"{len(found.acker_only_workers)} of {found.workers}" if found.ackers else None


def _share(part: float | None) -> str | None:
    return None if part is None else share(part)


_RISKS: Mapping[str, Callable[[Placement], str | None]] = {
    "ackers": lambda one: str(one.diagnostics.ackers) if one.diagnostics.ackers else None,
    "workers of ackers only": _acker_only,
    "acks inside workers": lambda one: _share(one.diagnostics.acks_local),
    "between workers": lambda one: _share(one.diagnostics.acks_inter_worker),
    "between nodes": lambda one: _share(one.diagnostics.acks_remote),
    "hot nodes": lambda one: ", ".join(one.diagnostics.hot_nodes) or None,
    "heap too small": lambda one: ", ".join(one.diagnostics.heap_risks) or None,
}


def bounds_of(placements: Placements) -> tuple[str, ...]:
    """How far plans are from what was proven to be the least."""
    return tuple(
        f"{name} sends {short(one.even_remote)} tuples/s between nodes if every stream is dealt"
        f" evenly; no plan within its limits sends fewer than {short(one.schedule.least_remote)}"
        for name, one in placements.found.items()
        if one.schedule.least_remote is not None
    )


def notes_of(placements: Placements) -> tuple[str, ...]:
    """Warnings of the chosen plan, and what predictions rest on."""
    notes = list(placements.chosen.schedule.warnings)
    if risky := len(placements.chosen.diagnostics.heap_risks):
        notes.append(f"heap is too small in {counted(risky, 'worker')} for what executors declare")
    if placements.asked.assumed:
        notes.append("no rates are known: every stream is taken to carry as much")
    if placements.chosen.prediction is not None:
        notes += placements.chosen.prediction.notes
    if placements.chosen.name == OWN:
        notes.append(f"{OWN}: as the job's file has it")
    return tuple(dict.fromkeys(notes))


def refusal(name: str, why: str) -> str:
    """Who cannot and why, with the first executors left over; --json and the page have the rest."""
    return textwrap.shorten(f"{name}: {why}", REFUSAL_LINES * terminal_width(), placeholder=" …")


def commands_of(
    placements: Placements,
    file: str,
    options: Mapping[str, Sequence[str | None]],
    output: Path | None,
) -> list[str]:
    """What brings a running topology into the chosen plan.

    Args:
        placements: All plans.
        file: The job's.
        options: That the plans were made with, to be given again.
        output: Where the plan was written; it has yet to be where this is None.
    """
    chosen = placements.chosen
    plan = chosen.plan
    engine = load_engine(plan.logical.configuration.engine)
    if chosen.name == EVEN:
        # The engine's own scheduler does the same.
        spans = plan.logical.spans
        rebalance = engine.rebalance_command(
            plan.logical.topology.name,
            workers=plan.logical.configuration.workers,
            executors={name: len(spans[name]) for name in spans if name != ACKER},
        )
        return [shlex.join(rebalance)] if rebalance else []
    applying = engine.apply_command(str(output or PLAN_FILE))
    apply = [shlex.join(applying)] if applying else []
    if output is not None:
        return apply
    again = ["streamgauge", "plan", "place", file]
    again += [] if chosen.name == OWN else ["--scheduler", chosen.name]
    for name, values in options.items():
        again += [word for one in values if one is not None for word in (name, one)]
    return [shlex.join([*again, "-o", PLAN_FILE]), *apply]


def print_document_of(placements: Placements, commands: list[str]) -> None:
    """One document."""
    print_document(finite({"placement": dict(_document(placements, commands))}))


def _document(placements: Placements, commands: list[str]) -> Iterator[tuple[str, Any]]:
    chosen = placements.chosen
    yield "chosen", chosen.name
    yield "by", placements.by
    yield "verdict", verdict_of(placements)
    yield "before", None if placements.before is None else placements.before.name
    yield (
        "placements",
        [
            {
                "scheduler": name,
                "workers": len(one.plan.workers),
                "nodes": len(one.plan.nodes),
                "remote_per_second": None if placements.asked.assumed else one.traffic.remote,
                "remote_share": one.remote_share,
                "against_before": placements.against(one),
                "evenly_dealt_remote_per_second": one.even_remote,
                "least_remote_per_second": one.schedule.least_remote,
                "diagnostics": one.diagnostics.to_dict(),
                "prediction": None if one.prediction is None else one.prediction.to_dict(),
                "warnings": list(one.schedule.warnings),
            }
            for name, one in placements.found.items()
        ],
    )
    yield "refused", dict(placements.refused)
    yield "plan", PlanFile.of(Assignment.of(chosen.plan))
    yield "commands", commands
