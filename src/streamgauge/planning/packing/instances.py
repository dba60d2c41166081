"""What is packed: instances with their needs and who sends to whom; and what packing gives.

One unit for the router (Kalim 2020, section 4.3.4, repaired): the load of a container is the sum of
tuples into and out of its instances. A tuple between two of them counts twice, and what a source
reads from outside counts not at all, as no router carries it. Limits are in the same unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Infeasible
from streamgauge.planning.packing.catalogue import (
    GIBIBYTE,
    HOURS_PER_MONTH,
    Catalogue,
    MachineType,
    Resource,
    Vector,
)

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]
# Needs are summed in floating point: ten tenths of a core must fill one, not exceed it.
SLACK = 1e-9
# Needs that agree in so many digits are the same.
DIGITS = 12


@dataclass(frozen=True, kw_only=True, eq=False)
class Instances:
    """Executors to be packed.

    Attributes:
        operators: Of each instance.
        needs: Of each instance, by resource.
        senders: Instance that each edge leaves, and
        receivers: where it goes.
        rates: Tuples per second on each edge.
    """

    operators: tuple[str, ...]
    needs: Matrix
    senders: Indices
    receivers: Indices
    rates: Vector

    @classmethod
    def of(
        cls,
        operators: Iterable[str],
        needs: Iterable[Iterable[float]],
        edges: Mapping[tuple[int, int], float] | None = None,
    ) -> Instances:
        """With needs of all resources, and rates by pair of instances."""
        pairs = dict(edges or {})
        ends = np.asarray(list(pairs), dtype=np.intp).reshape(-1, 2)
        return cls(
            operators=tuple(operators),
            needs=np.asarray([list(row) for row in needs], dtype=np.float64),
            senders=ends[:, 0],
            receivers=ends[:, 1],
            rates=np.asarray(list(pairs.values()), dtype=np.float64),
        )

    def __len__(self) -> int:
        return len(self.operators)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """``operator[0]``, ``operator[1]`` and so on."""
        seen: dict[str, int] = {}
        names = []
        for operator in self.operators:
            number = seen.get(operator, 0)
            seen[operator] = number + 1
            names.append(f"{operator}[{number}]")
        return tuple(names)

    @cached_property
    def kinds(self) -> tuple[tuple[int, ...], ...]:
        """Instances that need the same: what packing need not tell apart."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for index, row in enumerate(self.needs):
            key = tuple(f"{value:.{DIGITS}g}" for value in row)
            groups.setdefault(key, []).append(index)
        return tuple(map(tuple, groups.values()))

    @property
    def total(self) -> Vector:
        """Needs of all together."""
        return np.asarray(self.needs.sum(axis=0))


@dataclass(frozen=True, kw_only=True, eq=False)
class PackingPlan:
    """Machines to buy, and the instances on each.

    Attributes:
        method: What made it.
        proven: No plan for these instances costs less per hour, where that is known.
    """

    method: str
    instances: Instances
    machines: tuple[MachineType, ...]
    contents: tuple[tuple[int, ...], ...]
    proven: float | None = None

    @property
    def price_per_hour(self) -> float:
        """Of all machines."""
        return float(sum(machine.price_per_hour for machine in self.machines))

    @property
    def price_per_month(self) -> float:
        """Of 730 hours."""
        return self.price_for(HOURS_PER_MONTH)

    def price_for(self, hours: float) -> float:
        """Of all machines for so long."""
        return self.price_per_hour * hours

    @property
    def gap(self) -> float | None:
        """Part by which it may cost more than the cheapest there is."""
        if self.proven is None:
            return None
        return max(self.price_per_hour / self.proven - 1.0, 0.0) if self.proven > 0.0 else 0.0

    @property
    def bought(self) -> Mapping[MachineType, int]:
        """How many of each type, the dearest first."""
        types = sorted(self.machines, key=lambda one: (-one.price_per_hour, one.name))
        counts: dict[MachineType, int] = {}
        for machine in types:
            counts[machine] = counts.get(machine, 0) + 1
        return counts

    @cached_property
    def loads(self) -> Matrix:
        """What the instances of each machine need together."""
        needs = self.instances.needs
        return np.asarray([needs[list(content)].sum(axis=0) for content in self.contents])

    @cached_property
    def rooms(self) -> Matrix:
        """What each machine has for them."""
        return np.asarray([machine.room for machine in self.machines])

    @cached_property
    def place(self) -> Indices:
        """The machine of every instance."""
        place = np.full(len(self.instances), -1, dtype=np.intp)
        for number, content in enumerate(self.contents):
            place[list(content)] = number
        return place

    @property
    def cross_rate(self) -> float:
        """Tuples per second between machines."""
        ends = self.place[self.instances.senders], self.place[self.instances.receivers]
        return float(self.instances.rates[ends[0] != ends[1]].sum())

    def violations(self, *, router: bool = True) -> Iterator[str]:
        """Capacities that are exceeded, and instances that are not placed exactly once."""
        placed = sorted(index for content in self.contents for index in content)
        if placed != list(range(len(self.instances))):
            yield f"{len(placed)} places for {len(self.instances)} instances"
        for machine, load, room in zip(self.machines, self.loads, self.rooms, strict=True):
            for resource, need, most in zip(Resource, load, room, strict=True):
                counted = router or resource is not Resource.ROUTER
                if counted and not need <= most + SLACK * max(most, 1.0):
                    yield f"{machine.name}: {need:g} of {most:g} {resource}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragmentation:
    """Parts of what was bought that nobody uses (Kalim 2020, section 4.5.4).

    Attributes:
        by_resource: Unused over available, of all machines together; only what all of them limit.
        product: Of these.
    """

    by_resource: Mapping[Resource, float]
    product: float


