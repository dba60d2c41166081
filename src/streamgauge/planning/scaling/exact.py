"""The exact scaler: no allocation of as many units has a higher throughput.

Drops make it a mixed-integer linear program: a component processes no more than arrives and no
more than its units can. Nothing that is processed ever lowers the throughput, so at the optimum
one of the two limits holds and the program is the rates model. Each flow is written as a part of
the most that could ever pass its component: the solver's tolerances are then relative. Needs the
extra ``planning``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from streamgauge.errors import Findings
from streamgauge.planning.scaling.combined import CombinedScaler
from streamgauge.planning.scaling.contract import Scaling, ScalingOptions
from streamgauge.planning.scaling.graph import ScalingGraph, check_budget
from streamgauge.planning.scaling.predictive import PredictiveScaler
from streamgauge.planning.scaling.programs import Program
from streamgauge.planning.scaling.rates import (
    BY_CAPACITY,
    EVEN_WEIGHTS,
    Flow,
    FlowModel,
    format_rate,
)
from streamgauge.planning.scaling.residual import ResidualScaler
from streamgauge.planning.scaling.stela import StelaScaler
from streamgauge.topology.field_checks import check_whole

# Throughputs that differ by less than this, relatively, are equal: what the solver guarantees.
ACCURACY = 1e-6
# Steps of a law, as parts of what passes, that differ by less are equal.
STRAIGHT = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactScaler:
    """The best there is, within a millionth, and the proof of it.

    Attributes:
        nodes: Nodes of the search tree after which it stops with the best so far and a bound; a
            limit of time would give another answer on another machine.
    """

    nodes: int = 100_000
    weights: Mapping[str, float] = EVEN_WEIGHTS
    name: str = "exact"

    def __post_init__(self) -> None:
        findings = Findings()
        check_whole(findings, self.nodes, "nodes")
        findings.raise_if_any()

    def describe(self) -> str:
        """The rule in a sentence."""
        return "solves a mixed-integer program: no other allocation of these units gains more"

    def configure(self, options: ScalingOptions) -> ExactScaler:
        """With the weights of sinks: the proof is about throughput, not about a rule."""
        return replace(self, weights=options.sink_weights)

    def scale(self, graph: ScalingGraph, units: int) -> Scaling:
        """The units that gain most; those that would gain nothing are left unused."""
        check_budget(units)
        model = FlowModel(graph, self.weights)
        rival = CombinedScaler(
            residual=ResidualScaler(predictive=PredictiveScaler(weights=self.weights)),
            stela=StelaScaler(weights=self.weights),
        ).scale(graph, units)
        allocation, bound = self._solve(model, units)
        flow = model.flow(allocation)
        # Where the search was cut short, and by a hair within the solver's tolerance, another
        # scaler may have done better.
        if model.throughput(flow) < rival.expected:
            flow = model.flow(rival.allocation)
        flow = _trim(model, flow)
        expected = model.throughput(flow)
        proven = bound <= expected * (1.0 + ACCURACY)
        return Scaling.of(
            self.name,
            model,
            model.added(flow),
            reasons=_reasons(model, flow, None if proven else bound),
            bound=expected if proven else bound,
        )

    def _solve(self, model: FlowModel, units: int) -> tuple[dict[str, int], float]:
        """The best that was found, and what nothing exceeds."""
        program = Program()
        granted = _formulate(program, model, units)
        if not granted:
            return {}, model.throughput(model.flow())
        values, bound = program.solve(self.nodes)
        allocation: dict[str, int] = {}
        for column, name in granted.items() if values else ():
            allocation[name] = allocation.get(name, 0) + round(values[column])
        return allocation, bound


def _formulate(program: Program, model: FlowModel, units: int) -> dict[int, str]:
    """Fill the program; whose units a column counts."""
    graph = model.graph
    plenty = model.flow(dict.fromkeys(graph.by_name, units))
    flows: dict[int, int] = {}
    granted: dict[int, str] = {}
    for index, name in enumerate(model.names):
        component = graph.by_name[name]
        most = min(plenty.inputs[index], plenty.capacities[index])
        if most <= 0.0:
            continue
        gain = model.weights.get(index, 0.0) * plenty.outputs[index]
        flows[index] = program.column(1.0, gain=gain)
        if not component.source:
            arriving = {flows[index]: 1.0}
            for edge in graph.parents[name]:
                parent = model.index[edge.source]
                if parent in flows:
                    arriving[flows[parent]] = -edge.share * plenty.outputs[parent] / most
            program.row(arriving, 0.0)
        for column in _capacity(program, model, index, flows[index], most, units):
            granted[column] = name
    program.row(dict.fromkeys(granted, 1.0), float(units))
    return granted


def _capacity(
    program: Program, model: FlowModel, index: int, passing: int, most: float, units: int
) -> list[int]:
    """Limit what passes by the component's units; the columns that count them."""
    component = model.graph.by_name[model.names[index]]
    enough = BY_CAPACITY.units_for(model, index, most, component.units)
    useful = units if enough is None else min(units, enough - component.units)
    useful = int(min(useful, model.most[index] - component.units))
    rates = [model.capacity(index, component.units + more) / most for more in range(useful + 1)]
    steps = [after - before for before, after in pairwise(rates)]
    if any(after > before + STRAIGHT for before, after in pairwise(steps)):
        return _stepwise(program, passing, rates[0], steps)
    if not steps:
        program.row({passing: 1.0}, rates[0])
        return []
    counted = program.column(useful, whole=True)
    # Units that bring less and less: what passes lies below the line of every step.
    for more, step in enumerate(steps):
        if not more or step < steps[more - 1] - STRAIGHT:
            program.row({passing: 1.0, counted: -step}, rates[more] - step * more)
    return [counted]


def _stepwise(program: Program, passing: int, rate: float, steps: list[float]) -> list[int]:
    """A column for each unit: one that brings more than the one before cannot be had alone."""
    columns = [program.column(1.0, whole=True) for _ in steps]
    for before, after in pairwise(columns):
        program.row({after: 1.0, before: -1.0}, 0.0)
    gained = {column: -step for column, step in zip(columns, steps, strict=True)}
    program.row({passing: 1.0, **gained}, rate)
    return columns


def _trim(model: FlowModel, flow: Flow) -> Flow:
    """Without units whose loss costs nothing; from the last declared on."""
    least = model.throughput(flow) * (1.0 - 1e-12)
    spare = model.flow()
    for index in reversed(model.declared):
        while flow.units[index] > spare.units[index]:
            fewer = model.with_more(flow, index, -1)
            if model.throughput(fewer) < least:
                break
            flow = fewer
    return flow


def _reasons(model: FlowModel, flow: Flow, bound: float | None) -> list[str]:
    """A line for each component that gets units, and one for what is proven."""
    total = model.throughput(flow)
    lines = []
    for name, units in model.added(flow).items():
        lost = total - model.throughput(model.with_more(flow, model.index[name], -units))
        lines.append(f"{units} to {name}: without them throughput is {format_rate(lost)} lower")
    proven = f"no allocation of these units gives more than {format_rate(total)} tuples/s"
    if bound is not None:
        proven = f"no better allocation was found; the upper bound is {format_rate(bound)} tuples/s"
    return [*lines, proven]
