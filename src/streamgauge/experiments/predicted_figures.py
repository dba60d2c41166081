"""What predictions say, figure by figure, under the names that measured figures have.

A prediction can be held against the truth wherever both have a figure of one key. Stages come from
the parameters that all models share; latencies, rates and cores from each model's prediction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.experiments.figures import ALL, FROM, QUANTILES, FigureKind, Key
from streamgauge.experiments.stages import name_input, name_output, name_route
from streamgauge.models.arrival_variability import bursts_into
from streamgauge.models.batching import list_sizes
from streamgauge.models.end_to_end_latency import Latency
from streamgauge.models.intervals import Interval, Intervals
from streamgauge.models.load_limit import Loaded, load
from streamgauge.models.parameters import Parameters
from streamgauge.models.prediction import Prediction
from streamgauge.models.queueing import divide_or
from streamgauge.models.storm_tracer import list_connections
from streamgauge.topology.topology import ACKER, OperatorKind, StreamKey

Vector = NDArray[np.float64]

# Forms of what is predicted in several ways.
MAP_WEIGHTED = "map-weighted"
TUPLE_WEIGHTED = "tuple-weighted"


class Predicted(NamedTuple):
    """A predicted figure, and in which way it was predicted where there are several.

    `low` and `high` are the ends of its interval; NaN where that is not known.
    """

    key: Key
    value: float
    form: str = ""
    low: float = math.nan
    high: float = math.nan

    def within(self, interval: Interval | None, scale: float = 1.0) -> Predicted:
        """The same with an interval of a figure of which this is so many times as much."""
        if interval is None:
            return self
        return self._replace(low=scale * interval.low, high=scale * interval.high)


# Nothing is known of chance.
NO_INTERVALS = Intervals(window_seconds=math.nan)


def list_model_figures(
    prediction: Prediction, intervals: Intervals = NO_INTERVALS
) -> Iterator[Predicted]:
    """What a model says of the whole job, with intervals where they are known."""
    latencies = {
        FigureKind.LATENCY: prediction.by_source,
        FigureKind.SINCE_DUE: prediction.since_due_by_source,
    }
    for kind, by_source in latencies.items():
        for source, latency in by_source.items():
            name = _name_latency(kind, source, alone=len(prediction.by_source) == 1)
            yield from _list_latency(kind, f"{FROM}{source}", latency, intervals, name)
    if prediction.complete is not None:
        name = "complete (engine)"
        yield from _list_latency(FigureKind.COMPLETE, ALL, prediction.complete, intervals, name)
    for name, operator in prediction.operators.items():
        if name != ACKER:
            for quantity, figure in (
                ("emitted_per_second", "tuples_out_per_second"),
                ("executed_per_second", "arrived_per_second"),
            ):
                found = Predicted(
                    Key(FigureKind.THROUGHPUT, name, quantity), getattr(operator, figure)
                )
                yield found.within(intervals.of("operator", name, figure))
    for worker in prediction.workers:
        found = Predicted(Key(FigureKind.CPU, f"worker {worker.name}", "cores"), worker.cores)
        yield found.within(intervals.of("worker", worker.name, "cores"))
    flow = prediction.bytes
    if flow is not None and flow.is_known and not flow.unknown:
        for sender in flow.workers:
            key = Key(FigureKind.NETWORK, f"worker {sender.name}", "sent_per_second")
            yield Predicted(key, sender.sent_bytes_per_second)
    for machine in prediction.machines:
        cores = machine.in_use * machine.cores
        found = Predicted(Key(FigureKind.CPU, f"machine {machine.name}", "cores"), cores)
        yield found.within(intervals.of("machine", machine.name, "in_use"), machine.cores)
    limit = Predicted(Key(FigureKind.LOAD, ALL, "carried_per_second"), prediction.limit.per_second)
    yield limit.within(intervals.of("job", "", "highest_rate"))


def _name_latency(kind: FigureKind, source: str, *, alone: bool) -> str:
    """As predictions name what they say of one source's tuples."""
    due = kind is FigureKind.SINCE_DUE
    if alone:
        return "since due" if due else "source to sink"
    return f"from {source}, since due" if due else f"from {source}"


def _list_latency(
    kind: FigureKind, subject: str, latency: Latency, intervals: Intervals, name: str
) -> Iterator[Predicted]:
    mean = Predicted(Key(kind, subject, "mean"), latency.mean)
    yield mean.within(intervals.of("latency", name, "mean"))
    for quantity, probability in QUANTILES.items():
        unknown = math.inf if math.isinf(latency.mean) else math.nan
        value = latency.quantiles.get(probability, unknown)
        quantile = Predicted(Key(kind, subject, quantity), value)
        yield quantile.within(intervals.of("latency", name, quantity))


