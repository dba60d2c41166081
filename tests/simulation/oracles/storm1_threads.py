"""Threads of the Storm 1.x oracle (storm1_network.py), which says how they work together."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.simulation.oracles.bolts import Bolt
from tests.simulation.oracles.executors import Acker
from tests.simulation.oracles.job import Executor
from tests.simulation.oracles.parts import Meter, Steps
from tests.simulation.oracles.sources import Spout

Addressed = tuple[Any, tuple[Any, ...]]  # an executor and a message for one of its tasks


@dataclass(eq=False)
class Bundle:
    """An object in a queue: a tuple, a list of tuples or a map."""

    items: list[Any]
    came: float
    in_ring: float = math.nan


class Sizes:
    """How many tuples there are in something, on the mean."""

    def __init__(self) -> None:
        self.count = self.tuples = 0

    def add(self, tuples: int) -> None:
        self.count += 1
        self.tuples += tuples

    def mean(self) -> float:
        return self.tuples / self.count if self.count else math.nan


def deliver(messages: Iterable[Addressed]) -> None:
    """Puts one list for each executor into its receive queue."""
    lists: dict[Any, list[Any]] = {}
    for target, message in messages:
        lists.setdefault(target, []).append(message)
    for target, items in lists.items():
        target.accept(items)


class WithDisruptors:
    """What makes an executor one of Storm 1.x: its queues, and its send thread."""

    def __init__(self, net: Any, executor: Executor, tasks: range) -> None:
        super().__init__(net, executor, tasks)
        if self.operator.rate is None:
            self.spin = math.inf
        where = f"{self.name}/{tasks.start}"
        self.receive_queue = net.disruptor(f"{where}/receive")
        self.receive_queue.watch = self.look
        self.send_queue = net.disruptor(f"{where}/send")
        self.serialising = Random(f"{net.seed}/{where}/serialise")
        net.env.process(self.send_thread())

    def accept(self, messages: list[Any]) -> None:
        self.waiting.change(+len(messages))
        self.lists.add(len(messages))
        self.receive_queue.put(Bundle(messages, self.env.now))

    def ready(self) -> bool:
        return bool(self.receive_queue.ring) or super().ready()

    def once(self) -> Steps:
        if not self.queue:
            for bundle in self.receive_queue.take_now():
                self.queue += [(bundle.came, message) for message in bundle.items]
        return super().once()

    def send(self, operator: str, task: int, message: tuple[Any, ...]) -> Steps:
        addressed = (self.net.tasks[operator][task], (task, *message))
        self.send_queue.put(Bundle([addressed], self.env.now))
        yield from ()

    def send_thread(self) -> Steps:
        while True:
            taken = yield from self.send_queue.take()
            self.sendings.add(len(taken))
            near, far = [], []
            for bundle in taken:
                (addressed,) = bundle.items
                if addressed[0].worker == self.worker:
                    near.append(addressed)
                else:
                    serialise = self.net.job.serialise.draw(self.serialising)
                    yield from self.cores.run(serialise)
                    far.append(addressed)
            deliver(near)
            if far:
                self.net.transfers[self.worker].put(far)

    def report(self) -> dict[str, Any]:
        return {
            **super().report(),
            "list_size": self.lists.mean(),  # of what came to the receive queue
            "send_batch": self.sendings.mean(),  # tuples that the send thread took at once
        }

    def restart(self) -> None:
        super().restart()
        self.lists, self.sendings = Sizes(), Sizes()


class Spout1(WithDisruptors, Spout):
    """A source."""


class Bolt1(WithDisruptors, Bolt):
    """An executor that is neither a source nor an acker."""


class Acker1(WithDisruptors, Acker):
    """An acker."""


class Transfer1:
    """The transfer thread of a worker and its queue."""

    def __init__(self, net: Any, worker: str) -> None:
        self.net, self.worker = net, worker
        self.queue = net.disruptor(f"transfer/{worker}")
        self.random = Random(f"{net.seed}/transfer/{worker}")
        self.busy, self.waiting = Meter(net.env), Meter(net.env)
        net.env.process(self.live())

    def put(self, messages: list[Addressed]) -> None:
        self.waiting.change(+len(messages))
        self.maps.add(len(messages))
        self.queue.put(Bundle(messages, self.net.env.now))

    def live(self) -> Steps:
        while True:
            taken = yield from self.queue.take()
            messages = [message for bundle in taken for message in bundle.items]
            self.waiting.change(-len(messages))
            self.busy.change(+1)
            for _ in messages:
                transfer = self.net.job.transfer.draw(self.random)
                yield from self.net.cores_of(self.worker).run(transfer)
            self.busy.change(-1)
            self.sent.add(len(messages))
            for worker in {target.worker: None for target, _ in messages}:
                part = [message for message in messages if message[0].worker == worker]
                arrival = self.net.env.timeout(self.net.job.between(self.worker, worker))
                arrival.callbacks.append(lambda _, part=part: deliver(part))

    def report(self) -> dict[str, float]:
        return {
            "sent": self.sent.tuples,
            "utilisation": self.busy.mean(),
            "queue": self.waiting.mean(),
            "map_size": self.maps.mean(),
            "send_batch": self.sent.mean(),  # tuples that the thread took at once
        }

    def restart(self) -> None:
        self.busy.restart()
        self.waiting.restart()
        self.maps, self.sent = Sizes(), Sizes()
