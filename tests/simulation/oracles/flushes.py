"""Flush tuples of Storm 2.x: with batches, what makes an executor publish those not yet full.

At every multiple of the interval they are put into all receive queues that have a place, first
into all, before any of them is handled. They wait there like tuples and take no time.
"""

import math
from typing import Any

from tests.simulation.oracles.parts import Steps

FLUSH = "flush tuple"


class Flushes:
    """Flush tuples for all executors, but for those that are at rest and have nothing to flush."""

    def __init__(self, net: Any) -> None:
        self.net = net
        self.stirred = net.env.event()
        if net.job.batch > 1:
            net.env.process(self.live())

    def stir(self) -> None:
        """Somebody has got something to do, or to flush."""
        if not self.stirred.triggered:
            self.stirred.succeed()

    def live(self) -> Steps:
        env, interval = self.net.env, self.net.job.flush
        number = 0
        while True:
            if all(map(self.at_rest, self.net.executors)):
                self.stirred = env.event()
                yield self.stirred
                number = math.floor(env.now / interval)
            number += 1
            yield env.timeout(max(0.0, number * interval - env.now))
            for executor in self.net.executors:
                if not self.at_rest(executor):
                    executor.offer(FLUSH)

    def at_rest(self, executor: Any) -> bool:
        idle = executor.alarm is not None and not executor.alarm.triggered
        return idle and not executor.inbox() and not any(executor.batches.values())
