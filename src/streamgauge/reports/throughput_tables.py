"""Throughput as tables: where tuples pile up, what fills in which order, and which way is full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from streamgauge.drawing.wording import (
    format_estimate,
    format_limit,
    format_number,
    format_share,
)
from streamgauge.models.held_back import Holding
from streamgauge.reports.content import Column, FigureRow, Table, tabulate
from streamgauge.reports.report import list_figures

if TYPE_CHECKING:
    from streamgauge.models.throughput import Throughput

PER_SECOND = "tuples/s"
# What happens to tuples that somebody cannot take.
HELD = {
    Holding.BLOCKING: "Who sends to a full queue stands still, up to the sources.",
    Holding.WATER_MARKS: "A queue over its high mark stops all sources until it is below the low"
    " one.",
    Holding.OPEN_ROOTS: "Sources wait until tuples of theirs have been processed.",
    Holding.NOTHING: "Nobody is held back: queues grow until memory is full.",
}


def tabulate_throughput(throughput: Throughput) -> Iterator[Table]:
    """Where tuples pile up, if they do; what fills in which order; ways from sources to sinks."""
    if throughput.backlogs:
        yield _tabulate_backlogs(throughput)
    due = throughput.due_per_second
    yield tabulate(
        "In which order things fill as all rates grow alike",
        [
            {
                Column("what"): one.name,
                Column("full at", PER_SECOND): format_limit(one.per_second, unit=""),
                Column("times the load"): format_estimate(one.per_second / due),
            }
            for one in throughput.bottlenecks
        ],
        note="Each as if what fills before it were out of the way, executors with cores of their"
        " own; of an operator the executor that fills first.",
    )
    yield tabulate(
        "Ways from source to sink, by what fills first on them",
        [
            {
                Column("way", words=True): " → ".join(one.operators),
                Column("full at", PER_SECOND): format_limit(one.per_second, unit=""),
                Column("then full", words=True): one.by,
            }
            for one in throughput.paths
        ],
        page_only=True,
    )


def _tabulate_backlogs(throughput: Throughput) -> Table:
    sources = {one.name: one for one in throughput.backlogs if one.at_source}
    come = {one.name: one.arrived_per_second for one in throughput.executors} | {
        name: throughput.operators[name].wanted_per_second for name in sources
    }
    return tabulate(
        "Where tuples pile up",
        [
            {
                Column("where"): one.name,
                Column("waiting", words=True): "to be emitted" if one.at_source else "in its queue",
                Column("come", PER_SECOND): format_number(come[one.name]),
                Column("go on", PER_SECOND): format_number(come[one.name] - one.per_second),
                Column("pile up", PER_SECOND): format_number(one.per_second),
                Column("of what comes"): format_share(one.per_second / come[one.name]),
            }
            for one in throughput.backlogs
        ],
        note=HELD[throughput.holding],
    )


def list_throughput_figures(throughput: Throughput) -> Iterator[FigureRow]:
    """What is processed, what piles up where, and at which rates things fill."""
    rates = {
        "due": throughput.due_per_second,
        "processed": throughput.processed_per_second,
        "saturation_rate": throughput.saturation.per_second,
    }
    yield from list_figures("job", "", rates, unit="1/s")
    yield from list_figures("job", "", {"processed_part": throughput.processed_part})
    for backlog in throughput.backlogs:
        kind = "source" if backlog.at_source else "executor"
        grows = {"backlog_per_second": backlog.per_second}
        yield from list_figures(kind, backlog.name, grows, unit="1/s")
    for filling in throughput.bottlenecks:
        full = {"full_at": filling.per_second}
        yield from list_figures("filling", filling.name, full, unit="1/s")
