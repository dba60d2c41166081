"""A whole Storm 2.x job, event by event and tuple by tuple, with or without acks.

Written from the specification alone, to be compared with the simulator. Left out: the CPU of idle
threads, messages that wait for a connection to another worker. What is off unless a job asks for
it stands in other files: limits of queues and batches (senders.py), back-pressure
(back_pressure.py), load-aware shuffle (load_aware.py), time-outs and replay (sources.py).

- To an executor of the same worker a tuple goes straight into its receive queue; to another worker
  by the own worker's transfer thread, one by one, and then over the network.
- A source's tuples are due by a Poisson process. Its thread handles all answers of ackers first,
  then emits the oldest due tuple unless too many roots are pending. Emission is the end of its CPU
  time.
- An acked tuple has an edge id for every root. Acking it sends, for each of its roots, the XOR of
  that id and of those of its children to the acker. The acker answers the source when its value is
  zero and the root was announced. The output of a window is anchored to all tuples in it.
"""

import math
from dataclasses import dataclass
from typing import Any

import simpy

from tests.simulation.oracles.back_pressure import BackPressure
from tests.simulation.oracles.bolts import Bolt
from tests.simulation.oracles.executors import Acker, Births, Running
from tests.simulation.oracles.flushes import Flushes
from tests.simulation.oracles.job import ACKER, Executor, Job
from tests.simulation.oracles.load_aware import LoadAware, Loads
from tests.simulation.oracles.parts import Cores
from tests.simulation.oracles.senders import Transfer
from tests.simulation.oracles.sources import Spout


@dataclass
class Result:
    """What happened after the warm-up; roots are counted from time 0."""

    executors: list[dict[str, Any]]
    transfers: dict[str, dict[str, float]]  # of every worker's transfer thread
    threads_at_work: dict[str, float]  # of every machine: on the mean, on cores or waiting for one
    end_to_end: dict[
        str, list[float]
    ]  # sink: emission -> end of service, for every root of a tuple
    from_due: dict[str, list[float]]  # likewise, but from when the root was due
    complete: list[float]  # by the acker's clock: its first message about a root -> its last
    spout: list[float]  # emission -> answer handled
    failures: list[float]  # emission -> failed, by a tuple or by the time-out
    roots: dict[str, int]  # emitted = acked + failed + timed_out + pending; replayed; still due


class Network:
    """All threads of a job, and what they report."""

    kinds: tuple[type, type, type] = (Spout, Bolt, Acker)
    transfer_thread: type = Transfer

    def __init__(self, job: Job, *, seed: object, stop: float) -> None:
        self.job, self.seed, self.stop = job, seed, stop
        self.env = simpy.Environment()
        machines = set(job.workers.values())
        self.cores = {name: Cores(self.env, job.cores.get(name, math.inf)) for name in machines}
        self.flushes = Flushes(self)
        self.pressures = {worker: BackPressure(self, worker) for worker in job.workers}
        self.transfers = {worker: self.transfer_thread(self, worker) for worker in job.workers}
        self.tasks: dict[str, list[Running]] = {name: [] for name in job.operators}
        self.executors = [self.start(executor) for executor in job.executors]
        for executor in self.executors:
            executor.subscribe()
        routers = [router for executor in self.executors for router in executor.all_routers()]
        aware = any(isinstance(router, LoadAware) for router in routers)
        self.loads = {worker: Loads(self, worker) for worker in job.workers if aware}
        self.ended = {"acked": 0, "failed": 0, "timed_out": 0}
        self.forget()

    def start(self, executor: Executor) -> Running:
        source, bolt, acker = self.kinds
        kind = bolt if self.job.operators[executor.operator].rate is None else source
        kind = acker if executor.operator == ACKER else kind
        known = self.tasks[executor.operator]
        running = kind(self, executor, range(len(known), len(known) + executor.tasks))
        known += [running] * executor.tasks
        return running

    def cores_of(self, worker: str) -> Cores:
        return self.cores[self.job.workers[worker]]

    def forget(self) -> None:
        """Begins to measure."""
        self.end_to_end: dict[str, list[float]] = {}
        self.from_due: dict[str, list[float]] = {}
        self.complete: list[float] = []
        self.spout: list[float] = []
        self.failures: list[float] = []
        for thread in [*self.executors, *self.transfers.values()]:
            thread.restart()
        for cores in self.cores.values():
            cores.population.restart()

    def arrive(self, sink: str, births: Births) -> None:
        now = self.env.now
        self.end_to_end.setdefault(sink, []).extend(now - emitted for emitted, _ in births)
        self.from_due.setdefault(sink, []).extend(now - due for _, due in births)

    def root_acked(self, latency: float, by_the_acker: float) -> None:
        self.spout.append(latency)
        self.complete.append(by_the_acker)
        self.ended["acked"] += 1

    def root_failed(self, latency: float, how: str) -> None:
        self.failures.append(latency)
        self.ended[how] += 1

    def measure(self, *, seconds: float, warmup: float) -> Result:
        if warmup > 0:
            self.env.run(until=warmup)
            self.forget()
        self.env.run(until=warmup + seconds)
        return self.result()

    def result(self) -> Result:
        spouts = [executor for executor in self.executors if isinstance(executor, Spout)]
        return Result(
            executors=[executor.report() for executor in self.executors],
            transfers={worker: thread.report() for worker, thread in self.transfers.items()},
            threads_at_work={name: cores.population.mean() for name, cores in self.cores.items()},
            end_to_end=self.end_to_end,
            from_due=self.from_due,
            complete=self.complete,
            spout=self.spout,
            failures=self.failures,
            roots={
                "emitted": sum(spout.emitted for spout in spouts),
                **self.ended,
                "replayed": sum(spout.replayed for spout in spouts),
                "pending": sum(len(spout.pending) for spout in spouts),
                "due": sum(len(spout.due) for spout in spouts),
            },
        )


def simulate_network(
    job: Job,
    *,
    seconds: float,
    warmup: float = 0.0,
    seed: object = 0,
    stop: float = math.inf,
) -> Result:
    """Runs a job; measures `seconds` after the warm-up. After `stop` no tuple falls due."""
    return Network(job, seed=seed, stop=stop).measure(seconds=seconds, warmup=warmup)
