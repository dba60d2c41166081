"""Behaviour: what an operator does with a tuple, declared by a person or a description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from streamgauge.errors import Findings, InvalidInput
from streamgauge.profile.distribution import (
    Constant,
    CountDistribution,
    Distribution,
    Fixed,
    compute_scv,
)
from streamgauge.profile.keys import KeyDistribution
from streamgauge.topology.field_checks import check_known, check_number
from streamgauge.topology.frozen import FrozenDict, freeze
from streamgauge.topology.topology import Operator, OperatorKind, StreamKey, Topology

NOTHING = Constant(value=0.0)
# Thirty years; more is a typing error.
LONGEST_MS = 1e12
SLOWEST_TASK = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Time one tuple holds its executor: on a core, and waiting (sleep, disk, network).

    Attributes:
        cpu_ms: Milliseconds on an otherwise idle core; contention stretches this part.
        wait_ms: Milliseconds that pass without a core; contention does not change this part.
    """

    cpu_ms: Distribution = NOTHING
    wait_ms: Distribution = NOTHING

    def __post_init__(self) -> None:
        with Findings() as findings:
            check_number(findings, self.cpu_ms.mean, "cpu_ms", most=LONGEST_MS)
            check_number(findings, self.wait_ms.mean, "wait_ms", most=LONGEST_MS)

    @property
    def mean_ms(self) -> float:
        """Mean time with cores to spare."""
        return self.cpu_ms.mean + self.wait_ms.mean

    @property
    def scv(self) -> float:
        """Squared coefficient of variation, both parts independent."""
        return compute_scv(self.mean_ms, self.cpu_ms.variance + self.wait_ms.variance)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinOnKey:
    """An output once every input stream has delivered a tuple with the same key.

    Attributes:
        within_seconds: A tuple without its partners is dropped after this time.
    """

    kind: ClassVar[str] = "on-key"
    within_seconds: float

    def __post_init__(self) -> None:
        with Findings() as findings:
            check_number(findings, self.within_seconds, "within_seconds", above=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinByParity:
    """At a window's trigger, one of two streams by the parity of the inputs' counts.

    Attributes:
        equal: The stream used when the counts of all inputs are even or all are odd.
        different: The stream used otherwise.
    """

    kind: ClassVar[str] = "by-parity"
    equal: str
    different: str


JoinRule = JoinOnKey | JoinByParity


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowFunction:
    """What happens when a window triggers.

    Attributes:
        per_tuple_ms: CPU milliseconds more for each tuple in the window.
    """

    service: Service = Service()
    per_tuple_ms: float = 0.0
    outputs: Mapping[str, CountDistribution] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        freeze(self, "outputs")
        with Findings() as findings:
            check_number(findings, self.per_tuple_ms, "per_tuple_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputBehaviour:
    """What differs for the tuples of one input stream."""

    service: Service | None = None
    outputs: Mapping[str, CountDistribution] | None = None

    def __post_init__(self) -> None:
        freeze(self, "outputs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """CPU time an executor pays around its own logic, in milliseconds per tuple.

    Attributes:
        serialise_ms: Turning a tuple that leaves the worker into bytes.
        serialise_ms_per_byte: The part of that which grows with the size.
        deserialise_ms: The way back, in the receiving worker.
        deserialise_ms_per_byte: The part of that which grows with the size.
        ack_ms: Sending one acknowledgement; for an acker, handling one message.
    """

    serialise_ms: float = 0.0
    serialise_ms_per_byte: float = 0.0
    deserialise_ms: float = 0.0
    deserialise_ms_per_byte: float = 0.0
    ack_ms: float = 0.0

    def __post_init__(self) -> None:
        with Findings() as findings:
            for name in self.__slots__:
                check_number(findings, getattr(self, name), name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How one operator behaves, whatever it runs on.

    Attributes:
        service: Time per tuple in; for a source, per tuple out.
        outputs: Tuples out per tuple in, by stream. A source's come from the workload.
        exclusive: Whether streams are alternatives: a tuple in gives a tuple on at most one of
            them, and the outputs are the probabilities of each.
        bytes: Size of the tuples emitted, by stream.
        join: When outputs need partners from several inputs.
        window: What a trigger does, for a windowed operator.
        relative_service: Relative service time of each task, in order; equal when not given.
        fails: Part of its tuples in that an operator fails, which ends their trees.
        replays: Whether a source emits a tuple again whose tree failed or ran out of time.
        costs: What surrounds the logic.
        origin: Where the figures come from: a paper's table, a measurement, or our own choice.
    """

    service: Service = Service()
    outputs: Mapping[str, CountDistribution] = field(default_factory=FrozenDict)
    exclusive: bool = False
    inputs: Mapping[StreamKey, InputBehaviour] = field(default_factory=FrozenDict)
    keys: Mapping[str, KeyDistribution] = field(default_factory=FrozenDict)
    bytes: Mapping[str, Distribution] = field(default_factory=FrozenDict)
    join: JoinRule | None = None
    window: WindowFunction | None = None
    relative_service: tuple[float, ...] | None = None
    fails: float = 0.0
    replays: bool = False
    costs: Costs = Costs()
    origin: str = ""

    def __post_init__(self) -> None:
        freeze(self, "outputs", "inputs", "keys", "bytes", "relative_service")
        findings = Findings()
        for index, speed in enumerate(self.relative_service or ()):
            check_number(findings, speed, "relative_service", index, above=0.0, most=SLOWEST_TASK)
        check_number(findings, self.fails, "fails", most=1.0)
        if self.exclusive:
            _check_exclusive(findings, self.outputs, "outputs")
            for key, special in self.inputs.items():
                _check_exclusive(findings, special.outputs or {}, "inputs", *key, "outputs")
        if isinstance(self.join, JoinByParity) and self.window is None:
            findings.add(
                "join",
                seen="a join by parity without a window function",
                expected="a window, whose trigger counts its inputs",
            )
        findings.raise_if_any()

    def service_of(self, stream: StreamKey) -> Service:
        """Time per tuple of that input stream."""
        special = self.inputs.get(stream)
        return self.service if special is None or special.service is None else special.service

    def outputs_of(self, stream: StreamKey) -> Mapping[str, CountDistribution]:
        """Tuples out per tuple of that input stream, by output stream."""
        special = self.inputs.get(stream)
        return self.outputs if special is None or special.outputs is None else special.outputs

    def emitted_streams(self) -> frozenset[str]:
        """Every stream that these figures emit on."""
        names = {*self.outputs, *(self.window.outputs if self.window else ())}
        for special in self.inputs.values():
            names.update(special.outputs or ())
        if isinstance(self.join, JoinByParity):
            names.update((self.join.equal, self.join.different))
        return frozenset(names)


def check_behaviours(topology: Topology, behaviours: Mapping[str, Behaviour]) -> None:
    """Raise InvalidInput where behaviours name something that `topology` does not have."""
    findings = Findings()
    # Ackers follow from the configuration, but their cost can be declared for any acked topology.
    tracked = topology if topology.has_ackers else topology.with_ackers(1)
    for name, behaviour in behaviours.items():
        try:
            operator = tracked.operator(name)
        except InvalidInput as error:
            findings.absorb(error, name)
            continue
        _check_streams(findings, tracked, operator, behaviour)
        if (behaviour.window is not None) != (operator.window is not None):
            findings.add(
                name,
                "window",
                seen="a window function" if behaviour.window else "no window function",
                expected="none, as the operator has no window"
                if behaviour.window
                else f"one, as the operator has a window of {_window(operator)}",
            )
        if (
            behaviour.relative_service is not None
            and len(behaviour.relative_service) != operator.tasks
        ):
            findings.add(
                name,
                "relative_service",
                seen=f"{len(behaviour.relative_service)} tasks",
                expected=f"{operator.tasks}, one for each task",
            )
        if operator.kind is OperatorKind.SOURCE and behaviour.fails > 0.0:
            findings.add(
                name, "fails", seen="a source that fails tuples", expected="an operator with inputs"
            )
        if operator.kind is not OperatorKind.SOURCE and behaviour.replays:
            findings.add(
                name,
                "replays",
                seen="replays on an operator that is not a source",
                expected="a source, as only sources are notified of failed tuple trees",
            )
        if operator.kind is OperatorKind.SOURCE and behaviour.emitted_streams():
            findings.add(
                name,
                "outputs",
                seen="outputs of a source",
                expected="none: the workload says what a source emits",
            )
    findings.raise_if_any()


def _check_exclusive(
    findings: Findings, outputs: Mapping[str, CountDistribution], *place: str
) -> None:
    total = sum(counts.mean for counts in outputs.values())
    if total > 1.0 + 1e-9 or not all(isinstance(counts, Fixed) for counts in outputs.values()):
        findings.add(
            *place,
            seen=f"exclusive outputs that sum to {total:g}",
            expected="probabilities as plain numbers, with a sum of at most 1",
        )


def _window(operator: Operator) -> str:
    return operator.window.describe() if operator.window else ""


def _check_streams(
    findings: Findings, topology: Topology, operator: Operator, behaviour: Behaviour
) -> None:
    name = operator.name
    emitted = sorted({s.name for s in topology.streams_from(name) if not s.is_system})
    received = sorted({stream.key for stream in topology.streams_into(name)})
    named = {
        "outputs": behaviour.emitted_streams(),
        "keys": behaviour.keys,
        "bytes": behaviour.bytes,
    }
    for place, streams in named.items():
        for stream in sorted(streams):
            where = (name, place, stream)
            seen, expected = f"stream {stream!r}, which has no subscriber", f"a stream of {name!r}"
            check_known(findings, stream, emitted, *where, seen=seen, expected=expected)
    for key in behaviour.inputs:
        seen, expected = f"input stream {key}", f"a stream into {name!r}"
        check_known(findings, key, received, name, "inputs", *key, seen=seen, expected=expected)
