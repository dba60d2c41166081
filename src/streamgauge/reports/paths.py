"""Paths of tuples through a plan: how many there are, and how often they cross nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from streamgauge.drawing.wording import count, format_duration, format_number
from streamgauge.models.latency_by_path import PathLatencies
from streamgauge.reports.content import (
    Column,
    FigureRow,
    Grade,
    Row,
    Section,
    Table,
    Verdict,
    tabulate,
)
from streamgauge.reports.placement import PlacementReport
from streamgauge.reports.report import Report, list_figures
from streamgauge.topology.paths import (
    Path,
    count_paths,
    iter_logical_paths,
    iter_paths,
    longest_paths,
    sum_along,
    sum_paths,
)
from streamgauge.topology.physical_plan import ConnectionType
from streamgauge.topology.topology import Stream
from streamgauge.topology.tuple_flow import CONNECTION_TYPES, ConnectionBlock, Matrix, TupleFlow

REMOTE = CONNECTION_TYPES.index(ConnectionType.REMOTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePaths:
    """The paths from one source, and how many connections between nodes they have.

    The mean is over paths, each weighted by its routing shares.
    """

    source: str
    paths: int
    mean_crossings: float
    most_crossings: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PathsReport(Report):
    """All ways of a tuple through a plan.

    Attributes:
        to_acker: Whether paths go on from sinks to ackers.
        listed: How many single paths to list, executor by executor.
        source: List only those from this source.
        sink: List only those to this sink.
        latencies: How long tuples take along them, where that was predicted.
    """

    placement: PlacementReport
    to_acker: bool = False
    listed: int = 0
    source: str | None = None
    sink: str | None = None
    latencies: PathLatencies | None = None

    @property
    def warnings(self) -> Sequence[str]:
        """What the scheduler warns of."""
        return self.placement.warnings

    @property
    def title(self) -> str:
        """The job's name."""
        return f"{self.placement.title}, paths"

    @property
    def verdict(self) -> Verdict:
        """How many paths there are."""
        sources = self.by_source()
        total = sum(source.paths for source in sources)
        end = "an acker" if self.to_acker else "a sink"
        kinds = count(len(list(self._logical_paths())), "sequence")
        return Verdict(
            grade=Grade.FINE,
            word=f"{total:,} paths",
            sentence=f" from a source to {end}, along {kinds} of operators.",
        )

    def sections(self) -> Sequence[Section]:
        """Paths by source, by the operators they pass, and one by one."""
        tables = [self._source_table(), self._logical_table(), self._single_table()]
        latencies = [] if self.latencies is None else build_latency_tables(self.latencies)
        return [
            Section("paths", "Paths", tables),
            Section("latency", "Latency by path", latencies),
        ]

    def document(self) -> Mapping[str, Any]:
        """Paths by source and by operators; single ones where they are listed."""
        return {
            "paths": {
                "sources": list(map(asdict, self.by_source())),
                "logical": [
                    {
                        "operators": _list_operators(streams),
                        "streams": [stream.name for stream in streams],
                        "paths": self._count_physical(streams),
                    }
                    for streams in self._logical_paths()
                ],
                "listed": [
                    {
                        "executors": path.describe(self.placement.flow).split(" → "),
                        "connections": [str(connection.type) for connection in path.connections],
                    }
                    for path in self._single_paths()
                ],
                "latency": None if self.latencies is None else self.latencies.to_dict(),
            }
        }

    def figures(self) -> Iterator[FigureRow]:
        """Paths and crossings by source."""
        for row in self.by_source():
            yield from list_figures("source", row.source, row)

    def by_source(self) -> list[SourcePaths]:
        """The paths from each source, in declared order.

        Raises:
            CyclicTopology: There are infinitely many.
        """
        flow = self._flow
        logical = flow.plan.logical
        counts = count_paths(flow, to_acker=self.to_acker)
        sums = sum_paths(flow, lengths=_count_crossings, to_acker=self.to_acker)
        longest = longest_paths(flow, lengths=_count_crossings, to_acker=self.to_acker)
        sources = []
        for source in (operator.name for operator in logical.topology.sources):
            span = np.asarray(logical.spans[source], dtype=np.intp)
            weight, length = float(sums.weight[span].sum()), float(sums.weighted_length[span].sum())
            sources.append(
                SourcePaths(
                    source=source,
                    paths=sum(paths for start, paths in counts.items() if start.operator == source),
                    mean_crossings=length / weight if weight > 0.0 else 0.0,
                    most_crossings=max(float(longest[span].max()), 0.0),
                )
            )
        return sources

    @property
    def _flow(self) -> TupleFlow:
        return self.placement.flow

    def _logical_paths(self) -> Iterator[tuple[Stream, ...]]:
        return iter_logical_paths(self._flow.plan.logical.topology, to_acker=self.to_acker)

    def _single_paths(self) -> Iterator[Path]:
        paths = iter_paths(self._flow, source=self.source, sink=self.sink, to_acker=self.to_acker)
        return islice(paths, self.listed)

    def _count_physical(self, streams: tuple[Stream, ...]) -> int:
        """Paths of executors along one sequence of streams."""
        return int(sum_along(self._flow, streams).count.sum())

    def _source_table(self) -> Table:
        return tabulate(
            "Paths by source",
            [
                {
                    Column("source"): row.source,
                    Column("paths"): f"{row.paths:,}",
                    Column("connections between nodes, mean"): format_number(row.mean_crossings),
                    Column("most"): f"{row.most_crossings:g}",
                }
                for row in self.by_source()
            ],
            note="The mean counts a path by the part of the tuples that routing sends along it.",
        )

    def _logical_table(self) -> Table:
        rows: list[Row] = [
            {
                Column("operators"): " → ".join(_list_operators(streams)),
                Column("paths"): f"{self._count_physical(streams):,}",
            }
            for streams in self._logical_paths()
        ]
        return tabulate("Paths by the operators they pass", rows)

    def _single_table(self) -> Table:
        rows: list[Row] = [
            {
                Column("executors"): path.describe(self._flow),
                Column("connections", words=True): ", ".join(
                    str(connection.type) for connection in path.connections
                ),
            }
            for path in self._single_paths()
        ]
        return tabulate("Single paths", rows)


def build_latency_tables(latencies: PathLatencies) -> list[Table]:
    """Latency over a source's paths, and along each sequence of operators."""
    return [
        tabulate(
            "Latency by source, over paths",
            [
                {
                    Column("source"): name,
                    Column("paths"): f"{row.paths:,}",
                    Column("mean"): _show_seconds(row.mean),
                    Column("90 % of paths"): _show_seconds(row.p90),
                    Column("longest path"): _show_seconds(row.longest),
                    Column("longest to an acker"): _show_seconds(row.complete),
                }
                for name, row in latencies.by_source.items()
            ],
            note="A path takes the mean times of its elements together. Paths count by the part of"
            " the tuples that routing sends along them.",
        ),
        tabulate(
            "Latency by the operators on the path",
            [
                {
                    Column("operators"): " → ".join(row.operators),
                    Column("paths"): f"{row.paths:,}",
                    Column("mean"): _show_seconds(row.mean),
                    Column("longest path"): _show_seconds(row.longest),
                }
                for row in latencies.logical
            ],
        ),
    ]


def _show_seconds(seconds: float | None) -> str | None:
    return None if seconds is None else format_duration(seconds)


def _count_crossings(block: ConnectionBlock) -> Matrix:
    return np.asarray(block.types == REMOTE, dtype=np.float64)


def _list_operators(streams: Sequence[Stream]) -> list[str]:
    return [streams[0].source, *(stream.target for stream in streams)]
