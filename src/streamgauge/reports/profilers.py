"""What profilers found: rounds until nothing is short, and limits of routers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.charts import Series, draw_line_chart
from streamgauge.drawing.wording import count, format_rate, format_share, list_names
from streamgauge.planning.packing.files.catalogue_file import catalogue_to_data
from streamgauge.planning.packing.job_profiling import Grown
from streamgauge.profile.files.jobs import save
from streamgauge.reports.content import (
    Chart,
    Column,
    FigureRow,
    Grade,
    Row,
    Section,
    Table,
    Term,
    Text,
    Verdict,
    tabulate,
)
from streamgauge.reports.report import Report, list_figures

if TYPE_CHECKING:
    from streamgauge.planning.packing.catalogue import Catalogue
    from streamgauge.planning.packing.job_profiling import JobProfiling, ProfilingRule, Round
    from streamgauge.planning.packing.router_limit import RouterLimit

MEBIBYTE = 2**20
# Lines of a chart that can be told apart.
MOST_LINES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcesReport(Report):
    """What instances need.

    Attributes:
        name: The job's.
        per_second: Tuples that all sources emit, one instance's worth of each.
    """

    name: str
    profiling: JobProfiling
    rule: ProfilingRule
    per_second: float

    @property
    def title(self) -> str:
        """The job's name."""
        return f"{self.name}: what its instances need"

    @property
    def about(self) -> str:
        """The load, and how long a round was."""
        rounds = count(len(self.profiling.rounds), "round")
        return (
            f"{self.name} at {format_rate(self.per_second)} tuples/s, one executor's worth of each"
            f" source, {rounds} of {self.rule.seconds:g} simulated seconds"
        )

    @property
    def verdict(self) -> Verdict:
        """Whether the rounds ended because nothing is short."""
        last = self.profiling.last
        several = [
            f"{name} × {one.instances}"
            for name, one in last.allotments.items()
            if one.instances > 1
        ]
        if self.profiling.is_settled:
            needs = f"; {list_names(several)}" if several else "; one instance of each is enough"
            return Verdict(
                grade=Grade.FINE,
                word="Settled",
                sentence=f" after {count(len(self.profiling.rounds), 'round')}{needs}.",
            )
        short = [name for name, one in last.readings.items() if one.short_of(self.rule.threshold)]
        return Verdict(
            grade=Grade.WARNING,
            word="Not settled",
            sentence=f" after {count(len(self.profiling.rounds), 'round')}: {list_names(short)}"
            f" use more than {format_share(self.rule.threshold)} of what they have. Allow more"
            " --rounds.",
        )

    def sections(self) -> Sequence[Section]:
        """The last round, and how it came about."""
        return [
            Section("needs", "What an instance needs", [self._tabulate_last()]),
            Section("rounds", "Round by round", [self._draw(), self._tabulate_rounds()]),
            Section(
                "notes",
                "What to keep in mind",
                [
                    Text(
                        [
                            "Memory is what is declared for an operator, or the engine's default:"
                            " it is not simulated.",
                            "An instance is one thread, and uses no more than one core.",
                        ]
                    )
                ],
            ),
        ]

    def document(self) -> Mapping[str, Any]:
        """All rounds."""
        return {
            "resources": {
                "verdict": str(self.verdict),
                "settled": self.profiling.is_settled,
                "threshold": self.rule.threshold,
                "rate": self.per_second,
                "rounds": [_document_round(one) for one in self.profiling.rounds],
            }
        }

    def figures(self) -> Iterator[FigureRow]:
        """Of each operator in the last round."""
        last = self.profiling.last
        for name, has in last.allotments.items():
            reading = last.readings[name]
            record = {
                "instances": has.instances,
                "cores": has.amounts[Grown.CORES],
                "memory_bytes": has.amounts[Grown.MEMORY],
                "used_cores_part": reading.used[Grown.CORES],
                "used_memory_part": reading.used[Grown.MEMORY],
                "per_second": reading.per_second,
            }
            yield from list_figures("operator", name, record)

    def _tabulate_last(self) -> Table:
        last = self.profiling.last
        rows: list[Row] = [
            {
                Column("operator"): name,
                Column("instances"): has.instances,
                Column("cores", "each"): f"{has.amounts[Grown.CORES]:g}",
                Column("memory", "MiB each"): f"{has.amounts[Grown.MEMORY] / MEBIBYTE:g}",
                Column("busy"): format_share(last.readings[name].used[Grown.CORES]),
                Column("memory in use"): format_share(last.readings[name].used[Grown.MEMORY]),
                Column("processes", "tuples/s each"): format_rate(last.readings[name].per_second),
            }
            for name, has in last.allotments.items()
        ]
        return tabulate("The last round", rows)

    def _tabulate_rounds(self) -> Table:
        rows: list[Row] = []
        for number, one in enumerate(self.profiling.rounds, start=1):
            row: dict[Column, Any] = {Column("round"): number}
            for name, has in one.allotments.items():
                used = format_share(one.readings[name].used[Grown.CORES])
                cores = has.amounts[Grown.CORES]
                row[Column(name)] = f"{has.instances} × {cores:g} cores, {used}"
            rows.append(row)
        return tabulate("Instances × cores, and how busy", rows)

    def _draw(self) -> Chart:
        names = list(self.profiling.last.allotments)[:MOST_LINES]
        lines = [
            Series(
                name=name,
                values=[
                    100.0 * one.readings[name].used[Grown.CORES] for one in self.profiling.rounds
                ],
            )
            for name in names
        ]
        draw = partial(
            draw_line_chart,
            [float(number) for number in range(1, len(self.profiling.rounds) + 1)],
            lines,
            title="busy, per cent of an instance's time",
            x_title="round",
        )
        return Chart(title="How busy instances are", draw=draw)


