"""Latency per path: how long a tuple takes along each way from a source to a sink.

A path's latency is the sum of the mean delays of its elements. Summaries over the paths of a source
are those that operators of a job ask for first (Cooper 2020, section 4.13): the longest path, the
90th percentile over paths, and the longest way on to an acker as an estimate of complete latency.
They are about means: percentiles of single tuples are `Prediction.by_source`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.crowd_levels import find_levels
from streamgauge.models.end_to_end_latency import Ways
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import load
from streamgauge.models.network import MEDIAN, find_network
from streamgauge.models.parameters import find_parameters
from streamgauge.models.plan_check import check_plan
from streamgauge.topology.paths import (
    count_paths,
    iter_logical_paths,
    iter_paths,
    longest_paths,
    sum_along,
    sum_paths,
)
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import Stream, Subscription
from streamgauge.topology.tuple_flow import ConnectionBlock, Matrix, TupleFlow, as_slice
from streamgauge.topology.workload import Workload

Vector = NDArray[np.float64]

PERCENTILE = 0.9
# Single paths are listed for the percentile; more of them take too long.
MOST_PATHS = 50_000
# A graph may have more sequences of operators than anyone reads.
MOST_LOGICAL_PATHS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LogicalPathLatency:
    """The paths along one sequence of operators, in seconds.

    Attributes:
        paths: How many paths of executors there are.
        mean: Over these paths, each weighted by the part of the tuples that takes it.
        longest: Of the slowest that carries tuples; infinite where an executor is overloaded.
    """

    operators: tuple[str, ...]
    streams: tuple[str, ...]
    paths: int
    mean: float
    longest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePathLatency:
    """All paths from one source, in seconds.

    Attributes:
        paths: How many paths of executors begin there.
        p90: 90th percentile over the same; None where there are too many paths to list.
        longest: Of the slowest.
        complete: Of the slowest that goes on to an acker; None where nothing is acknowledged.
    """

    paths: int
    mean: float
    p90: float | None
    longest: float
    complete: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PathLatencies:
    """Latency by path of a plan under a load.

    Attributes:
        logical: The first 200 sequences of operators.
    """

    by_source: Mapping[str, SourcePathLatency]
    logical: tuple[LogicalPathLatency, ...]

    def to_dict(self) -> dict[str, Any]:
        """A plain document."""
        return {
            "by_source": {name: asdict(row) for name, row in self.by_source.items()},
            "logical": [asdict(row) for row in self.logical],
        }


def predict_paths(
    behaviour: JobBehaviour,
    plan: PhysicalPlan,
    workload: Workload,
    *,
    link_percentile: float = MEDIAN,
) -> PathLatencies:
    """Latency by path, by the delays of the analytic model.

    Raises:
        CyclicTopology: There are infinitely many paths.
        InvalidInput: The plan is of another job, or its engine has no formulas.
    """
    check_plan(behaviour, plan)
    plan.logical.topology.topological_order()
    parameters = find_parameters(behaviour, plan, workload)
    levels = find_levels(parameters, load(parameters))
    network = find_network(plan, behaviour, percentile=link_percentile)
    ways = Ways(parameters, levels, network)
    return _Paths(parameters.flow, ways).summarise()


class _Paths:
    """The paths of a routed plan, with a length for each connection."""

    def __init__(self, flow: TupleFlow, ways: Ways) -> None:
        self._flow = flow
        self._seconds: dict[Subscription, Matrix] = {
            block.stream.subscription: ways.measure_connections(block) for block in flow.blocks
        }

    def summarise(self) -> PathLatencies:
        topology = self._flow.plan.logical.topology
        logical = [
            self._measure_logical(streams)
            for streams in islice(iter_logical_paths(topology), MOST_LOGICAL_PATHS)
        ]
        return PathLatencies(
            by_source={
                source.name: self._measure_source(source.name) for source in topology.sources
            },
            logical=tuple(row for row in logical if row is not None),
        )

    def _measure_logical(self, streams: tuple[Stream, ...]) -> LogicalPathLatency | None:
        sums = sum_along(self._flow, streams, lengths=self._used_seconds)
        longest = sum_along(self._flow, streams, lengths=self._longest_seconds).longest
        weight = float(sums.weight.sum())
        if weight <= 0.0:
            return None
        return LogicalPathLatency(
            operators=(streams[0].source, *(stream.target for stream in streams)),
            streams=tuple(stream.name for stream in streams),
            paths=int(sums.count.sum()),
            mean=float(sums.weighted_length.sum()) / weight,
            longest=float(longest.max()),
        )

    def _measure_source(self, source: str) -> SourcePathLatency:
        flow = self._flow
        span = as_slice(flow.plan.logical.spans[source])
        counts = count_paths(flow)
        paths = sum(number for executor, number in counts.items() if executor.operator == source)
        sums = sum_paths(flow, lengths=self._used_seconds)
        longest = longest_paths(flow, lengths=self._longest_seconds)
        complete = None
        if flow.plan.logical.topology.has_ackers:
            acked = longest_paths(flow, lengths=self._longest_seconds, to_acker=True)
            complete = float(acked[span].max())
        weight = float(sums.weight[span].sum())
        return SourcePathLatency(
            paths=paths,
            mean=float(sums.weighted_length[span].sum()) / weight if weight > 0.0 else math.nan,
            p90=self._find_percentile(source) if 0 < paths <= MOST_PATHS else None,
            longest=float(longest[span].max()),
            complete=complete,
        )

    def _find_percentile(self, source: str) -> float:
        """Over all paths of a source, each weighted by the part of the tuples that takes it."""
        blocks = {block.stream.subscription: block for block in self._flow.blocks}
        seconds, weights = [], []
        for path in iter_paths(self._flow, source=source):
            total, weight = 0.0, 1.0
            for connection in path.connections:
                key = connection.stream.subscription
                block = blocks[key]
                row = connection.source - block.sources.start
                column = connection.target - block.targets.start
                weight *= float(block.shares[row, column])
                total += float(self._seconds[key][row, column])
            if weight > 0.0:
                seconds.append(total)
                weights.append(weight)
        return _weighted_quantile(np.asarray(seconds), np.asarray(weights), PERCENTILE)

    def _used_seconds(self, block: ConnectionBlock) -> Matrix:
        """Lengths for sums: connections without tuples may be infinite, and count for nothing."""
        return np.where(block.shares > 0.0, self._seconds[block.stream.subscription], 0.0)

    def _longest_seconds(self, block: ConnectionBlock) -> Matrix:
        """Lengths for maxima: connections without tuples are on no path."""
        return np.where(block.shares > 0.0, self._seconds[block.stream.subscription], -np.inf)


def _weighted_quantile(values: Vector, weights: Vector, probability: float) -> float:
    """The smallest value up to which so much of the weight lies."""
    if not len(values):
        return math.nan
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    place = int(np.searchsorted(reached, probability * (1.0 - 1e-12)))
    return float(values[order][min(place, len(values) - 1)])
