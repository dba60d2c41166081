"""The section of a file that declares behaviours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, RootModel

from streamgauge.errors import Findings
from streamgauge.profile.behaviour import (
    Behaviour,
    Costs,
    InputBehaviour,
    JoinByParity,
    JoinOnKey,
    Service,
    WindowFunction,
)
from streamgauge.profile.distribution import (
    Constant,
    CountDistribution,
    Empirical,
    EmpiricalCount,
    Exponential,
    Fixed,
    Gamma,
    Geometric,
    Lognormal,
    PoissonCount,
    RoundedNormal,
    Uniform,
)
from streamgauge.profile.files.keys import KeysFile
from streamgauge.topology.files.file_model import FileModel, build_part, one_of
from streamgauge.topology.topology import StreamKey

DistributionFile = one_of(
    "Distribution",
    [Constant, Exponential, Gamma, Lognormal, Uniform, Empirical],
    shorthand="constant",
)
CountFile = one_of(
    "Count", [Fixed, RoundedNormal, PoissonCount, Geometric, EmpiricalCount], shorthand="fixed"
)
JoinFile = one_of("Join", [JoinOnKey, JoinByParity])

CountsFile = dict[str, CountFile]  # type: ignore[valid-type]  # a model made at import


class ServiceFile(FileModel):
    """Time a tuple holds its executor: on a core, and waiting."""

    cpu_ms: DistributionFile | None = None  # type: ignore[valid-type]
    wait_ms: DistributionFile | None = None  # type: ignore[valid-type]

    def build(self) -> Service:
        """The service."""
        parts = {"cpu_ms": self.cpu_ms, "wait_ms": self.wait_ms}
        return Service(
            **{name: build_part(part, name) for name, part in parts.items() if part is not None}
        )

    @classmethod
    def of(cls, service: Service) -> dict[str, Any]:
        """What to write for it."""
        return {
            name: DistributionFile.dump(getattr(service, name))
            for name in ("cpu_ms", "wait_ms")
            if getattr(service, name) != getattr(Service(), name)
        }


class InputFile(FileModel):
    """What differs for one input stream."""

    service: ServiceFile | None = None
    outputs: CountsFile | None = None

    def build(self) -> InputBehaviour:
        """The difference."""
        return InputBehaviour(
            service=None if self.service is None else build_part(self.service, "service"),
            outputs=None if self.outputs is None else _build_all(self.outputs, "outputs"),
        )


class WindowFunctionFile(FileModel):
    """What happens when a window triggers."""

    service: ServiceFile | None = None
    per_tuple_ms: float = 0.0
    outputs: CountsFile = {}

    def build(self) -> WindowFunction:
        """The window function."""
        return WindowFunction(
            service=Service() if self.service is None else build_part(self.service, "service"),
            per_tuple_ms=self.per_tuple_ms,
            outputs=_build_all(self.outputs, "outputs"),
        )


class CostsFile(FileModel):
    """CPU milliseconds around the logic, per tuple."""

    serialise_ms: float = 0.0
    serialise_ms_per_byte: float = 0.0
    deserialise_ms: float = 0.0
    deserialise_ms_per_byte: float = 0.0
    ack_ms: float = 0.0

    def build(self) -> Costs:
        """The costs."""
        return Costs(**self.model_dump())


class BehaviourFile(FileModel):
    """How one operator behaves."""

    origin: str = Field(default="", description="where the figures come from")
    service: ServiceFile | None = None
    outputs: CountsFile = Field(default={}, description="tuples out per tuple in, by stream")
    exclusive: bool = Field(
        default=False, description="a tuple in gives a tuple on at most one of the streams"
    )
    inputs: dict[str, dict[str, InputFile]] = Field(
        default={}, description="what differs by input: source operator, then stream"
    )
    keys: dict[str, KeysFile] = {}  # type: ignore[valid-type]
    bytes: dict[str, DistributionFile] = {}  # type: ignore[valid-type]
    join: JoinFile | None = None  # type: ignore[valid-type]
    window: WindowFunctionFile | None = None
    relative_service: list[float] | None = None
    fails: float = 0.0
    replays: bool = False
    costs: CostsFile | None = None

    def build(self) -> Behaviour:
        """The behaviour."""
        findings = Findings()
        parts: dict[str, Any] = {"origin": self.origin, "exclusive": self.exclusive}
        for name in ("service", "join", "window", "costs"):
            part = getattr(self, name)
            if part is not None:
                with findings.at():
                    parts[name] = build_part(part, name)
        for name in ("outputs", "keys", "bytes"):
            with findings.at():
                parts[name] = _build_all(getattr(self, name), name)
        inputs = {}
        for source, streams in self.inputs.items():
            for stream, part in streams.items():
                with findings.at("inputs", source, stream):
                    inputs[StreamKey(source, stream)] = part.build()
        findings.raise_if_any()
        speed = None if self.relative_service is None else tuple(self.relative_service)
        return Behaviour(
            inputs=inputs,
            relative_service=speed,
            fails=self.fails,
            replays=self.replays,
            **parts,
        )

    @classmethod
    def of(cls, behaviour: Behaviour) -> dict[str, Any]:
        """What to write for it."""
        inputs: dict[str, dict[str, Any]] = {}
        for (source, stream), special in behaviour.inputs.items():
            inputs.setdefault(source, {})[stream] = _input(special)
        window = behaviour.window
        written = {
            "origin": behaviour.origin,
            "service": ServiceFile.of(behaviour.service),
            "outputs": _dump_counts(behaviour.outputs),
            "exclusive": behaviour.exclusive,
            "inputs": inputs,
            "keys": {name: KeysFile.dump(keys) for name, keys in behaviour.keys.items()},
            "bytes": {name: DistributionFile.dump(size) for name, size in behaviour.bytes.items()},
            "join": None if behaviour.join is None else JoinFile.dump(behaviour.join),
            "window": None if window is None else _window(window),
            "relative_service": None
            if behaviour.relative_service is None
            else list(behaviour.relative_service),
            "fails": behaviour.fails,
            "replays": behaviour.replays,
            "costs": _costs(behaviour.costs),
        }
        # An empty window function still says that there is one.
        return {key: part for key, part in written.items() if part or (key == "window" and window)}


class BehavioursFile(RootModel[dict[str, BehaviourFile]]):
    """Behaviours by operator."""

    def build(self) -> dict[str, Behaviour]:
        """The behaviours."""
        with Findings() as findings:
            behaviours = {}
            for name, behaviour in self.root.items():
                with findings.at(name):
                    behaviours[name] = behaviour.build()
        return behaviours

    @classmethod
    def of(cls, behaviours: Mapping[str, Behaviour]) -> dict[str, Any]:
        """What to write for them."""
        return {name: BehaviourFile.of(behaviour) for name, behaviour in behaviours.items()}


def _build_all(parts: Mapping[str, Any], place: str) -> dict[str, Any]:
    with Findings() as findings:
        built = {}
        for name, part in parts.items():
            with findings.at(place, name):
                built[name] = part.build()
    return built


def _dump_counts(outputs: Mapping[str, CountDistribution]) -> dict[str, Any]:
    return {name: CountFile.dump(counts) for name, counts in outputs.items()}


def _input(special: InputBehaviour) -> dict[str, Any]:
    written: dict[str, Any] = {}
    if special.service is not None:
        written["service"] = ServiceFile.of(special.service)
    if special.outputs is not None:
        written["outputs"] = _dump_counts(special.outputs)
    return written


def _window(window: WindowFunction) -> dict[str, Any]:
    written = {
        "service": ServiceFile.of(window.service),
        "per_tuple_ms": window.per_tuple_ms,
        "outputs": _dump_counts(window.outputs),
    }
    return {name: part for name, part in written.items() if part}


def _costs(costs: Costs) -> dict[str, float]:
    return {name: getattr(costs, name) for name in costs.__slots__ if getattr(costs, name)}
