"""What can be simulated: jobs that lack nothing, of a size that fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from streamgauge.errors import Findings, InternalError
from streamgauge.profile.behaviour import Behaviour, JoinOnKey
from streamgauge.simulation.draws import CONSTANT, TABLE, Draws
from streamgauge.simulation.records import EVERY
from streamgauge.simulation.routes import Routes
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind
from streamgauge.topology.workload import Unlimited, Workload

# Tables that grow with the square of a job's size end here.
LARGEST_TABLE = 20_000_000


def check_job(plan: PhysicalPlan, behaviours: Mapping[str, Behaviour], workload: Workload) -> None:
    """Raise InvalidInput where a job lacks something, or has what is not simulated."""
    findings = Findings()
    topology = plan.logical.topology
    for operator in topology.operators:
        if operator.name not in behaviours and operator.kind is OperatorKind.PROCESSOR:
            findings.add(
                "behaviours",
                seen=f"no behaviour of {operator.name!r}",
                expected="a behaviour for every processor",
            )
        behaviour = behaviours.get(operator.name, Behaviour())
        if isinstance(behaviour.join, JoinOnKey):
            for stream in topology.streams_into(operator.name):
                source = behaviours.get(stream.source, Behaviour())
                if not stream.is_system and stream.name not in source.keys:
                    findings.add(
                        "behaviours",
                        operator.name,
                        "join",
                        seen=f"a join on keys of {stream.key}, which has none",
                        expected=f"keys of stream {stream.name!r} of {stream.source!r}",
                    )
        if operator.window is not None and operator.window.event_time:
            findings.add(
                "topology",
                "operators",
                operator.name,
                "window",
                seen="event time",
                expected="processing time",
                remedy="watermarks are not simulated",
            )
    for index, emission in enumerate(workload.emissions):
        service = behaviours.get(emission.source, Behaviour()).service
        if isinstance(emission.shape, Unlimited) and service.mean_ms <= 0.0:
            findings.add(
                "workload",
                index,
                seen="an unlimited source whose tuples take no time",
                expected="a service time, or it would emit infinitely many tuples at once",
            )
    eager = Counter(one.source for one in workload.emissions if isinstance(one.shape, Unlimited))
    for name in (name for name, streams in eager.items() if streams > 1):
        findings.add(
            "workload",
            seen=f"several unlimited streams of {name!r}",
            expected="one, as the order between several is not defined",
        )
    if not workload.emissions:
        findings.add("workload", seen="no emission", expected="at least one")
    findings.raise_if_any()


def most_messages(
    stream: NDArray[Any],
    subscriber: NDArray[Any],
    rules: list[int],
    routes: Routes,
    output_first: NDArray[Any],
    output: NDArray[Any],
    draws: Draws,
) -> int:
    """The most messages that one input or one trigger can lead to."""
    fans = (routes.route["last"] - routes.route["first"]).reshape(-1, len(rules)).max(axis=0)
    copies = [
        sum(
            int(fans[n]) if rules[n] == EVERY else 1 for n in subscriber[one["first"] : one["last"]]
        )
        for one in stream
    ]
    most = max(copies, default=1)
    for row in range(len(output_first) - 1):
        outputs = output[output_first[row] : output_first[row + 1]]
        total = sum(_largest(draws, int(one["count"])) * copies[one["stream"]] for one in outputs)
        most = max(most, total)
    # A join by parity emits one tuple more.
    most += max(copies, default=1)
    check_table(most, "outputs", "tuples that one input can lead to")
    return most


def _largest(draws: Draws, which: int) -> int:
    law = draws.law[which]
    if law["kind"] == CONSTANT:
        return int(law["first"])
    if law["kind"] != TABLE:
        raise InternalError("outputs are counted by tables")
    return int(draws.value[law["high"]])


def check_sizes(plan: PhysicalPlan, behaviours: Mapping[str, Behaviour]) -> None:
    """Raise InvalidInput where marks in bytes lack the size of a stream's tuples."""
    findings = Findings()
    for key in dict.fromkeys(stream.key for stream in plan.logical.topology.data_streams):
        size = behaviours.get(key.source, Behaviour()).bytes.get(key.name)
        if size is None or not size.mean > 0.0:
            findings.add(
                "behaviours",
                key.source,
                "bytes",
                seen=f"no size of the tuples of stream {key.name!r}",
                expected="sizes of all streams: water marks are in bytes",
            )
    findings.raise_if_any()


def check_table(size: int, place: str, what: str) -> None:
    """Raise InvalidInput where a table would be too large."""
    if size > LARGEST_TABLE:
        findings = Findings()
        findings.add(
            place,
            seen=f"{size:,} {what}",
            expected=f"at most {LARGEST_TABLE:,} for a simulation",
        )
        findings.raise_if_any()
