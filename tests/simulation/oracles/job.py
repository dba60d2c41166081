"""A job as the network oracle takes it, and where a tuple goes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tests.simulation.oracles.parts import NO_TIME, Time
from tests.simulation.oracles.windows import Window

ACKER = "__acker"


@dataclass(frozen=True)
class Operator:
    """What every task of an operator does. One with a rate is a source.

    For each input it takes `cpu` seconds of a core, then waits, then emits and acks. `outputs` are
    means per input and stream (per firing if it has a window). A source emits one tuple on each
    stream per due tuple, each of them a root of its own. An operator without subscribers is a sink.
    """

    cpu: Time = NO_TIME
    waiting: Time = NO_TIME
    outputs: dict[str, float] = field(default_factory=lambda: {"default": 1.0})
    rate: float | Sequence[float] | None = None  # due tuples per second and task
    window: Window | None = None
    done_cpu: Time = NO_TIME  # of a source: for the acker's answer
    replay: bool = False  # of a source: whether a root that failed falls due once more
    fail: float = 0.0  # probability that a tuple is failed where it would be acked


@dataclass(frozen=True)
class Executor:
    """A thread that runs tasks of an operator; tasks are numbered from 0 in order of executors."""

    operator: str
    worker: str = "w1"
    tasks: int = 1


@dataclass(frozen=True)
class Subscription:
    """Who gets a stream: shuffle, load-aware, local-or-shuffle, fields, all or global.

    Shuffle is that of a job with load-awareness off, load-aware the one Storm 2.x has by default
    (load_aware.py). With fields, every tuple has a key drawn by `weights`, and `table` says which
    task has it.
    """

    source: str
    target: str
    grouping: str = "shuffle"
    stream: str = "default"
    weights: Sequence[float] = (1.0,)
    table: Sequence[int] = (0,)


@dataclass(frozen=True)
class Job:
    """A placed job. Tuples are acked if there is an operator named `__acker` (see ACKER)."""

    operators: dict[str, Operator]
    executors: Sequence[Executor]
    subscriptions: Sequence[Subscription] = ()
    workers: dict[str, str] = field(default_factory=lambda: {"w1": "m1"})  # worker: machine
    cores: dict[str, float] = field(default_factory=dict)  # of a machine; without limit if absent
    latency: dict[tuple[str, str], float] = field(default_factory=dict)  # between workers
    serialise: Time = NO_TIME  # CPU of the emitter, per tuple or message to another worker
    transfer: Time = NO_TIME  # CPU of the transfer thread, likewise
    transfer_sleep: float = 0.0  # of an idle transfer thread; 0: it sees tuples at once
    bolt_spin: float = math.inf  # idle time until a bolt or acker sleeps
    spout_spin: float = math.inf
    sleep: float = 0.001
    max_pending: int | None = None  # per task of a source
    timeout: float | None = None  # of a root; it fails between this and twice this time
    hosts: dict[str, str] = field(default_factory=dict)  # worker: host; its machine if absent
    racks: dict[str, str] = field(default_factory=dict)  # host: rack; all in one if absent
    receive_queue: int = 32_768  # places; what loads are measured by
    transfer_queue: int = 1_024
    limited: bool = False  # whether the queues end there, and there is back-pressure
    overflow: int | None = None  # places; without limit if absent
    batch: int = 1  # tuples per producer and target queue; 1: no batching
    flush: float = 0.001  # interval of flush tuples

    def host(self, worker: str) -> str:
        return self.hosts.get(worker, self.workers[worker])

    def between(self, worker: str, other: str) -> float:
        return self.latency.get((worker, other), 0.0)


class Router:
    """Where an executor sends the tuples of one subscription: numbers of tasks.

    `homes` are the workers of the target's tasks. Shuffle rotates over a shuffled list.
    """

    def __init__(
        self, subscription: Subscription, homes: Sequence[str], own: str, random: Random
    ) -> None:
        self.subscription = subscription
        self.random = random
        self.tasks = list(range(len(homes)))
        near = [task for task in self.tasks if homes[task] == own]
        self.rotation = list(self.tasks)
        if subscription.grouping == "local-or-shuffle" and near:
            self.rotation = near
        random.shuffle(self.rotation)
        self.turn = 0

    def targets(self) -> list[int]:
        match self.subscription.grouping:
            case "shuffle" | "local-or-shuffle":
                task = self.rotation[self.turn]
                self.turn = (self.turn + 1) % len(self.rotation)
                return [task]
            case "fields":
                keys = range(len(self.subscription.weights))
                (key,) = self.random.choices(keys, self.subscription.weights)
                return [self.subscription.table[key]]
            case "all":
                return self.tasks
            case "global":
                return [0]
            case other:
                raise ValueError(other)
