"""Plans of equal machines, each with its even part of every operator.

Where an engine keeps tuples in the sender's worker (Storm 2.x), receivers near many senders get
more than others, and are overloaded on machines that price alone would mix. Here every machine has
as many senders and receivers as the others, but for one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from streamgauge.planning.packing.catalogue import Catalogue, MachineType
from streamgauge.planning.packing.instances import SLACK, Instances, PackingPlan, classes_of

# Times the machines that needs alone ask for: with more, another type is cheaper.
MOST_MORE = 4


def pack_alike(instances: Instances, catalogue: Catalogue, most: int = 2) -> Iterator[PackingPlan]:
    """The cheapest such plans, each of another type of machine."""
    plans = [
        plan for machine in catalogue.machines if (plan := _deal(instances, machine)) is not None
    ]
    yield from sorted(plans, key=lambda plan: plan.price_per_hour)[:most]


def _deal(instances: Instances, machine: MachineType) -> PackingPlan | None:
    """The fewest machines of a type that hold all, dealt in turn; None where none do."""
    room = machine.room
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(instances.total > 0.0, instances.total / room, 0.0)
    if not np.isfinite(parts).all():
        return None
    least = max(math.ceil(float(parts.max()) - SLACK), 1)
    for many in range(least, min(MOST_MORE * least, len(instances)) + 1):
        place = np.empty(len(instances), dtype=np.intp)
        turn = 0
        for members in classes_of(instances):
            place[list(members)] = (turn + np.arange(len(members))) % many
            turn += len(members)
        loads = np.zeros((many, len(room)))
        np.add.at(loads, place, instances.needs)
        if np.all(loads <= room * (1.0 + SLACK)):
            contents = tuple(
                tuple(np.flatnonzero(place == number).tolist()) for number in range(many)
            )
            return PackingPlan(
                method="alike",
                instances=instances,
                machines=(machine,) * many,
                contents=contents,
            )
    return None
