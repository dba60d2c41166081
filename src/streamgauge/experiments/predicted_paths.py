"""What models say of single paths, under the names that measured figures have.

Times along paths are sums of mean delays. The thesis that first made such predictions (Cooper 2020)
judges them by a mean over paths whose ends have one clock, and by the 90th percentile over paths of
the time until an acker has heard of all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from streamgauge.experiments.figures import ALL, TWO_CLOCKS, FigureKind, Key
from streamgauge.experiments.predicted_figures import Predicted
from streamgauge.models.delays import Delays, find_delays
from streamgauge.models.end_to_end_latency import Ways, list_onward
from streamgauge.models.latency_by_path import MOST_LOGICAL_PATHS
from streamgauge.models.load_limit import Loaded, machine_of_executor
from streamgauge.models.network import find_network
from streamgauge.models.parameters import Parameters
from streamgauge.models.storm_tracer import storm_tracer_delays
from streamgauge.models.uncontended import single_servers, uncontended_load
from streamgauge.topology.paths import iter_logical_paths
from streamgauge.topology.topology import ACK_INIT, ACKER, Stream, Subscription
from streamgauge.topology.tuple_flow import ConnectionBlock, Matrix, as_slice

Vector = NDArray[np.float64]
# By executors of source and sink: tuples a second, their time, and that since due.
Walked = tuple[Matrix, Matrix, Matrix]

# The form of what the thesis compares with a measured figure of another kind.
THESIS = "thesis"
# The thesis takes this percentile of the paths of a source for its complete latency.
PATH_PERCENTILE = 0.9
# Paths of executors that are listed at once; of more, so many are drawn.
MOST_PATHS = 500_000


def find_model_delays(model: str, parameters: Parameters, loaded: Loaded) -> Delays | None:
    """The delays in a plan's elements by a model; None for one that keeps none."""
    if model == "analytic":
        return find_delays(parameters, loaded.service)
    if model == "storm-tracer":
        return storm_tracer_delays(
            parameters, uncontended_load(parameters, single_servers(parameters))
        )
    return None


