"""What was measured of components: tasks, executors and their queues added up.

The metrics of Puttaswamy 2018, section 6.1: what arrives, what a full queue threw away, what was
processed and what was emitted. A lake has the same under other names: `queue_drops`, `executed`
and `emitted`; what arrived is the sum of the first two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from streamgauge.profile.profile import Profile
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import Operator, OperatorKind


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
    found = {}
    for operator in profile.topology.operators:
        output = _output(profile, operator)
        source = operator.kind is OperatorKind.SOURCE
        processed = output if source else _processed(profile, operator)
        if processed is None:
            continue
        leaf = not profile.topology.streams_from(operator.name)
        found[operator.name] = MeasuredRates(
            processed=processed,
            dropped=_dropped(profile, operator),
            output=processed if leaf else output,
        )
    return found


def _processed(profile: Profile, operator: Operator) -> float | None:
    keys = {stream.key for stream in profile.topology.streams_into(operator.name)}
    rates = [
        figures.per_second.value
        for task in profile.tasks_of(operator.name).values()
        for key, figures in task.inputs.items()
        if key in keys and figures.per_second is not None
    ]
    return math.fsum(rates) if rates else None


def _output(profile: Profile, operator: Operator) -> float | None:
    names = {stream.name for stream in profile.topology.streams_from(operator.name)}
    rates = [
        figures.per_second.value
        for task in profile.tasks_of(operator.name).values()
        for name, figures in task.outputs.items()
        if name in names and figures.per_second is not None
    ]
    return math.fsum(rates) if rates else None


def _dropped(profile: Profile, operator: Operator) -> float:
    """What full receive queues of its executors threw away."""
    queues = [
        figures.receive
        for label, figures in profile.executors.items()
        if Executor.parse(label).operator == operator.name
    ]
    return math.fsum(
        queue.drops_per_second.value
        for queue in queues
        if queue is not None and queue.drops_per_second is not None
    )
