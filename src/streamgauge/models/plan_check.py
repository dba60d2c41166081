"""Whether a plan is of the job that a model knows, and what differs where it is not.

Operators are matched by name, tasks by their place within them: neither the order in which
operators are declared nor the name of the topology matters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from streamgauge.errors import InvalidInput
from streamgauge.models.job_behaviour import JobBehaviour, Origin
from streamgauge.topology.grouping import Grouping
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import Operator, OperatorKind, Topology
from streamgauge.topology.workload import Workload


def check_case(behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload) -> None:
    """Raise InvalidInput where a plan is not of the behaviour's job, or sources emit nothing."""
    check_plan(behaviour, plan)
    if all(one.per_second == 0.0 for one in workload.emissions):
        raise InvalidInput.single(
            ("workload",),
            seen="sources that emit nothing",
            expected="a rate above zero of at least one source",
            remedy="without tuples there is no latency to predict: give another rate",
        )


def check_plan(behaviour: JobBehaviour, plan: PhysicalPlan) -> None:
    """Raise InvalidInput, with what differs, where a plan is not of the behaviour's job."""
    known = "the profile" if behaviour.origin is Origin.MEASURED else "the job file"
    topology = plan.logical.topology
    differences = list(_differences(behaviour.topology, topology, known))
    if not differences:
        return
    raise InvalidInput.single(
        ("plan",),
        seen=f"a plan of topology {topology.name!r} that differs: {'; '.join(differences)}",
        expected=f"a plan of topology {behaviour.topology.name!r} as {known} has it",
        remedy="predict from a profile of the same topology",
    )


def _differences(topology: Topology, planned: Topology, known: str) -> Iterator[str]:
    """What a plan's topology has otherwise, in words."""
    mine, theirs = _operators(topology), _operators(planned)
    yield from _on_one_side("operators", mine, theirs, known)
    for name in (name for name in mine if name in theirs):
        one, other = mine[name], theirs[name]
        if one.kind is not other.kind:
            yield f"kind of {name}: {one.kind} in {known}, {other.kind} in the plan"
        if one.tasks != other.tasks:
            yield f"tasks of {name}: {one.tasks} in {known}, {other.tasks} in the plan"
        if one.window != other.window:
            yield f"window of {name}: {_window(one)} in {known}, {_window(other)} in the plan"
    both = mine.keys() & theirs.keys()
    groupings, others = _groupings(topology, both), _groupings(planned, both)
    yield from _on_one_side("streams", groupings, others, known)
    for stream in (stream for stream in groupings if stream in others):
        mine_by, theirs_by = groupings[stream], others[stream]
        if mine_by != theirs_by:
            yield (
                f"stream {stream}: {mine_by.describe()} in {known},"
                f" {theirs_by.describe()} in the plan"
            )
    if topology.acked != planned.acked:
        on, off = (known, "the plan") if topology.acked else ("the plan", known)
        yield f"acknowledgements: on in {on}, off in {off}"


def _on_one_side(
    what: str, mine: Collection[str], theirs: Collection[str], known: str
) -> Iterator[str]:
    """Which operators or streams one of both topologies has alone."""
    for side, names, others in ((known, mine, theirs), ("the plan", theirs, mine)):
        alone = sorted(set(names) - set(others))
        if alone:
            yield f"{what} only in {side}: {', '.join(alone)}"


def _operators(topology: Topology) -> dict[str, Operator]:
    return {one.name: one for one in topology.operators if one.kind is not OperatorKind.ACKER}


def _groupings(topology: Topology, operators: Collection[str]) -> dict[str, Grouping]:
    """By stream and subscriber, as far as both are among these operators."""
    return {
        f"{stream.key} → {stream.target}": stream.grouping
        for stream in topology.data_streams
        if stream.source in operators and stream.target in operators
    }


def _window(operator: Operator) -> str:
    return "none" if operator.window is None else operator.window.describe()