def fragmentation(plan: PackingPlan) -> Fragmentation:
    """Of a plan; a resource that some machine does not limit, or does not have, is left out."""
    left: dict[Resource, float] = {}
    for index, resource in enumerate(Resource):
        available = float(plan.rooms[:, index].sum())
        if 0.0 < available < np.inf:
            left[resource] = 1.0 - float(plan.loads[:, index].sum()) / available
    return Fragmentation(by_resource=left, product=float(np.prod(list(left.values()))))


def compare_fragmentation(product: float, other: float) -> float:
    """How much worse a product is than another one, as a part of that other one.

    The source divides once by the other and once by its own (section 8, 37); here it is always
    the other.
    """
    return product / other - 1.0


def classes_of(instances: Instances) -> list[tuple[int, ...]]:
    """Instances of one operator that need the same."""
    groups: dict[tuple[int, str], list[int]] = {}
    for number, kind in enumerate(instances.kinds):
        for index in kind:
            groups.setdefault((number, instances.operators[index]), []).append(index)
    return [tuple(members) for members in groups.values()]


def fits(needs: Vector, room: Vector) -> bool:
    """Whether there is room for the needs, in every resource."""
    return bool(np.all(needs <= room + SLACK * np.maximum(np.abs(needs), 1.0)))


def check_each_fits(instances: Instances, catalogue: Catalogue) -> None:
    """Raise Infeasible where no machine type holds an instance even alone, with what would."""
    rooms = np.asarray([machine.room for machine in catalogue.machines])
    problems = []
    for kind in instances.kinds:
        needs = instances.needs[kind[0]]
        if not any(fits(needs, room) for room in rooms):
            operator, many = instances.operators[kind[0]], len(kind)
            problems.append(
                f"an instance of {operator} ({many} of them) needs {show_needs(needs)}, and"
                f" {_explain(needs, rooms, catalogue)}"
            )
    if problems:
        raise Infeasible(
            f"no machine type of catalogue {catalogue.name!r} holds every instance: "
            + "; ".join(problems)
            + ". Add a machine type with that much room beside what its container takes, or give"
            " the operator more instances, which then do less each"
        )


def _explain(needs: Vector, rooms: Matrix, catalogue: Catalogue) -> str:
    short = [
        f"the most that a type leaves is {show_amount(resource, most)}"
        for resource, need, most in zip(Resource, needs, rooms.max(axis=0), strict=True)
        if not fits(np.asarray([need]), np.asarray([most]))
    ]
    return ", ".join(short) or "no single type has that much of everything at once"


def show_needs(needs: Vector) -> str:
    """``0.9 cores, 2 GiB of memory``; without what is not needed."""
    return ", ".join(
        show_amount(resource, amount)
        for resource, amount in zip(Resource, needs, strict=True)
        if amount > 0.0
    )


def show_amount(resource: Resource, amount: float) -> str:
    """An amount of a resource with its unit."""
    if resource is Resource.CORES:
        return f"{amount:.3g} cores"
    if resource in (Resource.MEMORY, Resource.DISK):
        return f"{amount / GIBIBYTE:.3g} GiB of {resource}"
    if resource is Resource.NETWORK:
        return f"{amount / 1e6:.3g} MB/s of network"
    return f"{amount:,.0f} tuples/s through the router"
