"""Threads of the oracles: they handle what is in their queue, which may be limited, and idle."""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any

import simpy

from tests.simulation.oracles.parts import Cores, Meter, Steps


class Thread(ABC):
    """A thread with a queue. It handles what is there one by one and in order, then idles.

    Idle, it polls for `spin` seconds, in which it sees what comes at once, and then sleeps again
    and again for `sleep` seconds: what comes meanwhile is seen when the current sleep ends.
    Polling takes nothing from the cores.

    The queue has `capacity` places. Who is offered none may wait in `line`. A place is free as soon
    as the thread takes what was there, not at the end of its service. At that very moment it goes
    to the first in line: a function that gives the item to be put there, or nothing if it has no
    use for the place any more.
    """

    def __init__(
        self,
        env: simpy.Environment,
        cores: Cores,
        *,
        spin: float = math.inf,
        sleep: float = 0.001,
        capacity: float = math.inf,
    ) -> None:
        self.env = env
        self.cores = cores
        self.spin = spin
        self.sleep = sleep
        self.capacity = capacity
        self.queue: deque[tuple[float, Any]] = deque()
        self.line: deque[Callable[[], Any]] = deque()
        self.waiting = Meter(env)
        self.longest = 0
        self.busy = Meter(env)
        self.handled = 0
        self.sojourns = 0.0
        self.alarm: simpy.Event | None = None
        env.process(self.live())

    def put(self, item: Any) -> None:
        self.waiting.change(+1)
        self.queue.append((self.env.now, item))
        self.longest = max(self.longest, len(self.queue))
        self.look()

    def offer(self, item: Any) -> bool:
        """Puts it if there is a place; whether there was one."""
        if len(self.queue) >= self.capacity:
            return False
        self.put(item)
        return True

    def ready(self) -> bool:
        return bool(self.queue)

    def look(self) -> None:
        """Wakes the thread if it idles and there is something to do."""
        if self.alarm is not None and not self.alarm.triggered and self.ready():
            self.alarm.succeed()

    def live(self) -> Steps:
        while True:
            yield from self.once() if self.ready() else self.idle()

    def idle(self) -> Steps:
        since = self.env.now
        self.alarm = self.env.event()
        yield self.alarm
        self.alarm = None
        asleep = self.env.now - since - self.spin
        if asleep > 0 and self.sleep > 0:
            left = math.ceil(asleep / self.sleep) * self.sleep - asleep
            yield self.env.timeout(max(0.0, left))

    def once(self) -> Steps:
        came, item = self.take()
        self.busy.change(+1)
        yield from self.handle(item)
        self.busy.change(-1)
        self.handled += 1
        self.sojourns += self.env.now - came

    def take(self) -> tuple[float, Any]:
        """The next in the queue, and when it came."""
        self.waiting.change(-1)
        taken = self.queue.popleft()
        while self.line and len(self.queue) < self.capacity:
            item = self.line.popleft()()
            if item is not None:
                self.put(item)
        return taken

    @abstractmethod
    def handle(self, item: Any) -> Steps:
        """What it does with what it takes from its queue."""

    def restart(self) -> None:
        self.waiting.restart()
        self.busy.restart()
        self.longest = len(self.queue)
        self.handled = 0
        self.sojourns = 0.0
