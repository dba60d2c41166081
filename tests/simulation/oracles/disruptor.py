"""The queue of Storm 1.x in front of an executor: batch, overflow, ring, timer, taking all.

Objects (lists of tuples) come into an input batch. A full batch goes to the ring if there is room
for all of it and nothing is before it, else to the overflow. A timer that runs free, constant or
exponential, moves the batch too, and waits for room as long as it takes. The consumer takes all
that is in the ring at once, serves its tuples one by one, and comes back.
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import simpy

from tests.simulation.oracles.parts import Meter, Steps, Time, rounded


class Disruptor:
    """The queue alone: `put` objects, and `yield from take()` them.

    `watch` is called whenever something came into the ring, for those who do not wait in `take`.
    """

    def __init__(
        self, env: simpy.Environment, *, batch: int, ring: int, flush: Time, random: Random
    ) -> None:
        if batch > ring:
            raise ValueError("a full batch must fit into the ring")
        self.env, self.batch_size, self.ring_size = env, batch, ring
        self.batch: list[Any] = []
        self.overflow: deque[list[Any]] = deque()
        self.ring: list[Any] = []
        self.lingering = False
        self.overflows = 0
        self.room = env.event()
        self.filled = env.event()
        self.stirred = env.event()
        self.watch: Callable[[], None] = lambda: None
        env.process(self._timer(flush, random))

    def put(self, item: Any) -> None:
        self.batch.append(item)
        if not self.stirred.triggered:
            self.stirred.succeed()
        if len(self.batch) >= self.batch_size:
            batch, self.batch = self.batch, []
            self._pass_on(batch)
        elif not self.lingering:
            while self.overflow and self._fits(self.overflow[0]):
                self._insert(self.overflow.popleft())

    def take(self) -> Any:
        """All objects in the ring; waits until there is one."""
        while not self.ring:
            self.filled = self.env.event()
            yield self.filled
        return self.take_now()

    def take_now(self) -> list[Any]:
        """All objects in the ring, if there are any."""
        taken, self.ring = self.ring, []
        if not self.room.triggered:
            self.room.succeed()
        return taken

    def _fits(self, batch: list[Any]) -> bool:
        return self.ring_size - len(self.ring) >= len(batch)

    def _insert(self, batch: list[Any]) -> None:
        for item in batch:
            item.in_ring = self.env.now
        self.ring += batch
        if not self.filled.triggered:
            self.filled.succeed()
        self.watch()

    def _pass_on(self, batch: list[Any]) -> None:
        if not self.overflow and self._fits(batch):
            self._insert(batch)
        else:
            self.overflows += 1
            self.overflow.append(batch)

    def _timer(self, flush: Time, random: Random) -> Steps:
        """A constant timer begins at a random phase and runs on while a flush lingers.

        Flushes that would find nothing are left out; an exponential timer has no memory of them.
        """
        due = random.random() * flush.mean
        while True:
            if not self.batch and not self.overflow:
                self.stirred = self.env.event()
                yield self.stirred
                if flush.exponential:
                    due = self.env.now + flush.draw(random)
                elif due < self.env.now:
                    due += math.ceil((self.env.now - due) / flush.mean) * flush.mean
            yield self.env.timeout(max(0.0, due - self.env.now))
            if not self.lingering:
                self._flush()
            due += flush.draw(random)

    def _flush(self) -> None:
        if self.batch:
            batch, self.batch = self.batch, []
            self._pass_on(batch)
        if self.overflow:
            self.lingering = True
            self.env.process(self._linger())

    def _linger(self) -> Steps:
        while self.overflow:
            if self._fits(self.overflow[0]):
                self._insert(self.overflow.popleft())
            else:
                self.room = self.env.event()
                yield self.room
        self.lingering = False


@dataclass
class List:
    """An object in the queue: a list of tuples."""

    came: float
    size: int
    in_ring: float = math.nan


@dataclass
class DisruptorResult:
    """What happened after the warm-up, tuple by tuple."""

    sojourns: list[float] = field(default_factory=list)  # arrival -> end of service
    batch_waits: list[float] = field(default_factory=list)  # arrival -> ring
    utilisation: float = math.nan
    population: float = math.nan  # tuples in the queue and in service, over time
    overflows: int = 0


def simulate_disruptor(
    *,
    lists: float,
    size: float = 1.0,
    service: Time,
    flush: Time,
    batch: int = 100,
    ring: int = 1024,
    seconds: float,
    warmup: float = 0.0,
    seed: object = 0,
) -> DisruptorResult:
    """Poisson `lists` per second with `size` tuples on the mean, into one executor.

    `flush` is the interval of the timer. `seconds` are measured after the warm-up.
    """
    env = simpy.Environment()
    queue = Disruptor(env, batch=batch, ring=ring, flush=flush, random=Random(f"{seed}/flush"))
    result = DisruptorResult()
    population, busy = Meter(env), Meter(env)

    def source() -> Steps:
        due, sizes = Random(f"{seed}/due"), Random(f"{seed}/sizes")
        while True:
            yield env.timeout(due.expovariate(lists))
            item = List(env.now, rounded(size, sizes))
            population.change(item.size)
            queue.put(item)

    def consumer() -> Steps:
        random = Random(f"{seed}/service")
        while True:
            taken = yield from queue.take()
            for item in taken:
                for _ in range(item.size):
                    busy.change(+1)
                    yield env.timeout(service.draw(random))
                    busy.change(-1)
                    population.change(-1)
                    if env.now >= warmup:
                        result.sojourns.append(env.now - item.came)
                        result.batch_waits.append(item.in_ring - item.came)

    env.process(source())
    env.process(consumer())
    if warmup > 0:
        env.run(until=warmup)
        population.restart()
        busy.restart()
        queue.overflows = 0
    env.run(until=warmup + seconds)
    result.utilisation, result.population = busy.mean(), population.mean()
    result.overflows = queue.overflows
    return result