@dataclass(frozen=True, kw_only=True)
class PredictedStages:
    """The stages of a prediction before its queues.

    Attributes:
        parameters: Of the plan.
        labels: What the engine calls each executor of the plan.
        measured: Figures of the plan as it ran: outputs are predicted from its inputs.
    """

    parameters: Parameters
    labels: Sequence[str]
    measured: Mapping[Key, float]

    @cached_property
    def loaded(self) -> Loaded:
        """What threads do to each other."""
        return load(self.parameters)

    def list_figures(self) -> Iterator[Predicted]:
        """All of them."""
        yield from self._list_routes()
        yield from self._list_arrivals()
        yield from self._list_outputs()
        yield from self._list_services()
        if self.parameters.mechanics.send_threads:
            yield from self._list_lists()

    def _list_routes(self) -> Iterator[Predicted]:
        for block in self.parameters.flow.data_blocks:
            stream = block.stream
            totals = block.shares.sum(axis=1)
            for row, sender in enumerate(block.sources):
                for column, receiver in enumerate(block.targets):
                    if totals[row] > 0.0:
                        subject = name_route(
                            stream.source,
                            stream.name,
                            stream.target,
                            self.labels[sender],
                            self.labels[receiver],
                        )
                        share = float(block.shares[row, column] / totals[row])
                        yield Predicted(Key(FigureKind.ROUTING, subject, "share"), share)

    def _list_arrivals(self) -> Iterator[Predicted]:
        flow, rates = self.parameters.flow, self.parameters.rates
        for name, span in flow.plan.logical.spans.items():
            if flow.plan.logical.topology.operator(name).kind is not OperatorKind.PROCESSOR:
                continue
            came = rates.into(flow, name, system=False)
            for place, value in zip(span, came.tolist(), strict=True):
                yield Predicted(Key(FigureKind.ARRIVAL, self.labels[place], "per_second"), value)
            yield Predicted(Key(FigureKind.ARRIVAL, name, "per_second"), float(came.sum()))

    def _list_outputs(self) -> Iterator[Predicted]:
        """Coefficients times what was measured to come in (Cooper 2020, section 5.4.2)."""
        logical = self.parameters.flow.plan.logical
        for name, conversion in self.parameters.conversions.items():
            inputs: dict[str, list[tuple[StreamKey, Vector]]] = {}
            for (key, stream), coefficients in conversion.per_input.items():
                inputs.setdefault(stream, []).append((key, coefficients))
            for rank, place in enumerate(logical.spans[name]):
                label = self.labels[place]
                for stream, parts in inputs.items():
                    came = [
                        self._measure(FigureKind.ARRIVAL, name_input(label, key.source, key.name))
                        for key, _ in parts
                    ]
                    value = math.fsum(
                        float(each[rank]) * rate
                        for (_, each), rate in zip(parts, came, strict=True)
                    )
                    yield self._output(label, stream, value)
                fired = self._measure(FigureKind.OUTPUT, label, "triggers_per_second")
                for stream, count in conversion.per_trigger.items():
                    yield self._output(label, stream, count * fired)

    def _output(self, label: str, stream: str, value: float) -> Predicted:
        return Predicted(Key(FigureKind.OUTPUT, name_output(label, stream), "per_second"), value)

    def _measure(self, kind: FigureKind, subject: str, quantity: str = "per_second") -> float:
        return self.measured.get(Key(kind, subject, quantity), 0.0)

    def _list_services(self) -> Iterator[Predicted]:
        logical, cpu = self.parameters.flow.plan.logical, self.parameters.works.tuples.cpu
        wall = self.loaded.service.mean
        for place, executor in enumerate(logical.executors):
            if executor.operator == ACKER:
                continue
            values = {"wall": float(wall[place]), "cpu": float(cpu[place])}
            if cpu[place] > 0.0:
                values["slowdown"] = float(wall[place] / cpu[place])
            for quantity, value in values.items():
                yield Predicted(Key(FigureKind.SERVICE, self.labels[place], quantity), value)

    def _list_lists(self) -> Iterator[Predicted]:
        """Tuples in a list: by bursts as in the analytic model, and by both forms of eq. 4.30."""
        forms = {"": bursts_into(self.parameters).mean, **_size_lists(self.parameters)}
        for form, sizes in forms.items():
            for label, size in zip(self.labels, sizes.tolist(), strict=True):
                if size > 0.0:
                    key = Key(FigureKind.LIST_SIZE, label, "tuples_per_list")
                    yield Predicted(key, size, form)


def _size_lists(parameters: Parameters) -> dict[str, Vector]:
    """Mean list into each executor (Cooper 2020, section 4.12), its maps weighted in two ways.

    Eq. 4.30 as printed weighs the maps of a worker by the tuples in them; by the maps themselves is
    what is meant.
    """
    connections = list_connections(parameters)
    mechanics = parameters.mechanics
    limit, flush_seconds = mechanics.batch, mechanics.flush_seconds
    plain = list_sizes(connections, limit=limit, flush_seconds=flush_seconds)
    leaving = np.bincount(
        connections.source[connections.leaves],
        weights=connections.rate[connections.leaves],
        minlength=connections.executors,
    )
    in_maps, tuples = (
        np.bincount(connections.worker, weights=weights, minlength=connections.workers).astype(
            np.float64
        )
        for weights in (leaving * plain.executor_map, leaving)
    )
    sizes = divide_or(in_maps, tuples, otherwise=0.0)
    printed = list_sizes(connections, limit=limit, flush_seconds=flush_seconds, map_size=sizes)
    return {MAP_WEIGHTED: plain.list_size, TUPLE_WEIGHTED: printed.list_size}
