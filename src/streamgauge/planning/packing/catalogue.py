"""Machine types that can be bought, with what they hold and cost (Kalim 2020, section 4.4).

One container runs on each machine. Its own processes (router, metrics, the system) take some of
the cores and memory; what is left holds instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.topology.field_checks import check_name, check_number

GIBIBYTE = 2**30
HOURS_PER_MONTH = 730.0
MAX_TYPES = 10_000


class Category(StrEnum):
    """What a family of machine types has much of."""

    GENERAL = "general"
    COMPUTE = "compute"
    MEMORY = "memory"


class Resource(StrEnum):
    """What instances take of a machine, in the order of all vectors of needs and room.

    ROUTER: Tuples per second that its container's router carries, into and out of instances.
    """

    CORES = "cores"
    MEMORY = "memory"
    DISK = "disk"
    NETWORK = "network"
    ROUTER = "router"


Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineType:
    """What one machine of a type has and costs.

    Attributes:
        disk_bytes: Zero where it has none.
        network_bytes_per_second: That its network card carries, sent and received together; None
            where that is not limited.
        router_per_second: Load that one container's router carries there: tuples into and out of
            all instances, so that a tuple between two of them counts twice; None where that is not
            limited or not measured.
        reserved_cores: That the container's own processes take.
        reserved_memory_bytes: Likewise.
    """

    name: str
    category: Category
    cores: float
    memory_bytes: float
    price_per_hour: float
    disk_bytes: float = 0.0
    network_bytes_per_second: float | None = None
    router_per_second: float | None = None
    platform: str = ""
    region: str = ""
    reserved_cores: float = 0.0
    reserved_memory_bytes: float = 0.0

    def __post_init__(self) -> None:
        with Findings() as findings:
            check_name(findings, self.name, "name")
            check_number(findings, self.cores, "cores", above=0.0)
            check_number(findings, self.memory_bytes, "memory_bytes", above=0.0)
            check_number(findings, self.price_per_hour, "price_per_hour", above=0.0)
            check_number(findings, self.disk_bytes, "disk_bytes")
            for name in ("network_bytes_per_second", "router_per_second"):
                if getattr(self, name) is not None:
                    check_number(findings, getattr(self, name), name, above=0.0)
            for name, whole in (
                ("reserved_cores", self.cores),
                ("reserved_memory_bytes", self.memory_bytes),
            ):
                if check_number(findings, getattr(self, name), name) and not (
                    getattr(self, name) < whole
                ):
                    findings.add(
                        name,
                        seen=f"{getattr(self, name):g} of {whole:g}",
                        expected="less than the machine has",
                    )
        object.__setattr__(self, "category", Category(self.category))

    @property
    def room(self) -> Vector:
        """What instances may take of it, by resource; infinite where there is no limit."""
        network, router = self.network_bytes_per_second, self.router_per_second
        return np.asarray(
            [
                self.cores - self.reserved_cores,
                self.memory_bytes - self.reserved_memory_bytes,
                self.disk_bytes,
                np.inf if network is None else network,
                np.inf if router is None else router,
            ]
        )

    @property
    def cores_per_gib(self) -> float:
        """The shape by which categories differ (table 4.1)."""
        return self.cores / (self.memory_bytes / GIBIBYTE)


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """All machine types that can be bought.

    Attributes:
        currency: Of all prices.
        is_example: Whether its prices are invented.
    """

    name: str
    machines: tuple[MachineType, ...]
    currency: str = "USD"
    is_example: bool = False
    about: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "machines", tuple(self.machines))
        with Findings() as findings:
            check_name(findings, self.name, "name")
            if not self.machines:
                findings.add("machines", seen="no machine type", expected="at least one")
            if len(self.machines) > MAX_TYPES:
                seen = f"{len(self.machines)} machine types"
                findings.add("machines", seen=seen, expected=f"at most {MAX_TYPES}")
            names: set[str] = set()
            for index, machine in enumerate(self.machines):
                if machine.name in names:
                    seen = f"the name {machine.name!r} twice"
                    findings.add("machines", index, "name", seen=seen, expected="each name once")
                names.add(machine.name)

    @cached_property
    def by_name(self) -> Mapping[str, MachineType]:
        """Machine types by their names."""
        return {machine.name: machine for machine in self.machines}

    def machine(self, name: str) -> MachineType:
        """The type of that name, or InvalidInput with the nearest names."""
        if name in self.by_name:
            return self.by_name[name]
        raise InvalidInput.single(
            (),
            seen=f"machine type {name!r}",
            expected=f"one of catalogue {self.name!r}",
            remedy=did_you_mean(name, list(self.by_name)),
        )

    def of_category(self, category: Category) -> tuple[MachineType, ...]:
        """The types of a category, the largest first; none where there are none."""
        chosen = [machine for machine in self.machines if machine.category is category]
        return tuple(sorted(chosen, key=size_key, reverse=True))

    @cached_property
    def largest_first(self) -> tuple[MachineType, ...]:
        """All types."""
        return tuple(sorted(self.machines, key=size_key, reverse=True))

    @cached_property
    def cheapest_first(self) -> tuple[MachineType, ...]:
        """All types."""
        return tuple(sorted(self.machines, key=lambda one: (one.price_per_hour, one.name)))

    @property
    def limits(self) -> tuple[Resource, ...]:
        """Resources that any of its machines limits."""
        rooms = np.asarray([machine.room for machine in self.machines])
        return tuple(
            one for index, one in enumerate(Resource) if np.isfinite(rooms[:, index]).any()
        )


def size_key(machine: MachineType) -> tuple[float, float, float, str]:
    """The order of machine types by size: cores, then memory, then price, then name."""
    return machine.cores, machine.memory_bytes, machine.price_per_hour, machine.name
