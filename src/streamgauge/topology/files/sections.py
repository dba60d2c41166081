"""The sections of a file that hold nouns: topology, configuration, cluster.

Each model mirrors a noun, with `build` towards it and `of` from it; what is a default is left
out of what is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from streamgauge.errors import Findings, InvalidInput
from streamgauge.plugins import ENGINES, check_plugin
from streamgauge.topology.cluster import Cluster, Link, Machine, Node, number_ports
from streamgauge.topology.configuration import DEFAULT_ENGINE, Configuration, Resources, Setting
from streamgauge.topology.files.file_model import FileModel, Name, build_part, one_of
from streamgauge.topology.grouping import (
    All,
    Custom,
    Direct,
    Fields,
    Global,
    LocalOrShuffle,
    PartialKey,
    Shuffle,
)
from streamgauge.topology.topology import (
    DEFAULT_STREAM,
    Operator,
    OperatorKind,
    Stream,
    Topology,
    Window,
)

GroupingFile = one_of(
    "Grouping", [Shuffle, LocalOrShuffle, Fields, PartialKey, All, Global, Direct, Custom]
)

DEFAULT_RACK = "default-rack"


class WindowFile(FileModel):
    """A window: give length and slide each in tuples or in seconds."""

    length_tuples: int | None = None
    length_seconds: float | None = None
    slide_tuples: int | None = Field(default=None, description="without a slide it tumbles")
    slide_seconds: float | None = None
    event_time: bool = False

    def build(self) -> Window:
        """The window."""
        return Window(**self.model_dump())

    @classmethod
    def of(cls, window: Window) -> dict[str, Any]:
        """What to write for it."""
        slide = {"slide_tuples": None, "slide_seconds": None} if window.is_tumbling else {}
        return cls.mirror(window, **slide).model_dump(exclude_defaults=True)


class OperatorFile(FileModel):
    """One operator."""

    kind: Literal["source", "processor"] = "processor"
    tasks: int = Field(default=1, description="fixed once submitted; at most as many executors")
    window: WindowFile | None = None


class StreamFile(FileModel):
    """One subscription: sender, receiver, stream, and how tuples are divided over tasks."""

    source: Name = Field(alias="from")
    target: Name = Field(alias="to")
    stream: Name = DEFAULT_STREAM
    grouping: GroupingFile  # type: ignore[valid-type]  # a model made at import

    def build(self) -> Stream:
        """The subscription."""
        grouping = build_part(self.grouping, "grouping")
        return Stream(source=self.source, target=self.target, name=self.stream, grouping=grouping)


class TopologyFile(FileModel):
    """Operators and the streams between them."""

    name: Name
    acked: bool = Field(default=False, description="whether tuple trees are tracked by ackers")
    operators: dict[str, OperatorFile]
    streams: list[StreamFile] = []

    def build(self) -> Topology:
        """The topology."""
        findings = Findings()
        operators, streams = [], []
        for name, operator in self.operators.items():
            with findings.at("operators", name):
                window = operator.window.build() if operator.window else None
                kind = OperatorKind(operator.kind)
                operators.append(
                    Operator(name=name, kind=kind, tasks=operator.tasks, window=window)
                )
        for index, stream in enumerate(self.streams):
            with findings.at("streams", index):
                streams.append(stream.build())
        findings.raise_if_any()
        return Topology(
            name=self.name, operators=tuple(operators), streams=tuple(streams), acked=self.acked
        )

    @classmethod
    def of(cls, topology: Topology) -> dict[str, Any]:
        """What to write for it."""
        if topology.has_ackers:
            raise InvalidInput.single(
                ("operators",),
                seen="a topology with its ackers added",
                expected="the topology as declared; ackers follow from the configuration",
            )
        return {
            "name": topology.name,
            **({"acked": True} if topology.acked else {}),
            "operators": {op.name: _operator(op) for op in topology.operators},
            "streams": [_stream(stream) for stream in topology.streams],
        }


class ResourcesFile(FileModel):
    """What one executor needs; the engine's default where a key is left out."""

    cpu_cores: float | None = None
    memory_bytes: int | None = Field(default=None, description="heap of its worker")


def build_resources(files: Mapping[str, ResourcesFile]) -> dict[str, Resources]:
    """The needs of the operators named."""
    with Findings() as findings:
        resources = {}
        for operator, file in files.items():
            with findings.at("resources", operator):
                resources[operator] = Resources(**file.model_dump())
    return resources


def write_resources(resources: Mapping[str, Resources]) -> dict[str, ResourcesFile]:
    """The needs of the operators named, to be written."""
    return {operator: ResourcesFile.mirror(one) for operator, one in resources.items()}


