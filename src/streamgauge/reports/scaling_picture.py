"""Components before and after scaling out, as a picture."""

from __future__ import annotations

from streamgauge.drawing.quantities import estimate, share
from streamgauge.drawing.side_by_side import Panel, draw_side_by_side
from streamgauge.drawing.topology_picture import OperatorMark
from streamgauge.planning.scaling.ranking import RankedScalings
from streamgauge.planning.scaling.rates import ComponentRates, GraphRates
from streamgauge.reports.wording import count, printable, show_change, show_rate
from streamgauge.topology.grouping import Shuffle
from streamgauge.topology.topology import Operator, OperatorKind, Stream, Topology

# More components than this cannot be read in a picture.
MANY_COMPONENTS = 200
# A load above this is too much; what is less above one comes from rounding declared times.
FULL = 1.0005


def draw_growth(ranking: RankedScalings, *, embedded: bool = False) -> str:
    """Components as they are and as the best proposal would have them, as an SVG."""
    scaling = ranking.best.scaling
    panels = [
        _draw_panel(ranking, "before", ranking.before),
        _draw_panel(
            ranking,
            f"after: {scaling.scaler} with {count(scaling.units, 'unit')} more",
            ranking.best.rates,
        ),
    ]
    name = ranking.problem.graph.name
    return draw_side_by_side(
        panels,
        title=printable(f"components of {name} before and after scaling out"),
        embedded=embedded,
        gauge="component",
        alarm="congested",
        flag="gets more",
    )


def compute_load(rates: ComponentRates) -> float:
    """What a component gets, as a part of what it can do."""
    return rates.input / rates.capacity if rates.capacity > 0.0 else 0.0


def _draw_panel(ranking: RankedScalings, title: str, rates: GraphRates) -> Panel:
    components = ranking.problem.graph.components
    return Panel(
        title=printable(title),
        lines=[f"{estimate(rates.throughput)} tuples/s are delivered by the sinks"],
        topology=_build_topology(ranking),
        executors={component.name: rates[component.name].units for component in components},
        marks={
            component.name: _mark_component(
                ranking.before[component.name], rates[component.name], is_source=component.source
            )
            for component in components
        },
    )


def _build_topology(ranking: RankedScalings) -> Topology:
    """The job's own topology, or one that looks like the graph."""
    problem = ranking.problem
    if problem.job is not None:
        return problem.job.topology
    return Topology(
        name=problem.graph.name,
        operators=tuple(
            Operator(
                name=component.name,
                kind=OperatorKind.SOURCE if component.source else OperatorKind.PROCESSOR,
                tasks=max(1, ranking.best.rates[component.name].units),
            )
            for component in problem.graph.components
        ),
        streams=tuple(
            Stream(source=edge.source, target=edge.target, name=edge.target, grouping=Shuffle())
            for edge in problem.graph.edges
        ),
    )


def _mark_component(
    before: ComponentRates, after: ComponentRates, *, is_source: bool
) -> OperatorMark:
    units = count(after.units, "unit")
    if before.units != after.units:
        units = f"{before.units} → {units}"
    if is_source:
        emitted = show_change(before.output, after.output, show_rate)
        return OperatorMark(parallelism=units, line=f"emits {emitted} tuples/s")
    load = compute_load(after)
    capacity = show_change(before.capacity, after.capacity, show_rate)
    return OperatorMark(
        level=min(load, 1.0),
        level_text=share(load),
        flag=f"{after.units - before.units} more" if after.units > before.units else "",
        parallelism=units,
        line=f"gets {show_change(before.input, after.input, show_rate)} tuples/s",
        more=(f"can do {capacity} tuples/s",),
        alarm="congested" if load > FULL else "",
    )
