"""Windows of Storm 2.x, per task: what fires when, and when a tuple expires and is acked.

At a trigger the tuples that have left the window expire and are acked, then the window function
gets those that are left. So a tumbling window's tuples are acked at the next trigger. A count
trigger runs on the executor's thread and blocks it; time triggers run on a thread of their own,
at a fixed rate: one that is late is made up for at once.
"""

import math
from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

import simpy

from tests.simulation.oracles.parts import NO_TIME, Cores, Meter, Steps, Time
from tests.simulation.oracles.threads import Thread


@dataclass(frozen=True)
class Window:
    """A count window (length and slide in tuples) or a time window (in seconds).

    Tumbling if the slide is the length, which it is if not given. The first time trigger comes at
    `phase + slide`. Storm expires what is too old for a count window also between triggers, after
    every 100 tuples without a scan: `compact_every`, off here because the specification is silent.
    """

    length: float
    slide: float | None = None
    by: str = "count"
    cpu: Time = NO_TIME
    phase: float = 0.0
    compact_every: int | None = None

    @property
    def step(self) -> float:
        return self.length if self.slide is None else self.slide


class Buffer:
    """The window of one task."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.items: deque[tuple[float, Any]] = deque()
        self.reference = -math.inf  # the time of the last time trigger
        self.since_trigger = 0
        self.since_scan = 0

    def add(self, item: Any, now: float) -> bool:
        """Whether the count trigger fires."""
        self.items.append((now, item))
        self.since_trigger += 1
        return self.window.by == "count" and self.since_trigger >= self.window.step

    def trigger(self, now: float) -> tuple[list[Any], list[Any]]:
        """Those that expire, and those in the window."""
        self.reference = now
        self.since_trigger = 0
        expired = self._scan()
        return expired, [item for _, item in self.items]

    def compact(self) -> list[Any]:
        """Those that expire between triggers; to be asked after every tuple."""
        self.since_scan += 1
        every = self.window.compact_every
        return self._scan() if every is not None and self.since_scan >= every else []

    def _scan(self) -> list[Any]:
        self.since_scan = 0
        expired = []
        while self.items and self._is_old(self.items[0][0]):
            expired.append(self.items.popleft()[1])
        return expired

    def _is_old(self, came: float) -> bool:
        if self.window.by == "count":
            return len(self.items) > self.window.length
        return came <= self.reference - self.window.length


def at_fixed_rate(env: simpy.Environment, window: Window, fire: Any) -> Steps:
    """The thread of time triggers: calls `fire()`, a generator, when due or as soon as it can."""
    number = 1
    while True:
        due = window.phase + number * window.step
        if due > env.now:
            yield env.timeout(due - env.now)
        yield from fire()
        number += 1


@dataclass
class WindowResult:
    """What happened after the warm-up, in the order in which it happened."""

    waits: list[float] = field(default_factory=list)  # added -> its first window fires
    window_delays: list[float] = field(default_factory=list)  # added -> end of that window
    ack_delays: list[float] = field(default_factory=list)  # added -> acked
    sizes: list[int] = field(default_factory=list)  # tuples per firing
    sojourns: list[float] = field(default_factory=list)  # arrival -> added, tuple by tuple
    utilisation: float = math.nan  # of the executor's thread
    trigger_utilisation: float = math.nan  # of the thread of time triggers


@dataclass
class _Item:
    came: float
    added: float = math.nan
    seen: bool = False


class _WindowExecutor(Thread):
    """One task with a window, and nobody behind it."""

    def __init__(
        self, env: simpy.Environment, cores: Cores, window: Window, cpu: Time, seed: object
    ) -> None:
        super().__init__(env, cores)
        self.window, self.cpu = window, cpu
        self.random = Random(f"{seed}/service")
        self.firing = Random(f"{seed}/window")
        self.buffer = Buffer(window)
        self.triggering = Meter(env)
        self.result = WindowResult()
        if window.by == "time":
            env.process(at_fixed_rate(env, window, self.fire_apart))

    def handle(self, item: Any) -> Steps:
        yield from self.cores.run(self.cpu.draw(self.random))
        item.added = self.env.now
        self.result.sojourns.append(item.added - item.came)
        if self.buffer.add(item, self.env.now):
            yield from self.fire()
        self.ack(self.buffer.compact())

    def fire_apart(self) -> Steps:
        self.triggering.change(+1)
        yield from self.fire()
        self.triggering.change(-1)

    def fire(self) -> Steps:
        expired, window = self.buffer.trigger(self.env.now)
        self.ack(expired)
        if not window:
            return
        first = [item for item in window if not item.seen]
        for item in first:
            item.seen = True
            self.result.waits.append(self.env.now - item.added)
        self.result.sizes.append(len(window))
        yield from self.cores.run(self.window.cpu.draw(self.firing))
        self.result.window_delays += [self.env.now - item.added for item in first]

    def ack(self, items: list[Any]) -> None:
        self.result.ack_delays += [self.env.now - item.added for item in items]


def simulate_window(
    window: Window,
    *,
    rate: float,
    cpu: Time,
    seconds: float,
    warmup: float = 0.0,
    seed: object = 0,
    cores: float = math.inf,
) -> WindowResult:
    """A Poisson stream into one windowed task; what `seconds` after the warm-up show."""
    env = simpy.Environment()
    executor = _WindowExecutor(env, Cores(env, cores), window, cpu, seed)

    def source() -> Steps:
        due = Random(f"{seed}/due")
        while True:
            yield env.timeout(due.expovariate(rate))
            executor.put(_Item(env.now))

    env.process(source())
    if warmup > 0:
        env.run(until=warmup)
    executor.restart()
    executor.triggering.restart()
    executor.result = WindowResult()
    env.run(until=warmup + seconds)
    executor.result.utilisation = executor.busy.mean()
    executor.result.trigger_utilisation = executor.triggering.mean()
    return executor.result
