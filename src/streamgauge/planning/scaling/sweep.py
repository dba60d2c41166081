"""Sweeps: what each scaler makes of one unit, two, three … and what is in the way then.

Puttaswamy 2018, section 6.2: every number of units starts from the same state; nothing carries
over from one to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from streamgauge.planning.scaling.congestion import BY_CAPACITY, CongestionRule
from streamgauge.planning.scaling.contract import Scaler, Scaling
from streamgauge.planning.scaling.graph import Allocation, ScalingGraph, check_budget
from streamgauge.planning.scaling.options import DEFAULT_OPTIONS, ScalingOptions
from streamgauge.planning.scaling.rates import GraphRates, propagate


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """The component that limits next.

    Attributes:
        component: Its name.
        utilisation: What arrives over what it can process.
        congested: Whether that is too much already; if not, it is the first to be once more comes.
    """

    component: str
    utilisation: float
    congested: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRow:
    """One scaler with one number of units.

    Attributes:
        scaler: Whose choice it is.
        units: To hand out.
        used: Handed out; a scaler may leave some.
        allocation: Who gets how many.
        throughput: Tuples per second with these.
        increase: Of that over the throughput without.
        bound: What no allocation of so many units exceeds, where the scaler knows.
        bottleneck: What limits next; None in a graph of sources alone.
    """

    scaler: str
    units: int
    used: int
    allocation: Allocation
    throughput: float
    increase: float
    bound: float | None = None
    bottleneck: Bottleneck | None = None

    def to_dict(self) -> dict[str, Any]:
        """A flat record for ``--json``, tables and curves."""
        next_one = None if self.bottleneck is None else asdict(self.bottleneck)
        return {
            "scaler": self.scaler,
            "units": self.units,
            "used": self.used,
            "allocation": dict(self.allocation),
            "throughput": self.throughput,
            "increase": self.increase,
            "bound": self.bound,
            "next_bottleneck": next_one,
        }


def next_bottleneck(
    graph: ScalingGraph, rates: GraphRates, *, rule: CongestionRule = BY_CAPACITY
) -> Bottleneck | None:
    """The component with the most to do for its capacity; of equals the first declared.

    Sources are never in the way: they emit what they are given. Nothing in a graph of sources.
    """
    loads = {
        one.name: rates[one.name].input / rates[one.name].capacity
        for one in graph.components
        if not one.source
    }
    if not loads:
        return None
    name = max(loads, key=lambda one: loads[one])
    return Bottleneck(
        component=name,
        utilisation=loads[name],
        congested=rule.is_congested(rates[name].input, rates[name].capacity),
    )


# What a scaler proposes for so many units; None where nothing can be applied.
Propose = Callable[[Scaler, int], Scaling | None]


def sweep(
    graph: ScalingGraph,
    scalers: Sequence[Scaler],
    most: int,
    *,
    propose: Propose | None = None,
    options: ScalingOptions = DEFAULT_OPTIONS,
) -> tuple[SweepRow, ...]:
    """Every scaler with 1, 2, … `most` units, from the graph as it is; by units, then as given.

    Args:
        graph: The components with the units they have now.
        scalers: Each by its own rule.
        most: Units to hand out at most.
        propose: Asks a scaler, where not every allocation can be applied. A row without a proposal
            repeats the one with a unit less.
        options: When a component is congested, and what sinks count.

    Raises:
        InvalidInput: No such number of units can be handed out.
    """
    check_budget(most)
    ask = propose or (lambda scaler, units: scaler.scale(graph, units))
    now = propagate(graph, weights=options.sink_weights).throughput
    last = {one.name: Scaling(scaler=one.name, throughput=now, expected=now) for one in scalers}
    rows = []
    for units in range(1, most + 1):
        for scaler in scalers:
            last[scaler.name] = ask(scaler, units) or last[scaler.name]
            rows.append(sweep_row(graph, last[scaler.name], units, rule=options.rule))
    return tuple(rows)


def sweep_row(
    graph: ScalingGraph, scaling: Scaling, units: int, *, rule: CongestionRule = BY_CAPACITY
) -> SweepRow:
    """One choice as a record, with what limits next.

    Args:
        graph: As it was before.
        scaling: The choice.
        units: What there was to hand out.
        rule: When a component is congested.
    """
    return SweepRow(
        scaler=scaling.scaler,
        units=units,
        used=scaling.units,
        allocation=scaling.allocation,
        throughput=scaling.expected,
        increase=scaling.increase,
        bound=scaling.bound,
        bottleneck=next_bottleneck(graph, propagate(graph, scaling.allocation), rule=rule),
    )
