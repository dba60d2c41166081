"""Executors of the network oracle that are neither sources nor ackers."""

from typing import Any

from tests.simulation.oracles.executors import Running, Tuple
from tests.simulation.oracles.job import Executor
from tests.simulation.oracles.parts import Meter, Steps, rounded
from tests.simulation.oracles.windows import Buffer, at_fixed_rate


class Bolt(Running):
    """An executor of an operator that is neither a source nor the acker."""

    def __init__(self, net: Any, executor: Executor, tasks: range) -> None:
        super().__init__(net, executor, tasks)
        self.by_task = dict.fromkeys(tasks, 0)
        self.buffers: dict[int, Buffer] = {}
        self.triggering = Meter(net.env)
        window = self.operator.window
        if window is not None:
            self.buffers = {task: Buffer(window) for task in tasks}
            if window.by == "time":
                for task in tasks:
                    self.env.process(
                        at_fixed_rate(self.env, window, lambda task=task: self.fire_apart(task))
                    )

    def handle(self, item: Any) -> Steps:
        task, _, came = item
        yield from self.serve()
        self.by_task[task] += 1
        if self.operator.window is None:
            yield from self.emit([came])
            yield from self.ack(came)
            return
        if self.buffers[task].add(came, self.env.now):
            yield from self.fire(task)
        for old in self.buffers[task].compact():
            yield from self.ack(old)

    def fire_apart(self, task: int) -> Steps:
        self.triggering.change(+1)
        yield from self.fire(task)
        self.triggering.change(-1)

    def fire(self, task: int) -> Steps:
        expired, window = self.buffers[task].trigger(self.env.now)
        for old in expired:
            yield from self.ack(old)
        if window:
            yield from self.cores.run(self.operator.window.cpu.draw(self.service))
            yield from self.emit(window)

    def emit(self, anchors: list[Tuple]) -> Steps:
        births = tuple(birth for anchor in anchors for birth in anchor.births)
        if not self.routers:
            self.net.arrive(self.name, births)
            return
        for stream, mean in self.operator.outputs.items():
            for _ in range(rounded(mean, self.counts)):
                for operator, target in self.targets(stream):
                    sent = Tuple(births)
                    for anchor in anchors:
                        self.anchor(sent, anchor)
                    yield from self.send(operator, target, ("tuple", sent))

    def anchor(self, sent: Tuple, anchor: Tuple) -> None:
        edge = self.edges.getrandbits(64)
        anchor.children ^= edge
        for root in anchor.ids:
            sent.ids[root] = sent.ids.get(root, 0) ^ edge

    def ack(self, old: Tuple) -> Steps:
        """Or fail it, for all its roots; what was anchored to it is on its way all the same."""
        failed = self.operator.fail > 0 and self.failing.random() < self.operator.fail
        for root, edge in old.ids.items():
            if failed:
                yield from self.send_to_acker("fail", root, 0)
            else:
                yield from self.send_to_acker("ack", root, edge ^ old.children)

    def report(self) -> dict[str, Any]:
        triggering = self.triggering.mean()
        return {**super().report(), "by_task": self.by_task, "trigger_utilisation": triggering}

    def restart(self) -> None:
        super().restart()
        self.by_task = dict.fromkeys(self.tasks, 0)
        self.triggering.restart()
