"""Rates that were measured of components, and how far the estimates of a graph are from them.

The metrics of Puttaswamy 2018, section 6.1: what arrives, what a full queue threw away, what was
processed and what was emitted. A lake has the same under other names: `queue_drops`, `executed`
and `emitted`; what arrived is the sum of the first two. In section 6.2.3 a topology is run with the
units of an allocation, and what every component processes is compared with the estimate; most were
within 10 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from streamgauge.errors import Findings, NotEnoughData, did_you_mean
from streamgauge.planning.scaling.graph import Allocation, ScalingGraph, TableLaw
from streamgauge.planning.scaling.rates import NOTHING, propagate
from streamgauge.profile.figures import Figure
from streamgauge.profile.profile import Profile
from streamgauge.topology.field_checks import check_number
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import OperatorKind

BAND = 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRates:
    """One component in a run, in tuples per second.

    Attributes:
        processed: Executed; of a source what it emitted.
        dropped: Thrown away before it; nothing where nobody looked.
        output: Emitted on all streams, each tuple once; None where nobody counted. Of a leaf what
            it processed: that is what the job delivers.
    """

    processed: float
    dropped: float = 0.0
    output: float | None = None

    @property
    def input(self) -> float:
        """All that arrived (eq. 3)."""
        return self.processed + self.dropped


def measured_rates(profile: Profile) -> dict[str, MeasuredRates]:
    """By operator, as far as what it processed was measured."""
    topology = profile.topology
    rates = {}
    for operator in topology.operators:
        name, tasks = operator.name, profile.tasks_of(operator.name).values()
        into = {stream.key for stream in topology.streams_into(name)}
        out_of = {stream.name for stream in topology.streams_from(name)}
        output = _add_up(
            figures.per_second
            for task in tasks
            for stream, figures in task.outputs.items()
            if stream in out_of
        )
        processed = output
        if operator.kind is not OperatorKind.SOURCE:
            processed = _add_up(
                figures.per_second
                for task in tasks
                for key, figures in task.inputs.items()
                if key in into
            )
        if processed is not None:
            dropped = _add_up(
                executor.receive.drops_per_second
                for label, executor in profile.executors.items()
                if Executor.parse(label).operator == name and executor.receive is not None
            )
            rates[name] = MeasuredRates(
                processed=processed, dropped=dropped or 0.0, output=output if out_of else processed
            )
    return rates


def _add_up(figures: Iterable[Figure | None]) -> float | None:
    """The sum of those that were measured; None where none was."""
    values = [figure.value for figure in figures if figure is not None]
    return math.fsum(values) if values else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A rate in a run, and by the graph, in tuples per second."""

    measured: float
    estimated: float

    @property
    def relative_error(self) -> float:
        """By which part of what was measured the estimate is too high."""
        if self.measured == self.estimated:
            return 0.0
        if self.measured <= 0.0:
            return math.inf
        return (self.estimated - self.measured) / self.measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """All that was measured, against the estimates.

    Attributes:
        components: What each processes; of a source, what it emits.
        throughput: Of the whole; None where a leaf was not measured.
        band: Relative error up to which an estimate counts as right.
    """

    components: Mapping[str, Compared]
    throughput: Compared | None
    missing: tuple[str, ...] = ()
    band: float = BAND

    def is_within(self, compared: Compared) -> bool:
        """Whether a rate is inside the band."""
        return abs(compared.relative_error) <= self.band

    @property
    def outside(self) -> tuple[str, ...]:
        """Components beyond the band, the worst first."""
        wrong = [name for name, rate in self.components.items() if not self.is_within(rate)]
        return tuple(sorted(wrong, key=lambda name: -abs(self.components[name].relative_error)))

    @property
    def share_within(self) -> float:
        """Part of the components measured that are inside the band."""
        return 1.0 - len(self.outside) / len(self.components)

    def to_dict(self) -> dict[str, Any]:
        """A record for ``--json`` and the REST service; infinite errors are left out."""
        return {
            "band": self.band,
            "share_within": self.share_within,
            "throughput": None if self.throughput is None else self._row(self.throughput),
            "components": {name: self._row(rate) for name, rate in self.components.items()},
            "missing": list(self.missing),
        }

    def _row(self, compared: Compared) -> dict[str, Any]:
        error = compared.relative_error
        return {
            "measured_per_second": compared.measured,
            "estimated_per_second": compared.estimated,
            "relative_error": error if math.isfinite(error) else None,
            "within": self.is_within(compared),
        }


def accuracy_of(
    graph: ScalingGraph,
    measured: Mapping[str, float],
    allocation: Allocation = NOTHING,
    *,
    band: float = BAND,
) -> Accuracy:
    """What a graph says of a run with so many units more, against what was measured in it.

    What components processed, and sources emitted, need not be known of all.

    Raises:
        InvalidInput: A rate of what is not there, or one that is none.
        NotEnoughData: Nothing was measured.
    """
    findings = Findings()
    for name, rate in measured.items():
        if name not in graph.by_name:
            findings.add(
                name,
                seen=f"a rate of {name!r}",
                expected=f"a component of {graph.name!r}",
                remedy=did_you_mean(name, list(graph.by_name)),
            )
        check_number(findings, rate, name)
    check_number(findings, band, "band")
    findings.raise_if_any()
    if not measured:
        raise NotEnoughData(f"no rate of {graph.name!r} was measured: nothing to compare with")
    estimated = propagate(graph, allocation)
    names = [component.name for component in graph.components]
    whole = None
    if all(leaf in measured for leaf in graph.leaves):
        left = math.fsum(measured[leaf] * graph.by_name[leaf].out_per_in for leaf in graph.leaves)
        whole = Compared(measured=left, estimated=estimated.throughput)
    return Accuracy(
        components={
            name: Compared(measured=measured[name], estimated=estimated[name].processed)
            for name in names
            if name in measured
        },
        throughput=whole,
        missing=tuple(name for name in names if name not in measured),
        band=band,
    )


def compare_with_run(graph: ScalingGraph, run: Profile, *, band: float = BAND) -> Accuracy:
    """Rates that were measured in a run against the graph's, for the run's executors and load.

    The graph may come from any run of the job or from its description; the run is one of the same
    job, for example after it was scaled out.

    Raises:
        NotEnoughData: The run has no rates of the graph's components.
    """
    measured = measured_rates(run)
    components = []
    for component in graph.components:
        units, law = component.units, component.law
        if component.name in run.topology.operator_names:
            units = run.configuration.executors_of(component.name)
        if component.source and component.name in measured:
            emitted = measured[component.name].processed
            law = TableLaw(rates=(emitted, emitted))
        components.append(replace(component, units=units, law=law, most_units=None))
    processed = {
        component.name: measured[component.name].processed
        for component in components
        if component.name in measured and not component.source
    }
    return accuracy_of(replace(graph, components=tuple(components)), processed, band=band)
