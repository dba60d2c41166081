"""A whole Storm 1.x job, event by event and tuple by tuple, with or without acks.

Written from the specification alone, to be compared with the simulator. Sources, bolts, ackers,
time-outs and results are those of storm2_network.py; how tuples move is not. All queues are
disruptors (disruptor.py), each with a flush timer of its own random phase.

- An executor takes all lists that are in the ring of its receive queue, handles their tuples one
  by one, and comes back. It never sleeps, but for a source that finds nothing due, which may.
- What it emits goes, tuple by tuple, into its send queue. Its send thread takes all that is in the
  ring there, serialises what is for other workers one by one, then puts one list for each executor
  of the own worker into that one's receive queue, and one map of all the rest, if there is any,
  into the worker's transfer queue.
- The transfer thread takes all maps that are in the ring, spends its time on every tuple in them,
  then sends one message to every worker concerned. There it is split into one list per executor.
- There is no back-pressure: what finds no place in a ring waits in the overflow before it.
"""

import math
from random import Random

from tests.simulation.oracles.disruptor import Disruptor
from tests.simulation.oracles.job import Job
from tests.simulation.oracles.parts import Time, constant
from tests.simulation.oracles.storm1_threads import Acker1, Bolt1, Spout1, Transfer1
from tests.simulation.oracles.storm2_network import Network, Result

MILLISECOND = constant(0.001)


class Network1(Network):
    """All threads of a job."""

    kinds = (Spout1, Bolt1, Acker1)
    transfer_thread = Transfer1

    def __init__(
        self, job: Job, *, seed: object, stop: float, batch: int, ring: int, flush: Time
    ) -> None:
        if (
            job.limited
            or job.batch > 1
            or any(to.grouping == "load-aware" for to in job.subscriptions)
        ):
            raise ValueError("limits, batches and load-awareness are those of Storm 2.x")
        self.queues = {"batch": batch, "ring": ring, "flush": flush}
        super().__init__(job, seed=seed, stop=stop)

    def disruptor(self, name: str) -> Disruptor:
        return Disruptor(self.env, random=Random(f"{self.seed}/{name}/flush"), **self.queues)


def simulate_storm1(
    job: Job,
    *,
    seconds: float,
    warmup: float = 0.0,
    seed: object = 0,
    stop: float = math.inf,
    batch: int = 100,
    ring: int = 1024,
    flush: Time = MILLISECOND,
) -> Result:
    """Like simulate_network. All disruptors have the same batch, ring and flush interval."""
    network = Network1(job, seed=seed, stop=stop, batch=batch, ring=ring, flush=flush)
    return network.measure(seconds=seconds, warmup=warmup)
