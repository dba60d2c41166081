"""The accounts of threads, queues and machines up to this very moment.

What lasts is entered when it ends, and a service is charged when it begins. Here what is under way
is counted as far as it has come.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.cores import NOBODY, USUAL_QUANTUM, Cores
from streamgauge.simulation.records import AFTERWARDS, BLOCKED, ON_CORE, WAITING
from streamgauge.simulation.state import State

Account = dict[str, NDArray[Any]]


def thread_accounts(s: State) -> Account:
    """Seconds that each thread was busy, blocked and throttled, and spent on a core."""
    now, t = float(s.now[0]), s.thread
    working = np.isin(t["phase"], (ON_CORE, WAITING, AFTERWARDS))
    held_back = t["throttled"] == 1
    return {
        "busy": t["busy"] + np.where(working, now - t["busy_since"], 0.0),
        "blocked": t["blocked"] + _waited(s),
        "throttled": t["throttled_time"] + np.where(held_back, now - t["throttled_since"], 0.0),
        "cpu": t["cpu"] - _left(s.cores, now),
    }


def queue_accounts(s: State, count: int) -> Account:
    """Of the first `count` queues: tuples now and over time, and seconds of waiting for room."""
    now, q = float(s.now[0]), s.queue[:count]
    caused = q["caused"].copy()
    blocked = s.thread["phase"] == BLOCKED
    np.add.at(caused, s.thread["blocked_on"][blocked], _waited(s)[blocked])
    length = q["length"] - q["flushes"]
    return {
        "length": length,
        "area": q["area"] + length * (now - q["changed"]),
        "caused": caused,
    }


def machine_accounts(s: State) -> Account:
    """Core-seconds of work on each machine, and of its idle threads that poll."""
    now, cores = float(s.now[0]), s.cores
    spent = s.thread["cpu"] - _left(cores, now)
    polled = cores.polled.copy()
    if cores.quantum == 0.0:
        # Where threads take turns, those that poll take none.
        polled += _passed(cores, now) * cores.burn[cores.polling]
    machines = len(cores.capacity)
    return {"busy": np.bincount(s.thread["machine"], spent, minlength=machines), "polled": polled}


def _waited(s: State) -> NDArray[Any]:
    """How long each blocked thread has been."""
    blocked = s.thread["phase"] == BLOCKED
    return np.asarray(np.where(blocked, float(s.now[0]) - s.thread["blocked_since"], 0.0))


def _left(cores: Cores, now: float) -> NDArray[Any]:
    """Work that is left of each thread's service."""
    return _left_in_turns(cores, now) if cores.quantum > 0.0 else _left_sharing(cores, now)


def _passed(cores: Cores, now: float) -> NDArray[Any]:
    """What a thread of each machine got done since the machine was last looked at."""
    wanted = cores.running + cores.burn[cores.polling]
    crowded = cores.capacity / np.maximum(wanted, 1e-12) / (1.0 + cores.switch / USUAL_QUANTUM)
    return np.asarray((now - cores.updated) * np.where(wanted <= cores.capacity, 1.0, crowded))


def _left_sharing(cores: Cores, now: float) -> NDArray[Any]:
    """The same where all run at once."""
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
