"""Back-pressure of Storm 2.x between workers, and receive queues that overflow.

- A tuple from another worker that finds the receive queue full, or others in the overflow, goes to
  the overflow, or is dropped if that is full too. The task it was for is then under back-pressure.
- The worker tells all others, which takes the latency of the network. Whoever emits to that task
  there holds the tuple, and all that he emits after it.
- At every multiple of 50 ms the worker looks which of these tasks have an empty overflow, and tells
  the others again if there are some.
- An executor empties its receive queue, then handles as many tuples of the overflow as are there,
  then looks at the receive queue again. If it is blocked, it begins anew at the receive queue.
"""

import math
from collections import deque
from collections.abc import Callable
from typing import Any

from tests.simulation.oracles.parts import Steps
from tests.simulation.oracles.threads import Thread

CHECK = 0.05
Task = tuple[str, int]  # an operator and the number of its task


class BackPressure:
    """What a worker tells of its tasks, and what it was told of those of others."""

    def __init__(self, net: Any, worker: str) -> None:
        self.net, self.worker = net, worker
        self.own: dict[Task, Receiver] = {}  # tasks under back-pressure and their executors
        self.told: dict[str, set[Task]] = {}  # the same of other workers, as far as known
        self.line: list[tuple[Task, Callable[[], None]]] = []

    def begin(self, task: Task, executor: "Receiver") -> None:
        if task in self.own:
            return
        if not self.own:
            self.net.env.process(self.check())
        self.own[task] = executor
        self.tell()

    def check(self) -> Steps:
        env = self.net.env
        number = math.floor(env.now / CHECK)
        while self.own:
            number += 1
            yield env.timeout(max(0.0, number * CHECK - env.now))
            left = {task: executor for task, executor in self.own.items() if executor.overflow}
            changed, self.own = left != self.own, left
            if changed:
                self.tell()

    def tell(self) -> None:
        tasks = set(self.own)
        for other in self.net.pressures.values():
            if other is not self:
                news = self.net.env.timeout(self.net.job.between(self.worker, other.worker))
                news.callbacks.append(lambda _, other=other: other.hear(self.worker, tasks))

    def hear(self, worker: str, tasks: set[Task]) -> None:
        self.told[worker] = tasks
        waiting, self.line = self.line, []
        for task, go_on in waiting:
            if self.holds(task):
                self.line.append((task, go_on))
            else:
                go_on()

    def holds(self, task: Task) -> bool:
        return bool(self.told) and any(task in tasks for tasks in self.told.values())

    def wait(self, task: Task, go_on: Callable[[], None]) -> None:
        """Calls it when the task is no longer under back-pressure; the first first."""
        self.line.append((task, go_on))


class Receiver(Thread):
    """A thread with a receive queue and its overflow, which is behind the queue."""

    name: str

    def __init__(self, net: Any, worker: str, **idling: float) -> None:
        capacity = net.job.receive_queue if net.job.limited else math.inf
        super().__init__(net.env, net.cores_of(worker), capacity=capacity, **idling)
        self.net, self.worker = net, worker
        self.overflow: deque[tuple[float, Any]] = deque()
        self.limit_of_overflow = math.inf if net.job.overflow is None else net.job.overflow
        self.turn = 0  # tuples of the overflow to be handled before the queue is looked at again
        self.dropped = 0
        self.longest_overflow = 0

    def load(self) -> float:
        return min(1.0, len(self.queue) / self.net.job.receive_queue)

    def inbox(self) -> bool:
        return bool(self.queue) or bool(self.overflow)

    def deliver(self, message: tuple[Any, ...]) -> None:
        """From another worker: the number of the task and the rest."""
        if not self.overflow and self.offer(message):
            return
        self.net.pressures[self.worker].begin((self.name, message[0]), self)
        if len(self.overflow) >= self.limit_of_overflow:
            self.dropped += 1
            return
        self.waiting.change(+1)
        self.overflow.append((self.env.now, message))
        self.longest_overflow = max(self.longest_overflow, len(self.overflow))
        self.look()

    def take(self) -> tuple[float, Any]:
        if not self.queue and self.turn == 0:
            self.turn = len(self.overflow)
        if self.turn == 0:
            return super().take()
        self.turn -= 1
        self.waiting.change(-1)
        return self.overflow.popleft()

    def restart(self) -> None:
        super().restart()
        self.dropped = 0
        self.longest_overflow = len(self.overflow)
