"""How many instances each operator gets, stage by stage (Kalim 2020, eq. 4.1, repaired).

An operator gets as many instances as process what its parents send it, on the edges to it and not
all that they emit; whole ones, and at least one. The choice of how many sources read is what the
spectrum of throughput against cost is made of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamgauge.errors import Findings
from streamgauge.planning.scaling.graph import Component, ScalingGraph
from streamgauge.topology.field_checks import check_number, check_whole

# Part of what an instance can do that is planned with: the threshold of the profiler.
THRESHOLD = 0.9
# Ratios of rates that exceed a whole number by less are that number.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """Instances for so much input.

    Attributes:
        instances: Of each operator.
        inputs: Tuples per second that come to each operator; of a source, that it emits.
    """

    instances: Mapping[str, int]
    inputs: Mapping[str, float]

    @property
    def total(self) -> int:
        """Of all operators."""
        return sum(self.instances.values())


def find_parallelism(
    graph: ScalingGraph, sources: Mapping[str, int], *, factor: float = 1.0, busy: float = THRESHOLD
) -> Parallelism:
    """Instances of all operators for so many of each source.

    Args:
        graph: What a unit of each can do; a source's unit emits what its law says,
        sources: as many of them as named here, the others one,
        factor: times this.
        busy: Part of what an instance can do that it is given.

    Raises:
        InvalidInput: A number is none, or a source is none.
    """
    _check(graph, sources, factor, busy)
    instances: dict[str, int] = {}
    inputs: dict[str, float] = {}
    outputs: dict[str, float] = {}
    for name in graph.order:
        component = graph.by_name[name]
        if component.source:
            instances[name] = sources.get(name, 1)
            inputs[name] = component.law.rate(1) * instances[name] * factor
        else:
            inputs[name] = sum(outputs[edge.source] * edge.share for edge in graph.parents[name])
            instances[name] = _units_for(component, inputs[name] / busy)
        outputs[name] = inputs[name] * component.out_per_in
    return Parallelism(instances=instances, inputs=inputs)


def _units_for(component: Component, rate: float) -> int:
    """The fewest that can do so much."""
    units = max(math.ceil(rate / component.law.rate(1) - ROUNDING), 1)
    # A law that brings less with each unit needs more than the first one suggests.
    while component.law.rate(units) < rate * (1.0 - ROUNDING):
        grown = math.ceil(units * rate / component.law.rate(units) - ROUNDING)
        units = max(grown, units + 1)
    return units


def most_sources(offered_per_second: float, each_per_second: float) -> int:
    """As many sources as take all that is offered: more would have nothing to read."""
    findings = Findings()
    check_number(findings, offered_per_second, "offered_per_second", above=0.0)
    check_number(findings, each_per_second, "each_per_second", above=0.0)
    findings.raise_if_any()
    return max(math.ceil(offered_per_second / each_per_second - ROUNDING), 1)


def choose_options(most: int, options: int | None = None, least: int = 1) -> tuple[int, ...]:
    """How many sources each option of the spectrum has: all numbers, or so many of them evenly.

    Both ends are among them.
    """
    findings = Findings()
    check_whole(findings, least, "least")
    check_whole(findings, most, "most", least=least if isinstance(least, int) else 1)
    if options is not None:
        check_whole(findings, options, "options")
    findings.raise_if_any()
    many = most - least + 1
    if options is None or options >= many:
        return tuple(range(least, most + 1))
    if options == 1:
        return (most,)
    step = (most - least) / (options - 1)
    return tuple(dict.fromkeys(round(least + step * number) for number in range(options)))


def correct_skew(
    instances: Mapping[str, int],
    incoming: Mapping[str, Sequence[float]],
    capacity: Mapping[str, float],
    *,
    busy: float = THRESHOLD,
) -> Mapping[str, int]:
    """One step after a deployment whose keys are uneven: more where most comes in.

    Of the operators whose busiest instance gets more than it can do, the one that gets most of that
    has its instances raised by so much; the rest waits for the next measurement, as what it gets
    changes with its parents.

    Args:
        instances: That run.
        incoming: Measured tuples per second into each instance, by operator.
        capacity: Tuples per second that one instance of an operator can do.
        busy: Part of it that is planned with.
    """
    over = {
        name: max(rates) / (busy * capacity[name])
        for name, rates in incoming.items()
        if rates and max(rates) > busy * capacity[name]
    }
    if not over:
        return dict(instances)
    name = max(over, key=lambda one: over[one])
    return {**instances, name: math.ceil(instances[name] * over[name] - ROUNDING)}


def _check(graph: ScalingGraph, sources: Mapping[str, int], factor: float, busy: float) -> None:
    findings = Findings()
    check_number(findings, factor, "factor", above=0.0)
    check_number(findings, busy, "busy", above=0.0, most=1.0)
    for name, many in sources.items():
        if name not in graph.sources:
            findings.add(name, seen="no source", expected=f"one of {', '.join(graph.sources)}")
        check_whole(findings, many, name)
    findings.raise_if_any()
