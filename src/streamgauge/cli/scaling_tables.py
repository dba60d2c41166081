"""Scale-outs for people and programs: what it comes to, who gets how many, and the commands."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from streamgauge.cli.output import counted, print_table, printable, terminal_width
from streamgauge.cli.prediction_verdict import verdict_of as said_of
from streamgauge.cli.scalings import Growth, Growths
from streamgauge.cli.seen import changed
from streamgauge.drawing.quantities import estimate, number, plain_number, share
from streamgauge.planning.scaling.graph import Allocation
from streamgauge.planning.scaling.rates import ComponentRates
from streamgauge.planning.scaling.sweep import Bottleneck
from streamgauge.reports.document import replace_non_finite as finite
from streamgauge.transport.engine import load_engine

# More lines say no more at a glance; --json has them all.
MOST_REASONS = 12
MOST_ROWS = 20
PLAN_FILE = "plan.yaml"
# Beyond what rounding adds to declared times.
FULL = 1.0005


def print_growths(growths: Growths, written: str = "") -> None:
    """The verdict, tables, and what to type."""
    for text in (verdict_of(growths), on_cluster(growths)):
        for line in textwrap.wrap(text, terminal_width()):
            print(printable(line))
    print()
    if len(growths.found) + len(growths.refused) > 1:
        _planners(growths)
    _components(growths)
    if growths.sweep:
        _curves(growths)
    print_lines("Why", growths.chosen.scaling.reasons)
    print_lines("To keep in mind", growths.scaled.notes)
    print_commands(commands_of(growths, written))


def print_commands(commands: list[str]) -> None:
    """What applies a plan, to be copied."""
    if commands:
        print("To apply it")
        for command in commands:
            print(f"  {printable(command)}")


def print_lines(heading: str, lines: tuple[str, ...]) -> None:
    """Remarks below a heading, as many as one reads."""
    if not lines:
        return
    print(heading)
    for line in lines[:MOST_REASONS]:
        wrapped = textwrap.wrap(
            line, terminal_width() - 2, initial_indent="  ", subsequent_indent="    "
        )
        print(printable("\n".join(wrapped)))
    if len(lines) > MOST_REASONS:
        print(f"  and {len(lines) - MOST_REASONS} more; --json lists them all")
    print()


def verdict_of(growths: Growths) -> str:
    """What it comes to, in a few sentences."""
    chosen, before = growths.chosen, growths.before.throughput
    scaling = chosen.scaling
    if not scaling.allocation:
        said = f"Nothing is congested with {estimate(before)} tuples/s out: no unit is needed."
    else:
        who = gets(scaling.allocation)
        more = f", {signed(scaling.increase / before)}" if before > 0.0 else ""
        said = (
            f"{who}: throughput {estimate(before)} → {estimate(scaling.expected)} tuples/s{more}"
            f" ({scaling.scaler}, {_handed_out(growths, chosen)})."
        )
    return f"{said} {next_of(chosen)}"


def on_cluster(growths: Growths) -> str:
    """Whether the job's own machines carry it, in the words of a prediction; else nothing."""
    if growths.prediction is None:
        return ""
    verdict = said_of(growths.prediction)
    return f"Placed evenly on its own cluster: {verdict[0].lower()}{verdict[1:]}"


def gets(allocation: Allocation) -> str:
    """``work +3, out +1``."""
    return ", ".join(f"{name} +{units}" for name, units in allocation.items()) or "nobody"


def _handed_out(growths: Growths, growth: Growth) -> str:
    units, all_units = growth.scaling.units, growths.scaled.units
    return counted(units, "unit") if units == all_units else f"{units} of {all_units} units"


def next_of(growth: Growth) -> str:
    """What stands in the way after that."""
    after = growth.bottleneck
    if after is None:
        return "There is nothing but sources."
    if after.congested and after.utilisation > FULL:
        return f"Still congested: {after.component} gets {_times(after.utilisation)} it can do."
    return f"Full next: {after.component}, {share(after.utilisation)} busy."


def signed(part: float) -> str:
    """``+12.3 %``, ``−5.0 %``, ``±0 %``."""
    if abs(part) < 0.0005:
        return "±0 %"
    return f"{'+' if part > 0.0 else '−'}{share(abs(part))}"


def _times(load: float) -> str:
    return f"{number(load)} times what"


def _load(bottleneck: Bottleneck | None) -> str | None:
    if bottleneck is None:
        return None
    return f"{bottleneck.component}, {share(bottleneck.utilisation)}"


