"""The catalogue file: machine types and their prices, as people write them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from streamgauge.errors import Findings, InvalidInput
from streamgauge.planning.packing.catalogue import (
    GIBIBYTE,
    Catalogue,
    Category,
    MachineType,
)
from streamgauge.topology.files.document import Document, parse_document, read_document
from streamgauge.topology.files.file_model import FileModel, Name, list_keys, validate

# Network cards are sold in decimal gigabits a second.
BYTES_PER_GBIT = 1e9 / 8.0
UNNAMED = "catalogue"


class ContainerFile(FileModel):
    """What a container's own processes take of a machine: router, metrics, operating system."""

    cores: float = 0.0
    memory_gib: float = 0.0


class MachineTypeFile(FileModel):
    """One machine type."""

    name: Name
    category: Literal["general", "compute", "memory"]
    cores: float
    memory_gib: float
    price_per_hour: float
    disk_gib: float = 0.0
    network_gbit_per_second: float | None = Field(
        default=None, description="sent and received together; not limited if not given"
    )
    router_per_second: float | None = Field(
        default=None,
        description="tuples per second into and out of instances that one container's router"
        " carries; not limited if not given",
    )
    platform: str | None = None
    region: str | None = None
    container: ContainerFile | None = Field(
        default=None, description="where this type's container takes something else"
    )


class CatalogueFile(FileModel):
    """Machine types with prices."""

    catalogue: Literal[1] = Field(description="version of this file format")
    name: str = ""
    about: str = ""
    example: bool = Field(default=False, description="whether the prices are invented")
    currency: str = "USD"
    platform: str = Field(default="", description="of all machine types that name none")
    region: str = Field(default="", description="of all machine types that name none")
    container: ContainerFile = ContainerFile()
    machines: list[MachineTypeFile]


def load_catalogue(path: str | Path) -> Catalogue:
    """The catalogue in a file; ``-`` reads standard input.

    Raises:
        UnreadableFile: The file is no document.
        InvalidInput: What it says cannot be; every problem with file, line and key.
    """
    return _catalogue(read_document(path))


def parse_catalogue(text: str | bytes, name: str = "") -> Catalogue:
    """The catalogue in a text."""
    return _catalogue(parse_document(text, name))


def catalogue_to_data(catalogue: Catalogue) -> dict[str, Any]:
    """The catalogue as a file holds it."""
    head = {
        "catalogue": 1,
        "name": catalogue.name,
        "about": catalogue.about,
        "example": catalogue.is_example,
        "currency": catalogue.currency,
    }
    kept = {key: value for key, value in head.items() if value not in ("", False)}
    return {**kept, "machines": [_row(machine) for machine in catalogue.machines]}


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the catalogue file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "catalogue-1.schema.json",
        **CatalogueFile.model_json_schema(by_alias=True),
    }


def _catalogue(document: Document) -> Catalogue:
    try:
        file: CatalogueFile = validate(CatalogueFile, document.data, _known_keys)
        findings = Findings()
        machines = []
        for index, row in enumerate(file.machines):
            try:
                machines.append(_machine(row, file))
            except InvalidInput as error:
                for problem in error.problems:
                    # The noun counts bytes, the file GiB: people look for the file's key.
                    key = _FILE_KEYS.get(str(problem.place[-1]), problem.place)
                    findings.absorb(
                        InvalidInput.single(
                            key,
                            seen=problem.seen,
                            expected=problem.expected,
                            remedy=problem.remedy,
                        ),
                        "machines",
                        index,
                    )
        findings.raise_if_any()
        return Catalogue(
            name=file.name or Path(document.name).stem or UNNAMED,
            machines=tuple(machines),
            currency=file.currency,
            is_example=file.example,
            about=file.about,
        )
    except InvalidInput as error:
        raise document.locate_error(error) from None


_FILE_KEYS = {
    "memory_bytes": ("memory_gib",),
    "disk_bytes": ("disk_gib",),
    "network_bytes_per_second": ("network_gbit_per_second",),
    "reserved_cores": ("container", "cores"),
    "reserved_memory_bytes": ("container", "memory_gib"),
}


def _machine(row: MachineTypeFile, file: CatalogueFile) -> MachineType:
    container = file.container if row.container is None else row.container
    network = row.network_gbit_per_second
    return MachineType(
        name=row.name,
        category=Category(row.category),
        cores=row.cores,
        memory_bytes=row.memory_gib * GIBIBYTE,
        price_per_hour=row.price_per_hour,
        disk_bytes=row.disk_gib * GIBIBYTE,
        network_bytes_per_second=None if network is None else network * BYTES_PER_GBIT,
        router_per_second=row.router_per_second,
        platform=file.platform if row.platform is None else row.platform,
        region=file.region if row.region is None else row.region,
        reserved_cores=container.cores,
        reserved_memory_bytes=container.memory_gib * GIBIBYTE,
    )


def _row(machine: MachineType) -> dict[str, Any]:
    network = machine.network_bytes_per_second
    row = {
        "name": machine.name,
        "category": machine.category.value,
        "cores": machine.cores,
        "memory_gib": machine.memory_bytes / GIBIBYTE,
        "price_per_hour": machine.price_per_hour,
        "disk_gib": machine.disk_bytes / GIBIBYTE or None,
        "network_gbit_per_second": None if network is None else network / BYTES_PER_GBIT,
        "router_per_second": machine.router_per_second,
        "platform": machine.platform or None,
        "region": machine.region or None,
        "container": {
            "cores": machine.reserved_cores,
            "memory_gib": machine.reserved_memory_bytes / GIBIBYTE,
        }
        if machine.reserved_cores or machine.reserved_memory_bytes
        else None,
    }
    return {key: value for key, value in row.items() if value is not None}


@cache
def _known_keys() -> tuple[str, ...]:
    return tuple(list_keys(json_schema()))
