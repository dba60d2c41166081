"""CPU time up to this very moment, in the middle of services.

A thread's account is charged for a service when that begins. What is left of the service is yet to
be spent, and the simulator's cores know how much that is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.cores import NOBODY, USUAL_QUANTUM, Cores
from streamgauge.simulation.state import State


def cpu_spent(s: State, now: float) -> NDArray[Any]:
    """Core-seconds that each thread has spent on its work."""
    left = _left_in_turns(s.cores, now) if s.cores.quantum > 0.0 else _left_sharing(s.cores, now)
    return np.asarray(s.thread["cpu"] - left)


def polled(cores: Cores, now: float) -> NDArray[Any]:
    """Core-seconds that the idle threads of each machine have spent on polling."""
    if cores.quantum > 0.0:
        # Where threads take turns, those that poll take none.
        return cores.polled.copy()
    return np.asarray(cores.polled + _passed(cores, now) * cores.burn[cores.polling])


def _passed(cores: Cores, now: float) -> NDArray[Any]:
    """What a thread of each machine got done since the machine was last looked at."""
    wanted = cores.running + cores.burn[cores.polling]
    crowded = cores.capacity / np.maximum(wanted, 1e-12) / (1.0 + cores.switch / USUAL_QUANTUM)
    return np.asarray((now - cores.updated) * np.where(wanted <= cores.capacity, 1.0, crowded))


def _left_sharing(cores: Cores, now: float) -> NDArray[Any]:
    """Work that is left of each thread's service where all run at once."""
    left = np.zeros(len(cores.finish))
    clock = cores.clock + _passed(cores, now)
    for machine, running in enumerate(cores.running.tolist()):
        first = int(cores.first[machine])
        threads = cores.heap[first : first + running]
        left[threads] = np.maximum(cores.finish[threads] - clock[machine], 0.0)
    return left


def _left_in_turns(cores: Cores, now: float) -> NDArray[Any]:
    """The same where threads take turns: less by what those on a core have done of theirs."""
    left = cores.finish.copy()
    cores_of = np.diff(cores.core_first)
    speed = np.repeat(cores.capacity / cores_of, cores_of)
    held = cores.holder != NOBODY
    left[cores.holder[held]] -= (np.maximum(now - cores.since, 0.0) * speed)[held]
    return np.asarray(np.maximum(left, 0.0))
