"""Random graphs to judge scalers on: trees with joins, some components congested, some not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamgauge.errors import Findings
from streamgauge.planning.scaling.graph import (
    Component,
    Edge,
    LinearLaw,
    ScalingGraph,
    ScalingLaw,
    TableLaw,
)
from streamgauge.topology.field_checks import check_number, check_whole

MEAN_RATE = 1000.0
TABLE_LENGTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomGraphs:
    """How random graphs are made.

    Attributes:
        components: How many there are, the source included.
        joins: Expected number of further parents of a component.
        tables: Part of the components whose units do less the more there are.
        tightest: Capacity as a part of what arrives, at least …
        widest: … and at most; drawn evenly on a logarithmic scale.
        most_units: Units that a component has at most.
    """

    components: int = 10
    joins: float = 0.25
    tables: float = 0.0
    tightest: float = 0.5
    widest: float = 2.0
    most_units: int = 3

    def __post_init__(self) -> None:
        findings = Findings()
        check_whole(findings, self.components, "components", least=2)
        check_whole(findings, self.most_units, "most_units")
        check_number(findings, self.joins, "joins", most=10.0)
        check_number(findings, self.tables, "tables", most=1.0)
        check_number(findings, self.tightest, "tightest", above=0.0)
        check_number(findings, self.widest, "widest", least=self.tightest)
        findings.raise_if_any()

    def make(self, seed: int) -> ScalingGraph:
        """The graph of that seed: always the same one."""
        rng = np.random.default_rng(seed)
        edges = self._edges(rng)
        arriving = [0.0] * self.components
        made = []
        for index in range(self.components):
            component = self._component(rng, index, arriving[index])
            made.append(component)
            capacity = component.law.rate(component.units)
            output = min(arriving[index], capacity) * component.out_per_in if index else capacity
            for parent, child, share in edges:
                if parent == index:
                    arriving[child] += output * share
        return ScalingGraph(
            name=f"random {seed}",
            components=tuple(made),
            edges=tuple(Edge(source=f"c{a}", target=f"c{b}", share=share) for a, b, share in edges),
        )

    def _edges(self, rng: np.random.Generator) -> list[tuple[int, int, float]]:
        """Every component has a parent among those before it; a parent's output is divided."""
        weights = {}
        for child in range(1, self.components):
            # Parents close by make long paths, as jobs have them.
            near = range(max(0, child - 4), child)
            number = min(len(near), 1 + int(rng.poisson(self.joins)))
            for parent in sorted(rng.choice(near, size=number, replace=False).tolist()):
                weights[parent, child] = float(rng.uniform(0.2, 1.0))
        totals = [0.0] * self.components
        for (parent, _), weight in weights.items():
            totals[parent] += weight
        return [(a, b, weight / totals[a]) for (a, b), weight in weights.items()]

    def _component(self, rng: np.random.Generator, index: int, arriving: float) -> Component:
        units = int(rng.integers(1, self.most_units + 1))
        part = float(np.exp(rng.uniform(np.log(self.tightest), np.log(self.widest))))
        per_unit = (arriving * part if index else MEAN_RATE) / units
        law: ScalingLaw = LinearLaw(per_unit=per_unit)
        if index and float(rng.random()) < self.tables:
            law = TableLaw(rates=tuple(per_unit * (n + 1) ** 0.8 for n in range(TABLE_LENGTH)))
        return Component(
            name=f"c{index}",
            units=units,
            law=law,
            source=not index,
            out_per_in=float(rng.choice((0.5, 1.0, 1.0, 1.0, 2.0))) if index else 1.0,
        )
