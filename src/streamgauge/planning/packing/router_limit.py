"""The limit of a container's router on a machine type (Kalim 2020, section 4.3.3).

Pairs of sources and receivers run in one container that has room for everything else: 1, 2, 4 …
until the router is too busy, then the numbers between by halves. What the container carried with
the last number that went well is the limit. The source counts tuples of sources; a container's load
counts every tuple into and out of instances, twice that much. Limits here are loads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from streamgauge.planning.packing.catalogue import Catalogue, MachineType

MOST_BUSY = 0.8
# A queue that was full now and then at the start is not one that holds a source back.
QUIET = 0.01
MOST_PAIRS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterReading:
    """What was measured with some pairs in one container.

    Attributes:
        per_second: Tuples that all sources emitted.
        queue_full: How often a source found its outgoing queue full, per second, or the part of the
            time that it was held back by that; zero where nothing held it back.
        busy: Part of the time that the router worked.
    """

    per_second: float
    queue_full: float
    busy: float

    @property
    def is_fine(self) -> bool:
        """Whether the router is no bottleneck."""
        return self.queue_full <= QUIET and self.busy < MOST_BUSY


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterLimit:
    """The limit, and how it was found.

    Attributes:
        pairs: Most pairs that went well; 0 where a single one was too much.
        per_second: Tuples of sources that the container then carried.
        probes: Numbers of pairs, in the order they were tried.
        is_open: Whether no number of pairs was too much: the limit is higher.
    """

    pairs: int
    per_second: float
    probes: tuple[int, ...]
    is_open: bool = False

    @property
    def load_per_second(self) -> float:
        """The limit in the unit of `MachineType.router_per_second`."""
        return 2.0 * self.per_second


def profile_router(
    measure: Callable[[int], RouterReading], *, most_pairs: int = MOST_PAIRS
) -> RouterLimit:
    """Double, then halve; `measure` runs so many pairs in one container.

    Where a single pair is too much already, its throughput at 80 % of the router's time is taken.
    """
    readings: dict[int, RouterReading] = {}

    def is_fine(pairs: int) -> bool:
        readings[pairs] = measure(pairs)
        return readings[pairs].is_fine

    fine, pairs = 0, 1
    while pairs <= most_pairs and is_fine(pairs):
        fine, pairs = pairs, 2 * pairs
    is_open = pairs > most_pairs
    while not is_open and pairs - fine > 1 and fine:
        middle = (fine + pairs) // 2
        if is_fine(middle):
            fine = middle
        else:
            pairs = middle
    if fine:
        carried = readings[fine].per_second
    else:
        alone = readings[1]
        carried = alone.per_second * min(MOST_BUSY / max(alone.busy, MOST_BUSY), 1.0)
    return RouterLimit(pairs=fine, per_second=carried, probes=tuple(readings), is_open=is_open)


def profile_catalogue(
    catalogue: Catalogue,
    measure: Callable[[MachineType, int], RouterReading],
    *,
    again: bool = False,
) -> tuple[Catalogue, Mapping[str, RouterLimit]]:
    """The catalogue with limits for types that have none yet, or for all, and how they were found.

    A type whose router no number of pairs made busy stays without a limit.
    """
    found: dict[str, RouterLimit] = {}
    machines = []
    for machine in catalogue.machines:
        if machine.router_per_second is not None and not again:
            machines.append(machine)
            continue

        def of_type(pairs: int, machine: MachineType = machine) -> RouterReading:
            return measure(machine, pairs)

        limit = found[machine.name] = profile_router(of_type)
        load = None if limit.is_open else limit.load_per_second
        machines.append(replace(machine, router_per_second=load))
    return replace(catalogue, machines=tuple(machines)), found
