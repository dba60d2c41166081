"""Throughput of instances and components, as Caladrius has it, with one budget for all inputs.

Caladrius (Kalim et al. 2019, section IV; equations as numbered by Kalim 2020, chapter 3): an
instance emits α tuples for each one it gets, up to its saturation point (SP) of input, and α·SP
from then on (eq. 3.1, 3.2); a component is the sum of its instances (eq. 3.6 to 3.9). For several
inputs the paper lets each saturate on its own (eq. 3.3, 3.5), so that an instance of m inputs could
do m times what one thread can. Here they share one budget: an instance offered more than it can do
processes the same part of each input.

The paper's scaling by γ, and shares of 1/p, hold where shuffle is even: on Storm 1.x, or with
load-awareness off. Storm 2.x's shuffle prefers near tasks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.topology import StreamKey

Rates = Mapping[StreamKey, float]

# Nearer to saturation than this, back-pressure is likely (eq. 3.14 has "~" without a number).
MARGIN = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceCurve:
    """What one instance emits by what comes to it.

    Attributes:
        saturation_per_second: SP: input of cost one that keeps it busy all the time.
        amplification: α: tuples out by output, for each tuple in by input stream.
        costs: Of a tuple by input stream, relative to a tuple of cost one; one where not given.
    """

    saturation_per_second: float
    amplification: Mapping[str, Rates] = field(default_factory=FrozenDict)
    costs: Rates = field(default_factory=FrozenDict)

    def demand(self, arriving: Rates) -> float:
        """What comes, in tuples of cost one a second."""
        return math.fsum(self.costs.get(key, 1.0) * rate for key, rate in arriving.items())

    def part_processed(self, arriving: Rates) -> float:
        """Part of its input that it processes."""
        demand = self.demand(arriving)
        return 1.0 if demand <= self.saturation_per_second else self.saturation_per_second / demand

    def emitted(self, arriving: Rates) -> dict[str, float]:
        """Tuples out a second, by output (eq. 3.2, 3.4; 3.5 repaired)."""
        part = self.part_processed(arriving)
        return {
            name: part * math.fsum(ratios.get(key, 0.0) * rate for key, rate in arriving.items())
            for name, ratios in self.amplification.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentCurve:
    """What the instances of a component emit together.

    Attributes:
        shares: By input stream the part that each instance gets; as many as there are instances.
    """

    instance: InstanceCurve
    shares: Mapping[StreamKey, tuple[float, ...]]

    @classmethod
    def shuffled(
        cls, instance: InstanceCurve, inputs: Iterable[StreamKey], parallelism: int
    ) -> ComponentCurve:
        """All instances get as much (eq. 3.8)."""
        even = (1.0 / parallelism,) * parallelism
        return cls(instance=instance, shares=dict.fromkeys(inputs, even))

    @property
    def parallelism(self) -> int:
        """Instances; of a component that nothing comes to, one."""
        return max((len(parts) for parts in self.shares.values()), default=1)

    def rescaled(self, parallelism: int) -> ComponentCurve:
        """The same instances, more or fewer of them, dealt to evenly: the curve times γ."""
        return self.shuffled(self.instance, self.shares, parallelism)

    def arriving(self, arriving: Rates) -> list[dict[StreamKey, float]]:
        """What comes to each instance."""
        return [
            {key: rate * self.shares[key][place] for key, rate in arriving.items()}
            for place in range(self.parallelism)
        ]

    def utilisation(self, arriving: Rates) -> list[float]:
        """Demand over saturation point of each instance; one and more: saturated."""
        return [
            self.instance.demand(one) / self.instance.saturation_per_second
            for one in self.arriving(arriving)
        ]

    def processed(self, arriving: Rates) -> dict[StreamKey, float]:
        """Tuples a second that get through, by input stream."""
        parts = [(one, self.instance.part_processed(one)) for one in self.arriving(arriving)]
        return {key: math.fsum(part * one[key] for one, part in parts) for key in arriving}

    def emitted(self, arriving: Rates) -> dict[str, float]:
        """Tuples out a second by output (eq. 3.7, 3.9; 3.11 by what was offered).

        The last form of eq. 3.11 multiplies what instances emitted; where one was saturated at the
        reference point, a smaller load then gives too little. Here offered rates are multiplied.
        """
        each = [self.instance.emitted(one) for one in self.arriving(arriving)]
        return {name: math.fsum(one[name] for one in each) for name in self.instance.amplification}

    def headroom(self, arriving: Rates) -> float:
        """By how much all inputs may grow until the first instance saturates."""
        busiest = max(self.utilisation(arriving), default=0.0)
        return 1.0 / busiest if busiest > 0.0 else math.inf


class ComponentFlow(NamedTuple):
    """What goes through a component.

    Attributes:
        arriving: Offered by what comes before, by input stream.
        processed: The same that gets through.
        emitted: By output.
        utilisation: Demand over saturation point of its busiest instance.
    """

    arriving: dict[StreamKey, float]
    processed: dict[StreamKey, float]
    emitted: dict[str, float]
    utilisation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveGraph:
    """Components with their curves, and who subscribes to whose output.

    Attributes:
        curves: In topological order, sources left out.
        inputs: By component the streams that it subscribes to.
    """

    curves: Mapping[str, ComponentCurve]
    inputs: Mapping[str, tuple[StreamKey, ...]]

    def flow(self, sources: Rates, *, unlimited: bool = False) -> dict[str, ComponentFlow]:
        """The chain of eq. 3.12, on any graph: each component emits what its curve allows.

        On a graph with branches it is more than there would be under back-pressure, which holds all
        branches back: see `held_back`.

        Args:
            sources: What they emit by stream.
            unlimited: As if no component ever saturated, which gives what is offered.
        """
        rates = dict(sources)
        found: dict[str, ComponentFlow] = {}
        for name, curve in self.curves.items():
            able = curve
            if unlimited:
                endless = replace(curve.instance, saturation_per_second=math.inf)
                able = replace(curve, instance=endless)
            arriving = {key: rates.get(key, 0.0) for key in self.inputs[name]}
            emitted = able.emitted(arriving)
            rates |= {StreamKey(name, output): rate for output, rate in emitted.items()}
            found[name] = ComponentFlow(
                arriving=arriving,
                processed=able.processed(arriving),
                emitted=emitted,
                utilisation=max(curve.utilisation(arriving), default=0.0),
            )
        return found

    def headrooms(self, sources: Rates) -> dict[str, float]:
        """By how much sources may grow until each component saturates, the first one first.

        min_k SP_k/g_k, where g_k is what comes to k for a tuple of the sources. Eq. 3.13 means
        that; its inverse functions have no value on a plateau.
        """
        offered = self.flow(sources, unlimited=True)
        found = {
            name: 1.0 / one.utilisation if one.utilisation > 0.0 else math.inf
            for name, one in offered.items()
        }
        return dict(sorted(found.items(), key=lambda one: one[1]))

    def held_back(self, sources: Rates) -> dict[str, ComponentFlow]:
        """What flows where the first saturated component holds the sources back."""
        factor = min(1.0, next(iter(self.headrooms(sources).values()), 1.0))
        return self.flow({key: factor * rate for key, rate in sources.items()})


def is_at_risk(headroom: float, margin: float = MARGIN) -> bool:
    """Whether back-pressure is likely (eq. 3.14, whose two sides are exchanged in print).

    Args:
        headroom: Rate of the sources that saturates, over their rate.
        margin: Part of the saturation rate that is too near to it.
    """
    return headroom * (1.0 - margin) <= 1.0
