"""Executors of the network oracle: what all have in common, sources and ackers; see bolts.py.

`net` is the network they belong to (storm2_network.py). A message is a tuple of the number of the
task it is for, its kind and what it says.
"""

import math
from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.simulation.oracles.job import ACKER, Executor, Router
from tests.simulation.oracles.parts import Steps, Thread, rounded

Births = tuple[tuple[float, float], ...]  # of every root of a tuple: when emitted, when due


@dataclass
class Tuple:
    """A tuple on its way to one task."""

    births: Births
    ids: dict[int, int] = field(default_factory=dict)  # root: the XOR of its edge ids
    children: int = 0  # the XOR of the edge ids of what was anchored to it


class Transfer(Thread):
    """The transfer thread of a worker."""

    def __init__(self, net: Any, worker: str) -> None:
        job = net.job
        sleepy = job.transfer_sleep > 0
        spin = 0.0 if sleepy else math.inf
        super().__init__(net.env, net.cores_of(worker), spin=spin, sleep=job.transfer_sleep)
        self.net, self.worker = net, worker
        self.random = Random(f"{net.seed}/transfer/{worker}")

    def handle(self, item: Any) -> Steps:
        target, message = item
        yield from self.cores.run(self.net.job.transfer.draw(self.random))
        arrival = self.env.timeout(self.net.job.latency.get((self.worker, target.worker), 0.0))
        arrival.callbacks.append(lambda _: target.put(message))


class Running(Thread):
    """An executor of any kind."""

    def __init__(self, net: Any, executor: Executor, tasks: range) -> None:
        operator = net.job.operators[executor.operator]
        spin = net.job.bolt_spin if operator.rate is None else net.job.spout_spin
        super().__init__(net.env, net.cores_of(executor.worker), spin=spin, sleep=net.job.sleep)
        self.net, self.operator, self.tasks = net, operator, tasks
        self.name, self.worker = executor.operator, executor.worker
        where = f"{net.seed}/{self.name}/{tasks.start}"
        self.service = Random(f"{where}/service")
        self.counts = Random(f"{where}/outputs")
        self.edges = Random(f"{where}/edges")
        self.routing = Random(f"{where}/routing")
        self.routers: dict[str, list[Router]] = {}

    def subscribe(self) -> None:
        """To be called when all executors are known."""
        for to in self.net.job.subscriptions:
            if to.source == self.name:
                homes = [target.worker for target in self.net.tasks[to.target]]
                router = Router(to, homes, self.worker, self.routing)
                self.routers.setdefault(to.stream, []).append(router)

    def serve(self) -> Steps:
        """What one call of the operator takes."""
        yield from self.cores.run(self.operator.cpu.draw(self.service))
        waiting = self.operator.waiting.draw(self.service)
        if waiting > 0:
            yield self.env.timeout(waiting)

    def send(self, operator: str, task: int, message: tuple[Any, ...]) -> Steps:
        target = self.net.tasks[operator][task]
        if target.worker == self.worker:
            target.put((task, *message))
        else:
            yield from self.cores.run(self.net.job.serialise.draw(self.service))
            self.net.transfers[self.worker].put((target, (task, *message)))

    def send_to_acker(self, kind: str, root: int, value: int, spout: Any = None) -> Steps:
        task = root % len(self.net.tasks[ACKER])
        yield from self.send(ACKER, task, (kind, root, value, spout))

    def targets(self, stream: str) -> list[tuple[str, int]]:
        routers = self.routers.get(stream, [])
        return [(to.subscription.target, task) for to in routers for task in to.targets()]

    def report(self) -> dict[str, Any]:
        return {
            "operator": self.name,
            "worker": self.worker,
            "tasks": self.tasks,
            "executed": self.handled,
            "utilisation": self.busy.mean(),
            "queue": self.waiting.mean(),  # without the one in service
            "sojourn": self.sojourns / self.handled if self.handled else math.nan,
        }


class Spout(Running):
    """An executor of a source. What it executes are the answers of ackers."""

    def __init__(self, net: Any, executor: Executor, tasks: range) -> None:
        self.due: deque[tuple[float, int]] = deque()
        self.pending: dict[int, tuple[float, int]] = {}  # root: emitted, task
        self.limit = math.inf if net.job.max_pending is None else net.job.max_pending * len(tasks)
        super().__init__(net, executor, tasks)
        self.emitted = 0
        for task in tasks:
            self.env.process(self.fall_due(task))

    def fall_due(self, task: int) -> Steps:
        rate = self.operator.rate
        rate = rate if isinstance(rate, int | float) else rate[task]
        random = Random(f"{self.net.seed}/{self.name}/{task}/due")
        while rate > 0:
            yield self.env.timeout(random.expovariate(rate))
            if self.env.now > self.net.stop:
                return
            self.due.append((self.env.now, task))
            self.look()

    def ready(self) -> bool:
        return bool(self.queue) or (bool(self.due) and len(self.pending) < self.limit)

    def once(self) -> Steps:
        if self.queue:
            yield from super().once()
            return
        due, task = self.due.popleft()
        self.busy.change(+1)
        yield from self.serve()
        for stream, mean in self.operator.outputs.items():
            for _ in range(rounded(mean, self.counts)):
                yield from self.emit(stream, task, due)
        self.busy.change(-1)

    def emit(self, stream: str, task: int, due: float) -> Steps:
        births = ((self.env.now, due),)
        self.emitted += 1
        targets = self.targets(stream)
        root, announced = self.edges.getrandbits(64), 0
        acked = ACKER in self.net.job.operators and bool(targets)
        if acked:
            self.pending[root] = (self.env.now, task)
        for operator, target in targets:
            edge = self.edges.getrandbits(64)
            announced ^= edge
            ids = {root: edge} if acked else {}
            yield from self.send(operator, target, ("tuple", Tuple(births, ids)))
        if acked:
            yield from self.send_to_acker("init", root, announced, (self.name, task))

    def handle(self, item: Any) -> Steps:
        _, _, root = item
        yield from self.cores.run(self.operator.done_cpu.draw(self.service))
        emitted, _ = self.pending.pop(root)  # fails if a root ends twice
        self.net.end_of_root(self.env.now - emitted)


class Acker(Running):
    """An executor of the acker: for every root the XOR of all it was told."""

    def __init__(self, net: Any, executor: Executor, tasks: range) -> None:
        super().__init__(net, executor, tasks)
        self.roots: dict[int, dict[str, Any]] = {}

    def handle(self, item: Any) -> Steps:
        _, _, root, value, spout = item
        yield from self.serve()
        known = self.roots.setdefault(root, {"value": 0, "spout": None, "first": self.env.now})
        known["value"] ^= value
        known["spout"] = known["spout"] or spout
        if known["value"] == 0 and known["spout"] is not None:
            del self.roots[root]
            self.net.complete_root(self.env.now - known["first"])
            yield from self.send(*known["spout"], ("done", root))