def _planners(growths: Growths) -> None:
    rows: list[list[object]] = []
    for name, one in growths.found.items():
        scaling = one.scaling
        bound = None if scaling.bound is None else estimate(scaling.bound)
        rows.append(
            [
                name,
                gets(scaling.allocation),
                estimate(scaling.expected),
                signed(scaling.increase / growths.before.throughput)
                if growths.before.throughput
                else None,
                bound,
                _load(one.bottleneck),
            ]
        )
    columns = ["planner", "who gets how many", "tuples/s", "more", "at most", "full next"]
    print_table("Planners, the best first", columns, rows)
    for name, why in growths.refused.items():
        print(printable(f"{name} proposes nothing that can be done: {why.splitlines()[0]}"))
    if growths.refused:
        print()


def _components(growths: Growths) -> None:
    rows = []
    graph, chosen = growths.scaled.graph, growths.chosen
    for one in graph.components:
        was, now = growths.before[one.name], chosen.rates[one.name]
        rows.append(
            [
                one.name,
                str(was.units) if was.units == now.units else f"{was.units} → {now.units}",
                None if one.source else changed(was.input, now.input, short),
                None if one.source else changed(was.capacity, now.capacity, short),
                None if one.source else state_of(was, now),
                changed(was.output, now.output, short),
            ]
        )
    kind = "executors" if growths.scaled.job is not None else "units"
    columns = ["component", kind, "gets /s", "can do /s", "busy", "emits /s"]
    print_table("Components, before → after; more than 100 % busy is congested", columns, rows)


def state_of(was: ComponentRates, now: ComponentRates) -> str:
    """How much of what it can do is asked of it, before and after."""
    return changed(busy(was), busy(now), share)


def short(per_second: float) -> str:
    """To three digits, large ones abbreviated: ``1.4M``."""
    return plain_number(float(f"{per_second:.3g}"))


def busy(rates: ComponentRates) -> float:
    """Input over capacity."""
    return rates.input / rates.capacity if rates.capacity > 0.0 else 0.0


def _curves(growths: Growths) -> None:
    title = "What fewer units would bring"
    if len(growths.found) == 1:
        shown = growths.sweep[:: _every(len(growths.sweep))]
        columns = ["units", "tuples/s", "who gets how many", "full next"]
        rows = [
            [row.units, estimate(row.throughput), gets(row.allocation), _load(row.bottleneck)]
            for row in dict.fromkeys((*shown, growths.sweep[-1]))
        ]
        print_table(title, columns, rows)
        return
    curves = {name: growths.curve(name) for name in growths.found}
    steps = range(growths.scaled.units + 1)
    some = dict.fromkeys((*steps[:: _every(len(steps))], steps[-1]))
    print_table(
        f"{title}, in tuples/s",
        ["units", *curves],
        [[step, *(estimate(curve[step]) for curve in curves.values())] for step in some],
    )


def _every(many: int) -> int:
    """Which of many rows are shown."""
    return -(-many // MOST_ROWS) or 1


def growth_document(growths: Growths, written: str = "") -> dict[str, Any]:
    """All of it, for programs."""
    found: dict[str, Any] = finite({"scaling": dict(_document(growths, written))})
    return found


def commands_of(growths: Growths, written: str = "") -> list[str]:
    """What a running topology is told; nothing where it stays as it is.

    Args:
        growths: What is proposed.
        written: The file that the job was written to: it is then placed by a scheduler of ours,
            and applying that changes executors too.
    """
    translation = growths.chosen.translation
    if translation is None or not translation.executors:
        return []
    if not written:
        return [translation.shell] if translation.command else []
    place = ("streamgauge", "plan", "place", written, "-o", PLAN_FILE)
    apply = load_engine(translation.configuration.engine).apply_command(PLAN_FILE)
    return [shlex.join(words) for words in (place, apply) if words]


def _document(growths: Growths, written: str) -> Iterator[tuple[str, Any]]:
    yield "chosen", growths.chosen.scaling.scaler
    yield "units", growths.scaled.units
    yield "verdict", verdict_of(growths)
    yield "on_cluster", on_cluster(growths) or None
    yield "before", growths.before.to_dict()
    yield (
        "planners",
        {
            name: {
                "allocation": dict(one.scaling.allocation),
                "throughput": one.scaling.throughput,
                "expected": one.scaling.expected,
                "bound": one.scaling.bound,
                "reasons": list(one.scaling.reasons),
                "bottleneck": None if one.bottleneck is None else asdict(one.bottleneck),
                "after": one.rates.to_dict(),
                "command": None if one.translation is None else one.translation.shell or None,
            }
            for name, one in growths.found.items()
        },
    )
    yield "prediction", None if growths.prediction is None else growths.prediction.to_dict()
    yield "refused", dict(growths.refused)
    yield "sweep", [row.to_dict() for row in growths.sweep]
    yield "notes", list(growths.scaled.notes)
    yield "commands", commands_of(growths, written)