class ConfigurationFile(FileModel):
    """How the topology is deployed."""

    engine: str = Field(default=DEFAULT_ENGINE, examples=["storm-1", "storm-2"])
    executors: dict[str, int] = Field(default={}, description="per operator; one if not named")
    workers: int = 1
    ackers: int | None = Field(default=None, description="one per worker if not given")
    settings: dict[str, Setting] = Field(
        default={}, description="the engine's own settings under the engine's own names"
    )
    resources: dict[str, ResourcesFile] = Field(
        default={}, description="per operator: what one executor needs"
    )

    def build(self) -> Configuration:
        """The configuration."""
        check_plugin(ENGINES, self.engine, ("engine",))
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return Configuration(**{**given, "resources": build_resources(self.resources)})

    @classmethod
    def of(cls, configuration: Configuration) -> dict[str, Any]:
        """What to write for it."""
        file = cls.mirror(
            configuration,
            executors=dict(configuration.executors),
            settings=dict(configuration.settings),
            resources=write_resources(configuration.resources),
        )
        return file.model_dump(exclude_defaults=True)


class MachineFile(FileModel):
    """Hardware whose cores all threads on it share."""

    cores: float
    memory_bytes: int | None = None
    background_cores: float = 0.0
    balance_ms: float | None = None
    network_gbit_per_second: float | None = Field(
        default=None, description="speed of the network card, each way"
    )


class NodeFile(FileModel):
    """A node on a machine: give its slots as a number, or by their ports."""

    machine: Name
    slots: int | None = None
    ports: list[int] | None = None
    rack: str = DEFAULT_RACK

    def build(self, name: str) -> Node:
        """The node."""
        if (self.slots is None) == (self.ports is None):
            raise InvalidInput.single(
                ("slots",),
                seen="neither slots nor ports" if self.slots is None else "both slots and ports",
                expected="either a number of slots or a list of ports",
            )
        ports = number_ports(self.slots) if self.slots is not None else tuple(self.ports or ())
        return Node(name=name, machine=self.machine, ports=ports, rack=self.rack)


class LinkFile(FileModel):
    """One-way latency between two nodes."""

    source: Name = Field(alias="from")
    target: Name = Field(alias="to")
    latency_ms: float
    jitter_ms: float = 0.0


class UniformClusterFile(FileModel):
    """Equal machines with one node each."""

    nodes: int
    slots: int = 1
    cores: float = 1.0
    memory_bytes: int | None = None
    latency_ms: float = 0.0
    network_gbit_per_second: float | None = None


class ClusterFile(FileModel):
    """Machines, nodes and links; or `uniform` in place of all of them."""

    uniform: UniformClusterFile | None = None
    machines: dict[str, MachineFile] = {}
    nodes: dict[str, NodeFile] = {}
    links: list[LinkFile] = []
    latency_ms: float = Field(default=0.0, description="one way, where no link says otherwise")

    def build(self) -> Cluster:
        """The cluster."""
        findings = Findings()
        if self.uniform is not None:
            if self.model_fields_set != {"uniform"}:
                findings.add(
                    "uniform",
                    seen="a uniform cluster together with other keys",
                    expected="either uniform, or machines and nodes",
                )
            findings.raise_if_any()
            with findings.at("uniform"):
                return Cluster.uniform(**self.uniform.model_dump())
        machines, nodes, links = [], [], []
        for name, machine in self.machines.items():
            with findings.at("machines", name):
                machines.append(Machine(name=name, **machine.model_dump()))
        for name, node in self.nodes.items():
            with findings.at("nodes", name):
                nodes.append(node.build(name))
        for index, link in enumerate(self.links):
            with findings.at("links", index):
                links.append(Link(**link.model_dump()))
        findings.raise_if_any()
        return Cluster(
            machines=tuple(machines),
            nodes=tuple(nodes),
            links=tuple(links),
            latency_ms=self.latency_ms,
        )

    @classmethod
    def of(cls, cluster: Cluster) -> dict[str, Any]:
        """What to write for it."""
        file = cls(
            machines={machine.name: MachineFile.mirror(machine) for machine in cluster.machines},
            nodes={
                one.name: NodeFile(machine=one.machine, ports=list(one.ports), rack=one.rack)
                for one in cluster.nodes
            },
            links=[LinkFile.mirror(link) for link in cluster.links],
            latency_ms=cluster.latency_ms,
        )
        return file.model_dump(exclude_defaults=True, by_alias=True)


def _operator(operator: Operator) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if operator.kind is not OperatorKind.PROCESSOR:
        result["kind"] = str(operator.kind)
    result["tasks"] = operator.tasks
    if operator.window is not None:
        result["window"] = WindowFile.of(operator.window)
    return result


def _stream(stream: Stream) -> dict[str, Any]:
    return {
        "from": stream.source,
        "to": stream.target,
        **({"stream": stream.name} if stream.name != DEFAULT_STREAM else {}),
        "grouping": GroupingFile.dump(stream.grouping),
    }