class PredictedPaths:
    """Mean times along the paths of a plan, by the delays of a model."""

    def __init__(self, parameters: Parameters, delays: Delays) -> None:
        self._parameters, self._late = parameters, delays.lateness
        self._flow = parameters.flow
        network = find_network(self._flow.plan, parameters.behaviour)
        ways = Ways(parameters, delays, network)
        self._seconds: dict[Subscription, Matrix] = {
            block.stream.subscription: ways.measure_connections(block)
            for block in self._flow.blocks
        }
        self._blocks = {block.stream.subscription: block for block in self._flow.blocks}
        machine = machine_of_executor(self._flow.plan)
        self._one_clock = np.equal.outer(machine, machine)

    def list_figures(self) -> Iterator[Predicted]:
        """Means by path, since emission and since due; and what the thesis makes of them."""
        topology = self._flow.plan.logical.topology
        listed = list(islice(iter_logical_paths(topology), MOST_LOGICAL_PATHS))
        walked: dict[tuple[str, ...], list[Walked]] = {}
        for streams in listed:
            # A trace ends where its tuple enters a window.
            if topology.operator(streams[-1].target).window is None:
                operators = (streams[0].source, *(stream.target for stream in streams))
                walked.setdefault(operators, []).append(self._walk(streams))
        for operators, parts in walked.items():
            yield from self._list_path(operators, parts)
        yield from self._list_ground_truth(walked)
        if topology.has_ackers:
            for source in topology.sources:
                of_source = [streams for streams in listed if streams[0].source == source.name]
                yield from self._list_complete(source.name, of_source)

    def _walk(self, streams: Sequence[Stream]) -> Walked:
        """All paths along these streams."""
        blocks = [self._blocks[stream.subscription] for stream in streams]
        lengths = [self._used(block) for block in blocks]
        tuples, times = self._add_up(blocks, [np.where(np.isinf(one), 0.0, one) for one in lengths])
        _, stuck = self._add_up(blocks, [np.isinf(one).astype(np.float64) for one in lengths])
        times = np.where(stuck > 0.0, np.inf, times)
        late = np.full(len(tuples), math.nan)
        if self._late is not None:
            late = self._late.mean[as_slice(blocks[0].sources)]
        waited = np.where(tuples > 0.0, tuples, 0.0) * np.where(np.isinf(late), 0.0, late)[:, None]
        endless = (tuples > 0.0) & np.isinf(late)[:, None]
        return tuples, times, np.where(endless, np.inf, times + waited)

    def _add_up(
        self, blocks: Sequence[ConnectionBlock], lengths: Sequence[Matrix]
    ) -> tuple[Matrix, Matrix]:
        """Tuples a second by executors of both ends, and the lengths of their paths added up."""
        first = blocks[0]
        tuples = self._parameters.rates.emitted[first.stream.key][:, np.newaxis] * first.shares
        total = tuples * lengths[0]
        for (before, block), length in zip(pairwise(blocks), lengths[1:], strict=True):
            gain = self._gain(before, block)
            total = (total * gain) @ block.shares + (tuples * gain) @ (block.shares * length)
            tuples = (tuples * gain) @ block.shares
        return tuples, total

    def _used(self, block: ConnectionBlock) -> Matrix:
        """Seconds on each connection; those without tuples may be infinite, and count nothing."""
        return np.where(block.shares > 0.0, self._seconds[block.stream.subscription], 0.0)

    def _gain(self, before: ConnectionBlock, block: ConnectionBlock) -> Vector:
        """Tuples on a block for each that arrived by the one before it, by executor."""
        (gain,) = [
            factor
            for other, factor in list_onward(self._parameters, before)
            if other.stream.subscription == block.stream.subscription
        ]
        return gain

    def _clocks(self, source: str, sink: str) -> dict[str, NDArray[np.bool_]]:
        spans = self._flow.plan.logical.spans
        alike = self._one_clock[as_slice(spans[source]), as_slice(spans[sink])]
        return {"": alike, TWO_CLOCKS: ~alike}

    def _list_path(
        self, operators: tuple[str, ...], parts: Iterable[Walked]
    ) -> Iterator[Predicted]:
        tuples, times, since_due = (np.sum(each, axis=0) for each in zip(*parts, strict=True))
        for clocks, mask in self._clocks(operators[0], operators[-1]).items():
            weight = float(np.sum(tuples, where=mask))
            if weight <= 0.0:
                continue
            subject = " → ".join(operators) + clocks
            for kind, total in ((FigureKind.PATH, times), (FigureKind.PATH_SINCE_DUE, since_due)):
                value = float(np.sum(total, where=mask)) / weight
                yield Predicted(Key(kind, subject, "mean"), value)

    def _list_ground_truth(
        self, walked: Mapping[tuple[str, ...], Sequence[Walked]]
    ) -> Iterator[Predicted]:
        """Mean over paths whose ends have one clock, each weighted by the tuples that take it."""
        weight = total = 0.0
        for operators, parts in walked.items():
            alike = self._clocks(operators[0], operators[-1])[""]
            for tuples, times, _ in parts:
                weight += float(np.sum(tuples, where=alike))
                total += float(np.sum(times, where=alike))
        if weight > 0.0:
            yield Predicted(Key(FigureKind.GROUND_TRUTH, ALL, "mean"), total / weight)

    def _list_complete(
        self, source: str, listed: Sequence[tuple[Stream, ...]]
    ) -> Iterator[Predicted]:
        """90th percentile over paths of the time until the acker has heard of all of one.

        From the acker's hearing of the root to its hearing of the sink (Cooper 2020, section
        4.13.5); the thesis compares it with the median of what was measured.
        """
        found = [self._complete(streams) for streams in listed]
        values = np.concatenate(found) if found else np.zeros(0)
        if len(values):
            # One of the paths, as between a finite and an infinite one there is nothing.
            value = float(np.quantile(values, PATH_PERCENTILE, method="inverted_cdf"))
            yield Predicted(Key(FigureKind.COMPLETE, source, "p50"), value, THESIS)

    def _complete(self, streams: Sequence[Stream]) -> Vector:
        """Of every path of executors along these streams, and every acker."""
        blocks = [self._blocks[stream.subscription] for stream in streams]
        sizes = [len(blocks[0].sources), *(len(block.targets) for block in blocks)]
        init, ack = (
            self._to_acker(streams[0].source, init=True),
            self._to_acker(streams[-1].target, init=False),
        )
        sizes.append(len(init.targets))
        places = _list_places(sizes)
        seconds = np.zeros(len(places))
        used = np.ones(len(places), dtype=bool)
        for step, block in enumerate(blocks):
            rows, columns = places[:, step], places[:, step + 1]
            seconds += self._seconds[block.stream.subscription][rows, columns]
            used &= block.shares[rows, columns] > 0.0
        acker = places[:, -1]
        seconds += self._seconds[ack.stream.subscription][places[:, -2], acker]
        heard = self._seconds[init.stream.subscription][places[:, 0], acker]
        # By an acker that is overloaded no time is known.
        known = used & np.isfinite(heard)
        return np.asarray(seconds[known] - heard[known])

    def _to_acker(self, operator: str, *, init: bool) -> ConnectionBlock:
        (found,) = [
            block
            for block in self._flow.blocks
            if block.stream.target == ACKER
            and block.stream.source == operator
            and (block.stream.name == ACK_INIT) is init
        ]
        return found


def _list_places(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Every choice of one place out of each size, or a fixed draw where there are too many."""
    if math.prod(sizes) <= MOST_PATHS:
        return np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
    random = np.random.default_rng(0)
    return np.stack([random.integers(0, size, MOST_PATHS) for size in sizes], axis=1)
