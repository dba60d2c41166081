"""Juice of a topology, from what its tasks executed and sent (`models/juice`)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from streamgauge.models.juice import JuiceEstimate, juice_of
from streamgauge.pipeline.estimation.catalogue import FigureName
from streamgauge.pipeline.estimation.measured import (
    Estimate,
    Measured,
    Recorder,
    combined,
    total,
)
from streamgauge.pipeline.estimation.roster import Roster
from streamgauge.pipeline.estimation.schemas import Floats
from streamgauge.profile.figures import Juice, TaskId
from streamgauge.topology.topology import SYSTEM_PREFIX, StreamKey

_Rates = Mapping[tuple[TaskId, StreamKey], Estimate]


def measured_juice(
    measured: Measured, roster: Roster, recorder: Recorder, executed: _Rates, emissions: _Rates
) -> Juice | None:
    """Juice by what tasks executed and sent; nothing where that is not known.

    Args:
        measured: All figures.
        roster: Who there is.
        recorder: Where replicas go.
        executed: By task and stream what was executed.
        emissions: By task and stream what was emitted.
    """
    names = roster.operators
    by_edge: dict[tuple[str, str], list[Estimate]] = {}
    for (task, key), rate in executed.items():
        if key.source in names and task.operator in names and not _is_system(key):
            by_edge.setdefault((key.source, task.operator), []).append(rate)
    edges = {edge: total(rates) for edge, rates in by_edge.items()}
    sent = {name: _sent(measured, roster, name) for name in names}
    begun = [
        rate
        for (task, key), rate in emissions.items()
        if roster.is_source(task.operator) and not _is_system(key)
    ]
    if not begun or _unknown(roster, edges, sent):
        return None
    acked = _acked(measured, roster, total(begun))
    replicated = _complete([*edges.values(), *sent.values()])
    value = _solved(roster, edges, sent, acked, None)
    if value is None or not np.isfinite(value.topology) or value.topology < 0.0:
        return None
    replicas = _solved(roster, edges, sent, acked, replicated) if replicated else None
    whole = combined(float(value.topology), None if replicas is None else replicas.topology, begun)
    figure = recorder.figure(whole, "juice", "topology")
    assert figure is not None
    operators = {name: float(one) for name, one in zip(names, value.operators, strict=True)}
    return Juice(topology=figure, operators=operators)


def _unknown(
    roster: Roster, edges: Mapping[tuple[str, str], Estimate], sent: Mapping[str, Estimate]
) -> bool:
    """Whether some operator is sent tuples and says of none that it executed them."""
    heard = {target for _, target in edges}
    return any(
        sent[stream.source].value > 0.0 and stream.target not in heard
        for stream in roster.topology.data_streams
    )


def _is_system(key: StreamKey) -> bool:
    return key.name.startswith(SYSTEM_PREFIX)


def _sent(measured: Measured, roster: Roster, operator: str) -> Estimate:
    """All copies of an operator's tuples: counted task by task, else stream by stream."""
    subjects = [subject for task, subject in roster.tasks.items() if task.operator == operator]
    for word in (FigureName.TRANSFER, FigureName.SENT_RATE):
        rows = [row for subject in subjects for row in measured.rows(subject, word)]
        if rows:
            return total(
                row.mean
                for row in rows
                if row.stream in roster.outputs(operator)
                and not row.stream.startswith(SYSTEM_PREFIX)
            )
    return Estimate(value=0.0)


def _acked(measured: Measured, roster: Roster, begun: Estimate) -> Estimate | None:
    """Acked roots over emitted ones, where trees are tracked (eq. 2.7)."""
    rows = [
        row.mean
        for task, subject in roster.tasks.items()
        if roster.is_source(task.operator)
        for row in measured.rows(subject, FigureName.ROOTS_ACKED_RATE)
    ]
    if not rows or not roster.topology.acked or begun.value <= 0.0:
        return None
    acked = total(rows)
    replicas = None
    if acked.replicas is not None and begun.replicas is not None:
        replicas = acked.replicas / begun.replicas
    return combined(acked.value / begun.value, replicas, [acked])


def _complete(estimates: list[Estimate]) -> int:
    """How many replicas all of them have; none where one has none."""
    sizes = {
        0 if one.replicas is None else len(one.replicas) for one in estimates if one.value != 0.0
    }
    return sizes.pop() if len(sizes) == 1 else 0


def _solved(
    roster: Roster,
    edges: Mapping[tuple[str, str], Estimate],
    sent: Mapping[str, Estimate],
    acked: Estimate | None,
    replicas: int | None,
) -> JuiceEstimate | None:
    """Juice from the values, or from all replicas at once."""
    names = list(roster.operators)
    shape = () if replicas is None else (replicas,)

    def taken(estimate: Estimate) -> float | Floats:
        if replicas is None:
            return estimate.value
        return np.zeros(replicas) if estimate.replicas is None else estimate.replicas

    executed, out = np.zeros((*shape, len(names), len(names))), np.zeros((*shape, len(names)))
    for (source, target), estimate in edges.items():
        executed[..., names.index(source), names.index(target)] = taken(estimate)
    for name, estimate in sent.items():
        out[..., names.index(name)] = taken(estimate)
    if acked is not None and replicas is not None and acked.replicas is None:
        return None
    sinks = {one.name for one in roster.topology.sinks}
    try:
        return juice_of(
            executed,
            out,
            sources=np.asarray([roster.is_source(name) for name in names]),
            sinks=np.asarray([name in sinks for name in names]),
            acked=None if acked is None else np.asarray(taken(acked)),
        )
    except np.linalg.LinAlgError:
        return None
