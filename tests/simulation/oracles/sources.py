"""Executors of sources in the network oracle, and the time-outs of their roots."""

import math
from collections import deque
from random import Random
from typing import Any

from tests.simulation.oracles.executors import Running, Tuple
from tests.simulation.oracles.job import ACKER, Executor
from tests.simulation.oracles.parts import Steps, rounded

Root = tuple[float, float, int, str]  # when emitted, when due, task, stream


class RotatingMap:
    """The pending roots in two buckets. What is in the older one at a rotation has died."""

    def __init__(self) -> None:
        self.younger: dict[int, Root] = {}
        self.older: dict[int, Root] = {}

    def __len__(self) -> int:
        return len(self.younger) + len(self.older)

    def put(self, number: int, root: Root) -> None:
        self.younger[number] = root

    def pop(self, number: int) -> Root | None:
        return self.younger.pop(number, None) or self.older.pop(number, None)

    def rotate(self) -> dict[int, Root]:
        died, self.older, self.younger = self.older, self.younger, {}
        return died


class Spout(Running):
    """An executor of a source. What it executes are the answers of ackers, blocked or not.

    A due tuple is emitted on all streams. One that is replayed, because a root failed, falls due
    again at once, behind all that is due, on the stream of that root and with its old due time.
    """

    def __init__(self, net: Any, executor: Executor, tasks: range) -> None:
        self.due: deque[tuple[float, int, str | None]] = deque()  # when due, task, stream or all
        self.pending = RotatingMap()
        self.dead: set[int] = set()  # roots that died of a time-out, and were not answered since
        self.limit = math.inf if net.job.max_pending is None else net.job.max_pending * len(tasks)
        super().__init__(net, executor, tasks)
        self.emitted = self.replayed = 0
        for task in tasks:
            self.env.process(self.fall_due(task))
        if net.job.timeout is not None:
            self.env.process(self.time_out(net.job.timeout))

    def fall_due(self, task: int) -> Steps:
        rate = self.operator.rate
        rate = rate if isinstance(rate, int | float) else rate[task]
        random = Random(f"{self.net.seed}/{self.name}/{task}/due")
        while rate > 0:
            yield self.env.timeout(random.expovariate(rate))
            if self.env.now > self.net.stop:
                return
            self.due.append((self.env.now, task, None))
            self.look()

    def time_out(self, seconds: float) -> Steps:
        number = 0
        while True:
            number += 1
            yield self.env.timeout(max(0.0, number * seconds - self.env.now))
            for name, root in self.pending.rotate().items():
                self.dead.add(name)
                self.fail(root, "timed_out")
            self.look()  # fewer are pending

    def ready(self) -> bool:
        if self.inbox():
            return True
        if self.unsent:
            return not self.shut
        return bool(self.due) and len(self.pending) < self.limit

    def once(self) -> Steps:
        if self.inbox():
            return self.consume()
        return self.resend() if self.unsent else self.emit_next()

    def emit_next(self) -> Steps:
        due, task, again = self.due.popleft()
        self.busy.change(+1)
        yield from self.serve()
        if again is not None:
            yield from self.emit(again, task, due)
        else:
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
            self.pending.put(root, (self.env.now, due, task, stream))
        for operator, target in targets:
            edge = self.edges.getrandbits(64)
            announced ^= edge
            ids = {root: edge} if acked else {}
            yield from self.send(operator, target, ("tuple", Tuple(births, ids)))
        if acked:
            yield from self.send_to_acker("init", root, announced, (self.name, task))

    def handle(self, item: Any) -> Steps:
        _, answer, name, by_the_acker = item
        yield from self.cores.run(self.operator.done_cpu.draw(self.service))
        root = self.pending.pop(name)
        if root is None:
            self.dead.remove(name)  # an error if a root ends twice
        elif answer == "done":
            self.net.root_acked(self.env.now - root[0], by_the_acker)
        else:
            self.fail(root, "failed")

    def fail(self, root: Root, how: str) -> None:
        emitted, due, task, stream = root
        self.net.root_failed(self.env.now - emitted, how)
        if self.operator.replay:
            self.replayed += 1
            self.due.append((due, task, stream))
