"""What a scaler is, what users may set of it, and which ones are installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, Self, runtime_checkable

from streamgauge.planning.scaling.graph import Allocation, ScalingGraph
from streamgauge.planning.scaling.packages import Package
from streamgauge.planning.scaling.rates import CongestionRule, Flow, FlowModel
from streamgauge.plugins import SCALERS, load_plugin, plugin_names
from streamgauge.topology.frozen import FrozenDict


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Who gets how many more units.

    Attributes:
        allocation: Additional units; only components that get some.
        throughput: Tuples per second that all leaves emit, before anything is added.
        expected: The same with the allocation.
        reasons: One line for each decision, in the order they were made.
        bound: No allocation of as many units has a higher throughput than this, where it is known.
        considered: What it was made or chosen from, where a scaler has others work for it.
        candidates: The packages that were considered, where a scaler chooses packages.
    """

    scaler: str
    allocation: Allocation = field(default_factory=FrozenDict)
    throughput: float
    expected: float
    reasons: tuple[str, ...] = ()
    bound: float | None = None
    considered: tuple[Scaling, ...] = ()
    candidates: tuple[Package, ...] = ()

    @classmethod
    def of(
        cls,
        scaler: str,
        model: FlowModel,
        allocation: Allocation,
        *,
        reasons: Iterable[str] = (),
        bound: float | None = None,
        considered: Iterable[Scaling] = (),
        candidates: Iterable[Package] = (),
    ) -> Scaling:
        """With the throughputs that the model expects."""
        return cls(
            scaler=scaler,
            allocation=allocation,
            throughput=model.throughput(model.flow()),
            expected=model.throughput(model.flow(allocation)),
            reasons=tuple(reasons),
            bound=bound,
            considered=tuple(considered),
            candidates=tuple(candidates),
        )

    def __post_init__(self) -> None:
        given = {name: units for name, units in self.allocation.items() if units}
        object.__setattr__(self, "allocation", FrozenDict(given))
        for name in ("reasons", "considered", "candidates"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def increase(self) -> float:
        """What is gained."""
        return self.expected - self.throughput

    @property
    def units(self) -> int:
        """Units handed out; a scaler may leave some unused."""
        return sum(self.allocation.values())


class TieRule(StrEnum):
    """Who gets the unit among those of equal percentage.

    FIRST: the one declared first.
    LAST: the one declared last.
    MOST_DROPPED: the one that drops most, then the one declared first.
    """

    FIRST = "first"
    LAST = "last"
    MOST_DROPPED = "most-dropped"

    def choose(self, tied: Sequence[int], flow: Flow) -> int:
        """One of several, which are in declared order."""
        if self is TieRule.FIRST:
            return tied[0]
        if self is TieRule.LAST:
            return tied[-1]
        return max(tied, key=lambda index: flow.inputs[index] - flow.capacities[index])


class Selection(StrEnum):
    """How packages are chosen.

    GREEDY: by what a unit gains, as published.
    KNAPSACK: the set that gains most.
    """

    GREEDY = "greedy"
    KNAPSACK = "knapsack"


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


class Scaler(Protocol):
    """Hands out units to the components of a graph."""

    @property
    def name(self) -> str:
        """What it is registered as."""
        ...

    def describe(self) -> str:
        """One sentence on the rule it follows."""
        ...

    def scale(self, graph: ScalingGraph, units: int) -> Scaling:
        """At most so many units, handed out; the graph stays as it is."""
        ...


@runtime_checkable
class ConfigurableScaler(Scaler, Protocol):
    """A scaler with settings that users can change."""

    def configure(self, options: ScalingOptions) -> Self:
        """The scaler with the settings that concern its rule."""
        ...


def merge_allocations(first: Allocation, second: Allocation) -> Mapping[str, int]:
    """Component by component the sum: {A: 1, B: 2} and {B: 2} make {A: 1, B: 4}."""
    names = dict.fromkeys((*first, *second))
    return FrozenDict({name: first.get(name, 0) + second.get(name, 0) for name in names})


def scaler_names() -> tuple[str, ...]:
    """The names of all installed scalers."""
    return plugin_names(SCALERS)


def load_scaler(name: str) -> Scaler:
    """The scaler of that name, or InvalidInput with the known names."""
    scaler: Scaler = load_plugin(SCALERS, name, ("--planner",))()
    return scaler
