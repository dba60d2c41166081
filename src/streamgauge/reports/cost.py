"""What a plan moves and takes by the cost models: bytes, distances, CPU by phase, management."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamgauge.drawing.wording import (
    count,
    format_bytes_rate,
    format_duration,
    format_estimate,
    format_limit,
    format_number,
    format_rate,
    format_share,
)
from streamgauge.models.byte_flow import ByteFlow
from streamgauge.models.cost_job import CostJob
from streamgauge.models.plan_costs import LIMITS, PHASES, PlanCosts, correlate_ranks
from streamgauge.models.slot_flow import Fractions
from streamgauge.reports.bytes import list_byte_figures, show_bytes
from streamgauge.reports.content import (
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
from streamgauge.reports.report import Report, describe_size, list_figures
from streamgauge.topology.physical_plan import PhysicalPlan

OWN = "the job's plan"
# What is full, in the words of a table, by `LIMITS`.
FULL = dict(zip(LIMITS, ("an executor", "a node's cores", "a network card"), strict=True))
# Fewer measured configurations say nothing of a rank correlation.
FEWEST_RANKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CostedConfiguration:
    """One plan among those that were costed.

    Attributes:
        name: ``<2,4,4,2>``, or the job's own plan.
        place: In the arrays of `costs`.
        measured_seconds: Its latency, where somebody measured it.
    """

    name: str
    costs: PlanCosts
    place: int
    measured_seconds: float | None = None

    def at(self, values: Any) -> float:
        """The figure of this plan among those of all."""
        return float(values[self.place])

    def fractions(self, values: Fractions) -> tuple[float, float, float]:
        """Local, node, remote."""
        return self.at(values.local), self.at(values.node), self.at(values.remote)

    @property
    def is_unstable(self) -> bool:
        """Whether more threads than cores are on a node."""
        return bool(self.costs.unstable[self.place])


@dataclass(frozen=True, slots=True, kw_only=True)
class CostReport(Report):
    """The costs of a job's plan, and of configurations beside it.

    Attributes:
        job: What the cost models know of it.
        flow: Bytes of its plan, as predictions count them.
        own: Its plan.
        others: Configurations that were asked for.
        per_second: Tuples that all sources emit.
    """

    plan: PhysicalPlan
    job: CostJob
    flow: ByteFlow
    own: CostedConfiguration
    others: tuple[CostedConfiguration, ...] = ()
    per_second: float
    origin: str = ""
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The job's name."""
        return f"{self.plan.logical.topology.name}, costs"

    @property
    def about(self) -> str:
        """Plan and load in one line."""
        name = self.plan.logical.topology.name
        load = f"{format_number(self.per_second)} tuples/s"
        return f"{name}: {describe_size(self.plan)}, {load}, by the cost models ({self.origin})"

    @property
    def verdict(self) -> Verdict:
        """Whether what is counted fits, and what is full first."""
        own = self.own
        factor = own.at(own.costs.factor)
        limit = format_limit(factor * self.per_second)
        full = FULL[LIMITS[int(own.at(own.costs.full))]]
        if math.isinf(factor):
            return Verdict(
                grade=Grade.FINE, word="Fits", sentence=", as nothing that is counted limits it."
            )
        cautions = []
        if own.is_unstable:
            cautions.append(
                f"{count(int(own.at(own.costs.threads)), 'executor')} share the cores of a node,"
                " which are fewer: latency is then erratic, and these costs say nothing of it."
            )
        if factor < 1.0:
            return Verdict(
                grade=Grade.BAD,
                word="Overloaded",
                sentence=f": at most {limit} would fit, {format_share(factor)} of the load; then"
                f" {full} is full.",
                cautions=tuple(cautions),
            )
        return Verdict(
            grade=Grade.WARNING if cautions else Grade.FINE,
            word="Fits",
            sentence=f". Up to {limit} would, {format_estimate(factor)} times the load; then"
            f" {full} is full.",
            cautions=tuple(cautions),
        )

    @property
    def headline(self) -> Sequence[Term]:
        """Bytes emitted and between nodes, cores, bandwidth of everything."""
        own = self.own
        remote = self.flow.total("remote_bytes_per_second", system=False)
        acks = self.flow.total("remote_bytes_per_second") - remote
        beside = own.at(own.costs.external_bytes) + own.at(own.costs.management_bytes)
        known = self.flow.is_known
        return [
            Term("emitted", format_bytes_rate(self.flow.emitted()) if known else "not known"),
            Term("between nodes", format_bytes_rate(remote) if known else "not known"),
            Term("CPU", f"{format_number(own.at(own.costs.cores))} cores"),
            Term("with sources and management", format_bytes_rate(remote + beside)),
            *([Term("acknowledgements beside that", format_bytes_rate(acks))] if acks else []),
        ]

    def sections(self) -> Sequence[Section]:
        """Bytes, distances, CPU, configurations, management."""
        return [
            Section("bytes", "Bytes", show_bytes(self.flow)),
            Section("distances", "How far tuples go", [self._tabulate_distances()]),
            Section("cpu", "CPU by phase", [self._tabulate_phases()]),
            Section("configurations", "Configurations", self._show_configurations()),
            Section("measured", "Measured latency", [Text(list(self._say_correlation()))]),
            Section("management", "Management", [Text(self._say_management())]),
            Section("notes", "Notes", [Text(list(self.notes))]),
        ]

    def _tabulate_distances(self) -> Table:
        own = self.own
        rows = []
        for place, edge in enumerate(self.job.edges):
            parts = [float(one[own.place, place]) for one in own.costs.edges]
            name = f"{edge.type} → {self.job.operators[edge.target]}"
            rows.append(_show_fractions(name, parts))
        rows.append(_show_fractions("all, by tuples", own.fractions(own.costs.tuples)))
        rows.append(_show_fractions("all, by pairs of executors", own.fractions(own.costs.pairs)))
        return tabulate(
            "Distances",
            rows,
            note="By pairs: as if every pair of executors exchanged as many tuples (Bedini et al."
            " 2013).",
        )

    def _tabulate_phases(self) -> Table:
        own = self.own
        rows: list[Row] = []
        for place, name in enumerate(self.job.operators):
            spent = own.costs.cpu[own.place, place]
            rows.append(
                {
                    Column("operator"): name,
                    **{
                        Column(str(phase), "cores"): format_number(float(cores))
                        for phase, cores in zip(PHASES, spent, strict=True)
                    },
                    Column("all", "cores"): format_number(float(spent.sum())),
                    Column("executors"): int(own.costs.executors[own.place, place]),
                    Column("at least"): int(own.costs.fewest[own.place, place]),
                }
            )
        return tabulate(
            "CPU by phase",
            rows,
            note="A baseline: predict counts the engine's own threads, polling and shared cores"
            f" too. Moving tuples takes {format_number(own.at(own.costs.transport))} cores beside"
            " this. Work of a measured operator has its serialising in it.",
        )

    def _show_configurations(self) -> list[Table]:
        if not self.others:
            return []
        table = tabulate(
            "Configurations",
            [self._describe(one) for one in (self.own, *self.others)],
            note="<nodes, executors of each operator, workers a node>, dealt in turn. In worker, on"
            " node, remote: parts of the tuples. Floor: the lowest latency, without any waiting."
            " Crowded: more threads than cores on a node.",
        )
        return [table]

    def _describe(self, one: CostedConfiguration) -> Row:
        costs = one.costs
        local, node, remote = one.fractions(costs.tuples)
        factor = one.at(costs.factor)
        measured = one.measured_seconds
        return {
            Column("configuration"): one.name,
            Column("workers", page_only=True): int(one.at(costs.active_workers)),
            Column("in worker"): format_share(local),
            Column("on node"): format_share(node),
            Column("remote"): format_share(remote),
            Column("CPU", "cores"): format_number(one.at(costs.cores)),
            Column("bandwidth", page_only=True): format_bytes_rate(one.at(costs.bandwidth)),
            Column("busiest card"): format_bytes_rate(one.at(costs.network_bytes)),
            Column("floor"): format_duration(one.at(costs.floor_seconds)),
            Column("measured"): None if measured is None else format_duration(measured),
            Column("up to", "/s"): "no limit"
            if math.isinf(factor)
            else format_rate(factor * self.per_second),
            Column("then full", words=True, page_only=True): ""
            if math.isinf(factor)
            else FULL[LIMITS[int(one.at(costs.full))]],
            Column("state", words=True): "crowded" if one.is_unstable else "",
        }

    def _say_correlation(self) -> Iterator[str]:
        """How latencies that were measured follow what does not queue, where threads have cores."""
        stable = [
            one for one in self.others if one.measured_seconds is not None and not one.is_unstable
        ]
        left_out = sum(one.measured_seconds is not None for one in self.others) - len(stable)
        if left_out:
            yield (
                f"{count(left_out, 'configuration')} with more threads than cores left out of rank"
                " correlations: latency is erratic there."
            )
        if len(stable) < FEWEST_RANKS:
            return
        latencies = np.asarray([one.measured_seconds for one in stable])
        leaving = [one.fractions(one.costs.tuples)[1] for one in stable]
        floors = [one.at(one.costs.floor_seconds) for one in stable]
        for name, values in {
            "the part that leaves its worker but not its node": leaving,
            "the floor": floors,
        }.items():
            if len(set(values)) > 1:
                found = correlate_ranks(np.asarray(values), latencies)
                yield f"Rank correlation of measured latency with {name}: {found:.2f}."

    def _say_management(self) -> list[str]:
        own, constants = self.own, self.job.constants
        said = []
        if constants.requests is not None:
            said.append(f"{format_number(own.at(own.costs.requests))} requests/s to ZooKeeper.")
        if constants.management is not None:
            nodes, workers = len(self.plan.nodes), len(self.plan.workers)
            tasks = len(self.plan.logical.executors)
            sizes = constants.management
            left = float(sizes.in_zookeeper().per_second(nodes, workers, tasks))
            said.append(
                f"Assignments have {float(sizes.assignments(nodes, tasks)):,.0f} bytes, a round of"
                f" heartbeats {float(sizes.heartbeats(tasks, workers)):,.0f};"
                f" {format_bytes_rate(own.at(own.costs.management_bytes))} in all;"
                f" {format_bytes_rate(left)} without reading assignments, which on Storm 2.x does"
                " not go through ZooKeeper."
            )
        elif constants.management_bound > 0.0:
            bound = format_bytes_rate(constants.management_bound)
            said.append(f"At most {bound} for management, as the constants say.")
        return said or [
            "What management takes is not known: it has to be measured (`--constants`). Published"
            " are 56 kB/s for 2 nodes and 100 tasks, on Storm 0.8."
        ]

    def document(self) -> Mapping[str, Any]:
        """Bytes of the plan, and the costs of every configuration."""
        return {
            "verdict": str(self.verdict),
            "bytes": self.flow.to_dict(),
            "configurations": [self._document(one) for one in (self.own, *self.others)],
            "notes": list(self.notes),
        }

    def _document(self, one: CostedConfiguration) -> dict[str, Any]:
        costs = one.costs
        names = ("local", "node", "remote")
        factor = one.at(costs.factor)
        return {
            "configuration": one.name,
            "by_tuples": dict(zip(names, one.fractions(costs.tuples), strict=True)),
            "by_pairs": dict(zip(names, one.fractions(costs.pairs), strict=True)),
            # For comparisons with the paper's own figures; it counts local tuples as remote.
            "remote_as_printed": one.at(costs.pairs.printed_remote),
            **self._figures_of(one),
            "then_full": None if math.isinf(factor) else LIMITS[int(one.at(costs.full))],
            "more_threads_than_cores": one.is_unstable,
            "measured_seconds": one.measured_seconds,
            "operators": {
                name: {
                    "executors": int(costs.executors[one.place, place]),
                    "fewest_executors": int(costs.fewest[one.place, place]),
                    "busy": float(costs.busy[one.place, place]),
                    "cores": {
                        str(phase): float(cores)
                        for phase, cores in zip(PHASES, costs.cpu[one.place, place], strict=True)
                    },
                }
                for place, name in enumerate(self.job.operators)
            },
        }

    def _figures_of(self, one: CostedConfiguration) -> dict[str, float]:
        costs = one.costs
        return {
            "active_workers": one.at(costs.active_workers),
            "emitted_bytes_per_second": one.at(costs.emitted_bytes),
            "delivered_bytes_per_second": one.at(costs.delivered_bytes),
            "remote_bytes_per_second": one.at(costs.remote_bytes),
            "external_bytes_per_second": one.at(costs.external_bytes),
            "management_bytes_per_second": one.at(costs.management_bytes),
            "bandwidth_bytes_per_second": one.at(costs.bandwidth),
            "busiest_card_bytes_per_second": one.at(costs.network_bytes),
            "requests_per_second": one.at(costs.requests),
            "cores": one.at(costs.cores),
            "transport_cores": one.at(costs.transport),
            "busiest_node_cores": one.at(costs.node_cores),
            "floor_seconds": one.at(costs.floor_seconds),
            "threads": one.at(costs.threads),
            "headroom": one.at(costs.factor),
            "limit_per_second": one.at(costs.factor) * self.per_second,
        }

    def figures(self) -> Iterator[FigureRow]:
        """Bytes of the plan, and the figures of every configuration."""
        yield from list_byte_figures(self.flow)
        for one in (self.own, *self.others):
            yield from list_figures("configuration", one.name, self._figures_of(one))


def _show_fractions(name: str, parts: Sequence[float]) -> Row:
    local, node, remote = map(format_share, parts)
    return {
        Column("stream"): name,
        Column("inside workers"): local,
        Column("between workers", "of a node"): node,
        Column("between nodes"): remote,
    }
