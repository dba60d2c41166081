"""Latency between nodes, from histograms of probes.

One way is half of there and back, and the figure to plan with is the median, which spikes do not
move (Cooper 2020, on transfer latencies). One-way probes depend on the clocks of two nodes and are
used only where nobody measured there and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from streamgauge.lake.histogram import quantile
from streamgauge.lake.records import LinkKind
from streamgauge.pipeline.estimation.catalogue import PROBABILITIES
from streamgauge.profile.figures import Figure, LinkFigures, TimeFigures
from streamgauge.topology.frozen import FrozenDict

_NANOSECONDS = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCounts:
    """Probes from one node to another in the whole period.

    Attributes:
        source: Who probed.
        target: Who was probed.
        kind: Whether the times span both ways.
        total_ns: Sum of the times of all probes that were answered.
        probes: How many these were.
        measurements: Records they came by.
        bins: Probes by their record's mean time, in bins of nanoseconds; nothing where times were
            negative.
    """

    source: str
    target: str
    kind: LinkKind
    total_ns: int
    probes: int
    measurements: int
    bins: Mapping[int, int] = field(default_factory=FrozenDict)


def link_figures(counts: Iterable[LinkCounts]) -> tuple[LinkFigures, ...]:
    """The latency of every link that was measured, by name."""
    best: dict[tuple[str, str], LinkCounts] = {}
    for one in sorted(counts, key=lambda c: (c.source, c.target, c.kind != LinkKind.ROUND_TRIP)):
        if one.probes > 0 and one.total_ns >= 0:
            best.setdefault((one.source, one.target), one)
    return tuple(_figures(one) for one in best.values())


def _figures(counts: LinkCounts) -> LinkFigures:
    ways = 2.0 if counts.kind == LinkKind.ROUND_TRIP else 1.0
    quantiles = {}
    if any(counts.bins.values()):
        quantiles = {
            probability: quantile(counts.bins, probability) / ways / _NANOSECONDS
            for probability in PROBABILITIES
        }
    mean = Figure(
        value=counts.total_ns / counts.probes / ways / _NANOSECONDS,
        samples=counts.probes,
        buckets=counts.measurements,
    )
    return LinkFigures(
        source=counts.source,
        target=counts.target,
        latency=TimeFigures(mean_ms=mean, quantiles_ms=quantiles),
    )
