"""The load-aware and locality-aware shuffle of Storm 2.x, and what a worker knows of loads.

- The scope of an emitter's targets starts at its own worker and widens by a step (worker, host,
  rack, all) if the mean load in it exceeds 0.8; else it narrows by a step if the mean load of the
  next smaller scope, which must not be empty, is below 0.2. An empty scope is widened at once.
- Every target has a weight, at first and after every change of the scope 100. A refresh adds 1 if
  the target's load is within 0.05 of the least in scope, and takes 10 off if not; 0 to 100.
- An array of choices is filled by weight, shuffled, and used from its beginning in rotation.
- Every worker refreshes at time 0 and then every 1 s plus up to 0.5 s. It knows its own loads as
  they are, and those of other workers as they last sent them: at the first refresh, and at the
  first one 5 s or more after the last sending. What is sent takes the latency of the network.
- A load is known for the lowest task of an executor only. A task nobody reported counts 1.
"""

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tests.simulation.oracles.job import Job, Subscription
from tests.simulation.oracles.parts import Steps

WORKER, HOST, RACK, ALL = range(4)
HIGHER, LOWER = 0.8, 0.2
NEAR_THE_LEAST = 0.05
REFRESH, JITTER, SENDING = 1.0, 0.5, 5.0
UNKNOWN = 1.0


def smallest_scope(job: Job, own: str, other: str) -> int:
    """The smallest scope of one worker that the other is in."""
    if own == other:
        return WORKER
    here, there = job.host(own), job.host(other)
    if here == there:
        return HOST
    return RACK if job.racks.get(here) == job.racks.get(there) else ALL


class LoadAware:
    """Where an executor sends the tuples of one subscription; like Router.

    `scopes` are the smallest scopes that the target's tasks are in.
    """

    def __init__(self, subscription: Subscription, scopes: Sequence[int], random: Random) -> None:
        self.subscription, self.scopes, self.random = subscription, scopes, random
        self.weights = [100] * len(scopes)
        self.size = max(1000, 5 * len(scopes))
        self.scope = WORKER
        self.widen_if_empty()
        self.fill()

    def targets(self) -> list[int]:
        task = self.choices[self.turn]
        self.turn = (self.turn + 1) % self.size
        return [task]

    def within(self, scope: int) -> list[int]:
        return [task for task, smallest in enumerate(self.scopes) if smallest <= scope]

    def widen_if_empty(self) -> None:
        while not self.within(self.scope):
            self.scope += 1

    def refresh(self, load: Callable[[int], float]) -> None:
        """`load` of a task of the target."""

        def mean(tasks: list[int]) -> float:
            return sum(map(load, tasks)) / len(tasks)

        before = self.scope
        self.widen_if_empty()
        smaller = self.within(self.scope - 1)
        if mean(self.within(self.scope)) > HIGHER:
            self.scope = min(self.scope + 1, ALL)
        elif smaller and mean(smaller) < LOWER:
            self.scope -= 1
        if self.scope != before:
            self.weights = [100] * len(self.scopes)
        self.weigh(load)
        self.fill()

    def weigh(self, load: Callable[[int], float]) -> None:
        near = self.within(self.scope)
        least = min(map(load, near))
        for task in near:
            change = 1 if load(task) <= least + NEAR_THE_LEAST else -10
            self.weights[task] = min(100, max(0, self.weights[task] + change))

    def fill(self) -> None:
        near = self.within(self.scope)
        total = sum(self.weights[task] for task in near)  # never 0: somebody has the least load
        self.choices: list[int] = []
        for task in near:
            self.choices += [task] * int(self.weights[task] / total * self.size)
        while len(self.choices) < self.size:
            self.choices.append(self.random.choice(self.choices))
        self.random.shuffle(self.choices)
        self.turn = 0


class Loads:
    """What a worker knows of the loads of all tasks."""

    def __init__(self, net: Any, worker: str) -> None:
        self.net, self.worker = net, worker
        self.known: dict[tuple[str, int], float] = {}  # of tasks
        self.random = Random(f"{net.seed}/loads/{worker}")
        net.env.process(self.live())

    def live(self) -> Steps:
        executors = [running for running in self.net.executors if running.worker == self.worker]
        routers = [router for running in executors for router in running.all_routers()]
        env, sent = self.net.env, -math.inf
        while True:
            own = {(running.name, running.tasks.start): running.load() for running in executors}
            self.known.update(own)
            if env.now - sent >= SENDING:
                self.send(own)
                sent = env.now
            for router in routers:
                if isinstance(router, LoadAware):
                    target = router.subscription.target
                    router.refresh(lambda task, of=target: self.known.get((of, task), UNKNOWN))
            yield env.timeout(REFRESH + JITTER * self.random.random())

    def send(self, own: dict[tuple[str, int], float]) -> None:
        for other in self.net.loads.values():
            if other is not self:
                news = self.net.env.timeout(self.net.job.between(self.worker, other.worker))
                news.callbacks.append(lambda _, other=other: other.known.update(own))
