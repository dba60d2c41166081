"""Executors of the network oracle: what all have in common, and ackers; see sources.py, bolts.py.

`net` is the network they belong to (storm2_network.py). A message is a tuple of the number of the
task it is for, its kind and what it says.
"""

import math
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.simulation.oracles.job import ACKER, Executor, Router
from tests.simulation.oracles.load_aware import LoadAware, smallest_scope
from tests.simulation.oracles.parts import Steps
from tests.simulation.oracles.senders import Sender

Births = tuple[tuple[float, float], ...]  # of every root of a tuple: when emitted, when due


@dataclass
class Tuple:
    """A tuple on its way to one task."""

    births: Births
    ids: dict[int, int] = field(default_factory=dict)  # root: the XOR of its edge ids
    children: int = 0  # the XOR of the edge ids of what was anchored to it


class Running(Sender):
    """An executor of any kind. With batches, flush tuples keep bolts from ever sleeping."""

    def __init__(self, net: Any, executor: Executor, tasks: range) -> None:
        job, operator = net.job, net.job.operators[executor.operator]
        bolt_spin = math.inf if job.batch > 1 else job.bolt_spin
        spin = bolt_spin if operator.rate is None else job.spout_spin
        super().__init__(net, executor.worker, spin=spin, sleep=job.sleep)
        self.operator, self.tasks, self.name = operator, tasks, executor.operator
        where = f"{net.seed}/{self.name}/{tasks.start}"
        self.service = Random(f"{where}/service")
        self.counts = Random(f"{where}/outputs")
        self.edges = Random(f"{where}/edges")
        self.routing = Random(f"{where}/routing")
        self.failing = Random(f"{where}/failing")
        self.routers: dict[str, list[Router | LoadAware]] = {}

    def subscribe(self) -> None:
        """To be called when all executors are known."""
        for to in self.net.job.subscriptions:
            if to.source == self.name:
                self.routers.setdefault(to.stream, []).append(self.router(to))

    def router(self, to: Any) -> Router | LoadAware:
        homes = [target.worker for target in self.net.tasks[to.target]]
        if to.grouping == "load-aware":
            scopes = [smallest_scope(self.net.job, self.worker, home) for home in homes]
            return LoadAware(to, scopes, self.routing)
        return Router(to, homes, self.worker, self.routing)

    def all_routers(self) -> list[Router | LoadAware]:
        return [router for routers in self.routers.values() for router in routers]

    def serve(self) -> Steps:
        """What one call of the operator takes."""
        cpu = self.operator.cpu.draw(self.service)
        if cpu > 0:
            yield from self.cores.run(cpu)
        waiting = self.operator.waiting.draw(self.service)
        if waiting > 0:
            yield self.env.timeout(waiting)

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
            "queue": self.waiting.mean(),  # without the one in service, with the overflow
            "sojourn": self.sojourns / self.handled if self.handled else math.nan,
            "blocked": self.blocked.mean(),  # share of the time; not part of the utilisation
            "dropped": self.dropped,
            "longest": self.longest,  # receive queue
            "longest_overflow": self.longest_overflow,
        }


class Acker(Running):
    """An executor of the acker: for every root the XOR of all it was told.

    It answers "done" when that is zero, and "failed" as soon as it was told so, but not before the
    root was announced: only then does it know whom to answer. Then it forgets the root.
    """

    def __init__(self, net: Any, executor: Executor, tasks: range) -> None:
        super().__init__(net, executor, tasks)
        self.roots: dict[int, dict[str, Any]] = {}

    def handle(self, item: Any) -> Steps:
        _, kind, root, value, spout = item
        yield from self.serve()
        new = {"value": 0, "failed": False, "spout": None, "first": self.env.now}
        known = self.roots.setdefault(root, new)
        if kind == "fail":
            known["failed"] = True
        else:
            known["value"] ^= value
        known["spout"] = known["spout"] or spout
        if known["spout"] is not None and (known["failed"] or known["value"] == 0):
            del self.roots[root]
            answer = "failed" if known["failed"] else "done"
            yield from self.send(*known["spout"], (answer, root, self.env.now - known["first"]))