def _document_round(one: Round) -> dict[str, Any]:
    return {
        name: {
            "instances": has.instances,
            "cores": has.amounts[Grown.CORES],
            "memory_bytes": has.amounts[Grown.MEMORY],
            "saturated": has.is_saturated,
            "used": {grown.value: part for grown, part in one.readings[name].used.items()},
            "per_second": one.readings[name].per_second,
        }
        for name, has in one.allotments.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterReport(Report):
    """What routers carry.

    Attributes:
        catalogue: With the limits stored.
        limits: Of types that were measured, and how they were found.
        tuple_us: Microseconds that the router of each takes for a tuple.
    """

    catalogue: Catalogue
    limits: Mapping[str, RouterLimit]
    tuple_us: Mapping[str, float]

    @property
    def title(self) -> str:
        """The catalogue's name."""
        return f"{self.catalogue.name}: what a container's router carries"

    @property
    def verdict(self) -> Verdict:
        """How many types were measured."""
        if not self.limits:
            sentence = ": every type has a limit already; --again measures all of them anew."
            return Verdict(grade=Grade.FINE, word="Nothing to measure", sentence=sentence)
        return Verdict(
            grade=Grade.FINE,
            word="Measured",
            sentence=f" {count(len(self.limits), 'machine type')}; limits are loads: tuples into"
            " and out of all instances.",
        )

    def sections(self) -> Sequence[Section]:
        """A row for each type."""
        rows: list[Row] = []
        for machine in self.catalogue.machines:
            limit = self.limits.get(machine.name)
            stored = machine.router_per_second
            rows.append(
                {
                    Column("machine type"): machine.name,
                    Column("router", "µs a tuple"): None
                    if limit is None
                    else f"{self.tuple_us[machine.name]:g}",
                    Column("limit", "tuples/s in and out"): None
                    if stored is None
                    else format_rate(stored),
                    Column("pairs tried", words=True): "known before"
                    if limit is None
                    else ", ".join(map(str, limit.probes)),
                }
            )
        return [Section("limits", "Limits", [tabulate("By machine type", rows)])]

    @property
    def headline(self) -> Sequence[Term]:
        """The least and the most."""
        known = [
            one.router_per_second
            for one in self.catalogue.machines
            if one.router_per_second is not None
        ]
        if not known:
            return ()
        return [
            Term("least", f"{format_rate(min(known))} tuples/s"),
            Term("most", f"{format_rate(max(known))} tuples/s"),
        ]

    def document(self) -> Mapping[str, Any]:
        """Limits, and the catalogue with them."""
        return {
            "routers": {
                "measured": {
                    name: {
                        "load_per_second": limit.load_per_second,
                        "pairs": limit.pairs,
                        "probes": list(limit.probes),
                        "open": limit.is_open,
                        "tuple_us": self.tuple_us[name],
                    }
                    for name, limit in self.limits.items()
                },
                "catalogue": catalogue_to_data(self.catalogue),
            }
        }

    def figures(self) -> Iterator[FigureRow]:
        """The limit of each type that was measured."""
        for name, limit in self.limits.items():
            record = {"load_per_second": limit.load_per_second, "pairs": limit.pairs}
            yield from list_figures("machine type", name, record)

    def save_catalogue(self, path: str | Path) -> None:
        """Write the catalogue with the limits."""
        save(catalogue_to_data(self.catalogue), Path(path))
