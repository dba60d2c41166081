"""RCRR: Heron's resource-compliant round robin, as Kalim 2020, section 4.5.1, compares with it.

Instances go from machine to machine, operator by operator, wherever cores, memory and disk allow.
Rates are not looked at. It gets as many machines as another planner used, all of the largest type.
"""

from __future__ import annotations

import numpy as np

from streamgauge.errors import Infeasible
from streamgauge.planning.packing.catalogue import Catalogue, Resource
from streamgauge.planning.packing.instances import Instances, PackingPlan, fits

_RATES = [index for index, one in enumerate(Resource) if one in (Resource.NETWORK, Resource.ROUTER)]


def pack_round_robin(instances: Instances, catalogue: Catalogue, machines: int) -> PackingPlan:
    """Round robin over that many of the largest machines; those that stay empty are paid too.

    Raises:
        Infeasible: They do not hold all instances.
    """
    largest = catalogue.largest_first[0]
    free = np.tile(largest.room, (machines, 1))
    free[:, _RATES] = np.inf
    contents: list[list[int]] = [[] for _ in range(machines)]
    turn = 0
    for index, needs in enumerate(instances.needs):
        turns = ((turn + tries) % machines for tries in range(machines))
        number = next((one for one in turns if fits(needs, free[one])), None)
        if number is None:
            raise Infeasible(
                f"round robin over {machines} machines of type {largest.name}: no room for"
                f" {instances.names[index]}; more machines would hold it"
            )
        free[number] -= needs
        contents[number].append(index)
        turn = number + 1
    return PackingPlan(
        method="round robin",
        instances=instances,
        machines=(largest,) * machines,
        contents=tuple(map(tuple, contents)),
    )
