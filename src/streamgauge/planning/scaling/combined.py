"""The combined scaler: the better of the residual one and Stela.

Puttaswamy 2018, sections 5.2.7 and 5.2.8: Stela wins where few leaves emit most, packages where
many do; which it is cannot be known beforehand, so both are tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from streamgauge.planning.scaling.contract import Scaling, ScalingOptions
from streamgauge.planning.scaling.graph import ScalingGraph
from streamgauge.planning.scaling.rates import FlowModel, format_rate
from streamgauge.planning.scaling.residual import ResidualScaler
from streamgauge.planning.scaling.stela import StelaScaler

# Throughputs that differ by less than this, relatively, are equal.
SAME = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedScaler:
    """Never expects less than Stela.

    Attributes:
        residual: The one that is kept where both expect the same.
    """

    residual: ResidualScaler = field(default_factory=ResidualScaler)
    stela: StelaScaler = field(default_factory=StelaScaler)
    name: str = "combined"

    def describe(self) -> str:
        """The rule in a sentence."""
        return "runs the residual scaler and Stela, and keeps the higher expected throughput"

    def configure(self, options: ScalingOptions) -> CombinedScaler:
        """With the settings of both."""
        return replace(
            self, residual=self.residual.configure(options), stela=self.stela.configure(options)
        )

    def scale(self, graph: ScalingGraph, units: int) -> Scaling:
        """The better of the two; predictive, residual and Stela's are kept with the result."""
        residual = self.residual.scale(graph, units)
        stela = self.stela.scale(graph, units)
        better = stela.expected > residual.expected * (1.0 + SAME)
        best, other = (stela, residual) if better else (residual, stela)
        verdict = (
            f"{best.scaler} expects {format_rate(best.expected)} tuples/s, {other.scaler} "
            f"{format_rate(other.expected)}: {best.scaler} is taken"
        )
        return Scaling.of(
            self.name,
            FlowModel(graph, self.stela.weights),
            best.allocation,
            reasons=(verdict, *best.reasons),
            considered=(*residual.considered, residual, stela),
            candidates=residual.candidates,
        )
