"""What scaling is decided on: components, what a unit of each can do, and who feeds whom.

Puttaswamy 2018, section 5.2.3: a component owns whole units, each an equal slice of CPU that it
shares with nobody. What is more than its units can process is dropped.
"""

from __future__ import annotations

import graphlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

from streamgauge.errors import CyclicTopology, Findings, InvalidInput, did_you_mean
from streamgauge.topology.field_checks import check_name, check_number, check_whole

MAX_UNITS = 100_000

# Additional units by component; what is not named gets none.
Allocation = Mapping[str, int]


class ScalingLaw(Protocol):
    """What so many units of a component can do, in tuples per second."""

    def rate(self, units: int) -> float:
        """Of a source what it emits, of any other component the most that it processes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearLaw:
    """Twice the units do twice as much, in tuples per second (eq. 6 and 15)."""

    per_unit: float

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.per_unit, "per_unit", above=0.0)
        findings.raise_if_any()

    def rate(self, units: int) -> float:
        """In proportion to the units."""
        return self.per_unit * units


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLaw:
    """Tuples per second of one unit, two, three …, never falling; the last step goes on beyond."""

    rates: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rates", tuple(self.rates))
        findings = Findings()
        if not self.rates:
            findings.add("rates", seen="no rate", expected="the rates with 1, 2 … units")
        before = 0.0
        for index, rate in enumerate(self.rates):
            fine = check_number(findings, rate, "rates", index, above=0.0)
            if fine and rate < before:
                findings.add(
                    "rates",
                    index,
                    seen=f"{rate:g} after {before:g}",
                    expected="no less with one unit more",
                )
            before = rate if fine else before
        findings.raise_if_any()

    def rate(self, units: int) -> float:
        """As in the table."""
        if units <= 0:
            return 0.0
        if units <= len(self.rates):
            return self.rates[units - 1]
        step = self.rates[-1] - (self.rates[-2] if len(self.rates) > 1 else 0.0)
        return self.rates[-1] + step * (units - len(self.rates))


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """An operator as scaling sees it.

    Attributes:
        source: Whether tuples begin here; its rate is then what it emits.
        out_per_in: Tuples out, on all streams together, for one processed.
        most_units: As many as it can have, as an executor needs a task; None: any number.
    """

    name: str
    units: int
    law: ScalingLaw
    source: bool = False
    out_per_in: float = 1.0
    most_units: int | None = None

    def __post_init__(self) -> None:
        findings = Findings()
        check_name(findings, self.name, "name")
        check_whole(findings, self.units, "units", most=MAX_UNITS)
        check_number(findings, self.out_per_in, "out_per_in")
        if self.most_units is not None:
            check_whole(findings, self.most_units, "most_units", least=self.units)
        findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Who feeds whom.

    Attributes:
        share: Copies that reach the child of every tuple the parent emits (childOutputRatio, eq.
            7). Shares out of one parent add up to one where its output is divided, to more where
            several children see the same tuples.
    """

    source: str
    target: str
    share: float

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.share, "share")
        findings.raise_if_any()


@dataclass(frozen=True, kw_only=True)
class ScalingGraph:
    """Components and the edges between them, without cycles.

    Attributes:
        components: In the order in which ties are broken.
        edges: Each pair once.
    """

    name: str
    components: tuple[Component, ...]
    edges: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", tuple(self.components))
        object.__setattr__(self, "edges", tuple(self.edges))
        findings = Findings()
        names = [component.name for component in self.components]
        for name in sorted({name for name in names if names.count(name) > 1}):
            findings.add("components", name, seen=f"the name {name!r} twice", expected="each once")
        if not any(component.source for component in self.components):
            findings.add("components", seen="no source", expected="at least one")
        sources = {component.name for component in self.components if component.source}
        pairs: set[tuple[str, str]] = set()
        for index, edge in enumerate(self.edges):
            add = partial(findings.add, "edges", index)
            if edge.target in sources:
                seen = f"{edge.source} feeds the source {edge.target}"
                add("target", seen=seen, expected="sources that nothing feeds")
            for end, name in (("source", edge.source), ("target", edge.target)):
                if name not in names:
                    add(
                        end,
                        seen=f"unknown component {name!r}",
                        expected="the name of a component",
                        remedy=did_you_mean(name, names),
                    )
            if (edge.source, edge.target) in pairs:
                add(seen=f"{edge.source} → {edge.target} twice", expected="each pair once")
            pairs.add((edge.source, edge.target))
        findings.raise_if_any()
        _ = self.order

    @cached_property
    def by_name(self) -> Mapping[str, Component]:
        """Components by their names."""
        return {component.name: component for component in self.components}

    @cached_property
    def children(self) -> Mapping[str, tuple[Edge, ...]]:
        """The edges out of every component, as declared."""
        return {
            name: tuple(edge for edge in self.edges if edge.source == name) for name in self.by_name
        }

    @cached_property
    def parents(self) -> Mapping[str, tuple[Edge, ...]]:
        """The edges into every component, as declared."""
        return {
            name: tuple(edge for edge in self.edges if edge.target == name) for name in self.by_name
        }

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Names so that parents come before their children.

        Raises:
            CyclicTopology: There is no such order.
        """
        sorter = graphlib.TopologicalSorter({component.name: () for component in self.components})
        for edge in self.edges:
            sorter.add(edge.target, edge.source)
        try:
            return tuple(sorter.static_order())
        except graphlib.CycleError as error:
            raise CyclicTopology.single(
                ("edges",),
                seen=f"the cycle {' → '.join(error.args[1])}",
                expected="no cycle between components",
                remedy="remove the stream that closes the cycle",
            ) from None

    @cached_property
    def descendants(self) -> Mapping[str, frozenset[str]]:
        """All that a component feeds, directly or not; without itself."""
        descendants: dict[str, frozenset[str]] = {}
        for name in reversed(self.order):
            below = {edge.target for edge in self.children[name]}
            descendants[name] = frozenset(below.union(*(descendants[child] for child in below)))
        return descendants

    @property
    def leaves(self) -> tuple[str, ...]:
        """Those that feed nobody, in declared order: what they emit is the throughput."""
        return tuple(
            component.name for component in self.components if not self.children[component.name]
        )

    @property
    def sources(self) -> tuple[str, ...]:
        """Where tuples begin, in declared order."""
        return tuple(component.name for component in self.components if component.source)

    def check_allocation(self, allocation: Allocation) -> None:
        """Raise InvalidInput where an allocation names what is not there, or takes units away."""
        findings = Findings()
        for name, units in allocation.items():
            if name not in self.by_name:
                findings.add(
                    name,
                    seen=f"component {name!r}",
                    expected=f"a component of {self.name!r}",
                    remedy=did_you_mean(name, list(self.by_name)),
                )
            check_whole(findings, units, name, least=0, most=MAX_UNITS)
        findings.raise_if_any()


def check_budget(units: int) -> None:
    """Raise InvalidInput for a number of units that cannot be handed out."""
    if not (isinstance(units, int) and 1 <= units <= MAX_UNITS):
        raise InvalidInput.single(
            ("--units",), seen=f"{units}", expected=f"units to hand out, from 1 to {MAX_UNITS}"
        )
