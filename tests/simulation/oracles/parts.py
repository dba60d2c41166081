"""What the oracles share: times, meters, cores shared by processor sharing; see also threads.py.

Plain SimPy, written from the specification alone. Nothing here is fast; everything is to be read.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass
from random import Random
from typing import Any

import simpy

Steps = Generator[simpy.Event, Any, None]


@dataclass(frozen=True)
class Time:
    """A duration in seconds: always the same, or exponential."""

    mean: float = 0.0
    exponential: bool = False

    def draw(self, random: Random) -> float:
        if self.mean <= 0:
            return 0.0
        return random.expovariate(1 / self.mean) if self.exponential else self.mean


NO_TIME = Time()


def constant(seconds: float) -> Time:
    return Time(seconds)


def exponential(mean: float) -> Time:
    return Time(mean, exponential=True)


def rounded(mean: float, random: Random) -> int:
    """A whole number with the given mean: one of its two neighbours."""
    whole = math.floor(mean)
    part = mean - whole
    return whole + (part > 0 and random.random() < part)


class Meter:
    """A level over time and its mean since the last restart.

    The area below it is summed up change by change: each adds its size for all the time to come.
    """

    def __init__(self, env: simpy.Environment) -> None:
        self.env = env
        self.level = 0
        self.restart()

    def change(self, by: int) -> None:
        self.level += by
        self.moment += by * self.env.now

    def restart(self) -> None:
        self.started = self.env.now
        self.moment = self.level * self.started

    def mean(self) -> float:
        passed = self.env.now - self.started
        return (self.level * self.env.now - self.moment) / passed if passed > 0 else math.nan


class Cores:
    """The cores of a machine. Each of k threads at work gets min(1, cores / k) of a core.

    The remaining work of everyone is computed anew whenever somebody begins or ends.
    """

    def __init__(self, env: simpy.Environment, count: float = math.inf) -> None:
        self.env = env
        self.count = count
        self.left: dict[simpy.Event, float] = {}
        self.since = env.now
        self.version = 0
        self.population = Meter(env)

    def run(self, work: float) -> Steps:
        """Takes as long as it takes to get `work` seconds of a core."""
        if work <= 0:
            return
        self.population.change(+1)
        if math.isinf(self.count):
            yield self.env.timeout(work)
        else:
            self._advance()
            end = self.env.event()
            self.left[end] = work
            self._plan()
            yield end
        self.population.change(-1)

    def _rate(self) -> float:
        return min(1.0, self.count / len(self.left))

    def _advance(self) -> None:
        if self.left:
            done = (self.env.now - self.since) * self._rate()
            self.left = {end: left - done for end, left in self.left.items()}
        self.since = self.env.now

    def _plan(self) -> None:
        self.version += 1
        if self.left:
            delay = max(0.0, min(self.left.values())) / self._rate()
            due = self.env.timeout(delay, value=self.version)
            due.callbacks.append(self._end)

    def _end(self, due: simpy.Event) -> None:
        if due.value != self.version:
            return  # somebody began or ended since: another end was planned
        self._advance()
        least = min(self.left.values())
        for end in [end for end, left in self.left.items() if left <= least]:
            del self.left[end]
            end.succeed()
        self._plan()
