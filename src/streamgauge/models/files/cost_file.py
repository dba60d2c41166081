"""The file of an engine's cost constants, which have to be measured: times in microseconds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from streamgauge.errors import Findings, InvalidInput
from streamgauge.models.cost_job import ByDistance, CostConstants, TypeCosts
from streamgauge.models.management import ManagementBytes, ManagementRequests, Polling
from streamgauge.topology.files.document import Document, dump_yaml, read_document
from streamgauge.topology.files.file_model import FileModel, list_keys, validate
from streamgauge.topology.topology import StreamKey, Topology

SECONDS_PER_US = 1e-6
BYTES_PER_KB = 1e3
# Digits of a microsecond that are written: what is measured has fewer.
DIGITS = 4
KEYS = {"groupings": "groupings_us"}


class TypeCostsFile(FileModel):
    """What a tuple of a type costs beside the job's own code."""

    read_us: float = 0.0
    serialise_us: float = 0.0
    deserialise_us: float = 0.0
    serialise_us_per_kb: float = 0.0
    deserialise_us_per_kb: float = 0.0

    def build(self) -> TypeCosts:
        """In seconds."""
        return TypeCosts(
            read=self.read_us * SECONDS_PER_US,
            serialise=self.serialise_us * SECONDS_PER_US,
            deserialise=self.deserialise_us * SECONDS_PER_US,
            serialise_per_byte=self.serialise_us_per_kb * SECONDS_PER_US / BYTES_PER_KB,
            deserialise_per_byte=self.deserialise_us_per_kb * SECONDS_PER_US / BYTES_PER_KB,
        )

    @classmethod
    def of(cls, costs: TypeCosts) -> TypeCostsFile:
        """As the file has them."""
        per_us, per_kb = 1.0 / SECONDS_PER_US, BYTES_PER_KB / SECONDS_PER_US
        return cls(
            read_us=_round(costs.read * per_us),
            serialise_us=_round(costs.serialise * per_us),
            deserialise_us=_round(costs.deserialise * per_us),
            serialise_us_per_kb=_round(costs.serialise_per_byte * per_kb),
            deserialise_us_per_kb=_round(costs.deserialise_per_byte * per_kb),
        )


class ByDistanceFile(FileModel):
    """Microseconds a tuple by how far it goes."""

    local: float = 0.0
    node: float = 0.0
    remote: float = 0.0

    def build(self) -> ByDistance:
        """In seconds."""
        return ByDistance(*(one * SECONDS_PER_US for one in (self.local, self.node, self.remote)))


class PollingFile(FileModel):
    """Requests every so many seconds."""

    requests: float
    seconds: float

    def build(self) -> Polling:
        """The same."""
        return Polling(self.requests, self.seconds)


class RequestsFile(FileModel):
    """The five recurring tasks of management."""

    topology: PollingFile
    supervisor: PollingFile
    worker: PollingFile
    supervisor_heartbeat: PollingFile
    worker_heartbeat: PollingFile

    def build(self) -> ManagementRequests:
        """The same."""
        return ManagementRequests(
            **{name: getattr(self, name).build() for name in type(self).model_fields}
        )


class ManagementBytesFile(FileModel):
    """The constants of sizes and of bytes a second."""

    a: float = 0.0
    b: float = 0.0
    c: float = 0.0
    d: float = 0.0
    e: float = 0.0
    k1: float = 0.0
    k2: float = 0.0
    k3: float = 0.0
    k4: float = 0.0
    k5: float = 0.0
    k6: float = 0.0
    k7: float = 0.0

    def build(self) -> ManagementBytes:
        """The same."""
        return ManagementBytes(**self.model_dump())


class ManagementFile(FileModel):
    """What is known of management."""

    requests: RequestsFile | None = None
    bytes: ManagementBytesFile | None = None
    most_bytes_per_second: float = Field(default=0.0, description="a bound, where that is known")


class CostFile(FileModel):
    """Constants of an engine and a job."""

    streamgauge: Literal[1]
    about: str = ""
    types: dict[str, TypeCostsFile] = Field(default={}, description="by OPERATOR/STREAM")
    any_type: TypeCostsFile = Field(
        default=TypeCostsFile(), description="of streams that `types` does not name"
    )
    groupings_us: dict[str, float] = {}
    transport_us: ByDistanceFile = ByDistanceFile()
    transport_serialises: bool = False
    latency_us: ByDistanceFile = ByDistanceFile()
    raw_bytes: dict[str, float] = Field(default={}, description="by source")
    management: ManagementFile = ManagementFile()

    def build(self) -> CostConstants:
        """The constants in seconds and bytes."""
        findings = Findings()
        types: dict[StreamKey, TypeCosts] = {}
        for name, file in self.types.items():
            source, _, stream = name.partition("/")
            if not stream:
                findings.add("types", name, seen=repr(name), expected="OPERATOR/STREAM")
                continue
            with findings.at("types", name):
                types[StreamKey(source, stream)] = file.build()
        findings.raise_if_any()
        own = self.management
        return CostConstants(
            types=types,
            any_type=self.any_type.build(),
            groupings={name: us * SECONDS_PER_US for name, us in self.groupings_us.items()},
            transport=self.transport_us.build(),
            latency=self.latency_us.build(),
            transport_serialises=self.transport_serialises,
            raw_bytes=self.raw_bytes,
            requests=None if own.requests is None else own.requests.build(),
            management=None if own.bytes is None else own.bytes.build(),
            management_bound=own.most_bytes_per_second,
        )


def load_constants(path: str | Path, topology: Topology) -> CostConstants:
    """The constants in a file, which are of a topology's streams, sources and groupings.

    Raises:
        UnreadableFile: The file is missing or is no document.
        InvalidInput: What it says cannot be; every problem with its line.
    """
    document = read_document(path)
    constants = build_constants(document)
    try:
        constants.check_against(topology)
    except InvalidInput as error:
        # As the file names them.
        named = [
            replace(one, place=tuple(KEYS.get(str(part), part) for part in one.place))
            for one in error.problems
        ]
        raise document.locate_error(InvalidInput(named)) from None
    return constants


def build_constants(document: Document) -> CostConstants:
    """The constants that a document says."""
    try:
        file: CostFile = validate(CostFile, document.data, _known_keys)
        return file.build()
    except InvalidInput as error:
        raise document.locate_error(error) from None


def write_fitted(constants: CostConstants, about: str) -> str:
    """A file of constants that hold for any job: phases, groupings and transport."""
    per_us = 1.0 / SECONDS_PER_US
    file = CostFile(
        streamgauge=1,
        about=about,
        any_type=TypeCostsFile.of(constants.any_type),
        groupings_us={name: _round(cost * per_us) for name, cost in constants.groupings.items()},
        transport_us=ByDistanceFile(
            **{name: _round(cost * per_us) for name, cost in constants.transport._asdict().items()}
        ),
    )
    return dump_yaml(file.model_dump(exclude_defaults=True))


def _round(value: float) -> float:
    return round(value, DIGITS)


@cache
def _known_keys() -> tuple[str, ...]:
    return tuple(list_keys(CostFile.model_json_schema(by_alias=True)))
