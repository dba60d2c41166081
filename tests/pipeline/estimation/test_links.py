"""Latency between nodes."""

import pytest

from streamgauge.lake.histogram import histogram_of, quantile
from streamgauge.lake.records import LinkKind
from streamgauge.pipeline.estimation.assembly import LinkCounts, link_figures


def counts(kind, times_ns, source="n1", target="n2"):
    return LinkCounts(
        source=source,
        target=target,
        kind=kind,
        total_ns=10 * sum(times_ns),
        probes=10 * len(times_ns),
        measurements=len(times_ns),
        bins={one: 10 * number for one, number in histogram_of(times_ns).items()},
    )


def test_one_way_is_half_of_there_and_back():
    times = [200_000, 220_000, 900_000]
    (link,) = link_figures([counts(LinkKind.ROUND_TRIP, times)])
    assert (link.source, link.target) == ("n1", "n2")
    assert link.latency.mean_ms.value == pytest.approx(0.22)
    assert (link.latency.mean_ms.samples, link.latency.mean_ms.buckets) == (30, 3)
    median = quantile(histogram_of(times), 0.5) / 2e6
    assert link.latency.quantiles_ms[0.5] == pytest.approx(median)


def test_one_way_probes_are_used_only_without_others():
    there, one_way = counts(LinkKind.ROUND_TRIP, [200_000]), counts(LinkKind.ONE_WAY, [500_000])
    assert link_figures([one_way, there])[0].latency.mean_ms.value == pytest.approx(0.1)
    assert link_figures([one_way])[0].latency.mean_ms.value == pytest.approx(0.5)


def test_links_stand_in_order_and_unanswered_ones_are_missing():
    silent = LinkCounts(
        source="a", target="b", kind=LinkKind.ROUND_TRIP, total_ns=0, probes=0, measurements=3
    )
    later = counts(LinkKind.ROUND_TRIP, [1], source="z")
    found = link_figures([later, silent, counts(LinkKind.ROUND_TRIP, [1])])
    assert [link.source for link in found] == ["n1", "z"]
