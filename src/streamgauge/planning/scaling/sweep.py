"""Sweeps: what each scaler makes of one unit, two, three … and what is in the way then.

Puttaswamy 2018, section 6.2: every number of units starts from the same state; nothing carries
over from one to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from streamgauge.planning.scaling.contract import DEFAULT_OPTIONS, Scaler, Scaling, ScalingOptions
from streamgauge.planning.scaling.graph import Allocation, ScalingGraph, check_budget
from streamgauge.planning.scaling.rates import BY_CAPACITY, CongestionRule, GraphRates, propagate


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """The component that limits next.

    Attributes:
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
        units: To hand out.
        used: Handed out; a scaler may leave some.
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
        record = asdict(replace(self, allocation=dict(self.allocation)))
        record["next_bottleneck"] = record.pop("bottleneck")
        return record


def next_bottleneck(
    graph: ScalingGraph, rates: GraphRates, *, rule: CongestionRule = BY_CAPACITY
) -> Bottleneck | None:
    """The component with the most to do for its capacity; of equals the first declared.

    Sources are never in the way: they emit what they are given. Nothing in a graph of sources.
    """
    loads = {
        component.name: rates[component.name].input / rates[component.name].capacity
        for component in graph.components
        if not component.source
    }
    if not loads:
        return None
    name = max(loads, key=lambda component: loads[component])
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

    Where not every allocation can be applied, `propose` asks a scaler; a row without a proposal
    repeats the one with a unit less.

    Raises:
        InvalidInput: No such number of units can be handed out.
    """
    check_budget(most)
    ask = propose or (lambda scaler, units: scaler.scale(graph, units))
    now = propagate(graph, weights=options.sink_weights).throughput
    last = {
        scaler.name: Scaling(scaler=scaler.name, throughput=now, expected=now) for scaler in scalers
    }
    rows = []
    for units in range(1, most + 1):
        for scaler in scalers:
            scaling = last[scaler.name] = ask(scaler, units) or last[scaler.name]
            rates = propagate(graph, scaling.allocation)
            rows.append(
                SweepRow(
                    scaler=scaling.scaler,
                    units=units,
                    used=scaling.units,
                    allocation=scaling.allocation,
                    throughput=scaling.expected,
                    increase=scaling.increase,
                    bound=scaling.bound,
                    bottleneck=next_bottleneck(graph, rates, rule=options.rule),
                )
            )
    return tuple(rows)
