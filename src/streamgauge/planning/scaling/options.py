"""What a user may set for scalers; each scaler uses the settings that concern its rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamgauge.planning.scaling.congestion import CongestionRule
from streamgauge.planning.scaling.contract import ConfigurableScaler, Scaler
from streamgauge.planning.scaling.predictive import Selection
from streamgauge.planning.scaling.stela import TieRule
from streamgauge.topology.frozen import FrozenDict


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingOptions:
    """Settings of the published scalers.

    Attributes:
        ties: Which component gets a unit where several reach as much of the throughput (Stela).
        selection: How packages are chosen (predictive, residual, combined).
        recheck: Whether packages that were chosen are checked together (the same).
        drop_threshold: Tuples per second that a component may drop before it counts as congested.
        sink_weights: What a tuple of a sink counts in the throughput; 1 where it is not named.
    """

    ties: TieRule = TieRule.FIRST
    selection: Selection = Selection.GREEDY
    recheck: bool = False
    drop_threshold: float = 0.0
    sink_weights: Mapping[str, float] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sink_weights", FrozenDict(self.sink_weights))

    @property
    def rule(self) -> CongestionRule:
        """When a component counts as congested."""
        return CongestionRule(drop_threshold=self.drop_threshold)

    def apply(self, scaler: Scaler) -> Scaler:
        """The scaler with these settings; one that takes no settings stays as it is."""
        return scaler.configure(self) if isinstance(scaler, ConfigurableScaler) else scaler


DEFAULT_OPTIONS = ScalingOptions()
