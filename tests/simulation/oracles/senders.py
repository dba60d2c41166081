"""How threads of Storm 2.x send: straight or by the transfer thread, in batches, or blocked.

- To an executor of the same worker a tuple goes into its receive queue; to another worker, it is
  serialised by the emitter and goes into the worker's transfer queue.
- If that queue is full, or the target under back-pressure, the tuple stays with its emitter, and
  so does, in order, all that is emitted after it. The emitter consumes or emits nothing more until
  all is sent. It goes on at the very moment there is a place; the first in line is served first.
- With batches, an emitter collects tuples by target queue. A batch is published, as far as there
  are places, when it is full and when its emitter handles a flush tuple (flushes.py). Only if none
  of a full batch finds a place is the next tuple for that queue held as above.
"""

import math
from collections import deque
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.simulation.oracles.back_pressure import Receiver
from tests.simulation.oracles.flushes import FLUSH
from tests.simulation.oracles.parts import Meter, Steps
from tests.simulation.oracles.threads import Thread


@dataclass(slots=True)
class Parcel:
    """A message on its way to a task: what is to be put into which queue."""

    task: tuple[str, int]
    item: Any
    queue: Thread
    far: bool  # in another worker
    serialised: bool = False


class Transfer(Thread):
    """The transfer thread of a worker."""

    def __init__(self, net: Any, worker: str) -> None:
        job = net.job
        sleepy = job.transfer_sleep > 0
        spin = 0.0 if sleepy else math.inf
        capacity = job.transfer_queue if job.limited else math.inf
        idling = {"spin": spin, "sleep": job.transfer_sleep}
        super().__init__(net.env, net.cores_of(worker), capacity=capacity, **idling)
        self.net, self.worker = net, worker
        self.random = Random(f"{net.seed}/transfer/{worker}")

    def handle(self, item: Any) -> Steps:
        target, message = item
        yield from self.cores.run(self.net.job.transfer.draw(self.random))
        arrival = self.env.timeout(self.net.job.between(self.worker, target.worker))
        arrival.callbacks.append(lambda _: target.deliver(message))

    def report(self) -> dict[str, float]:
        return {
            "sent": self.handled,
            "utilisation": self.busy.mean(),
            "queue": self.waiting.mean(),
            "longest": self.longest,
        }


class Sender(Receiver):
    """A thread that sends messages to tasks; it is blocked while it must keep some."""

    service: Random

    def __init__(self, net: Any, worker: str, **idling: float) -> None:
        super().__init__(net, worker, **idling)
        self.pressure = net.pressures[worker]
        self.unsent: deque[Parcel] = deque()
        self.shut = False  # whether the first of them waits for a place or for the end of pressure
        self.blocked = Meter(net.env)
        self.batch_size = net.job.batch
        self.batches: dict[Thread, deque[Any]] = {}
        if net.job.batch > 1:
            self.look = self.look_and_stir

    def ready(self) -> bool:
        return not self.shut if self.unsent else bool(self.queue or self.overflow)

    def look_and_stir(self) -> None:
        super().look()
        self.net.flushes.stir()

    def live(self) -> Steps:
        while True:
            if self.ready():
                yield from self.once()
            else:
                yield from self.wait() if self.unsent else self.idle()

    def wait(self) -> Steps:
        """Blocked, until it can try again or, a source, has an answer to handle."""
        self.blocked.change(+1)
        self.alarm = self.env.event()
        yield self.alarm
        self.alarm = None
        self.blocked.change(-1)

    def once(self) -> Steps:
        if self.unsent:
            self.turn = 0
            return self.resend()
        return self.consume()

    def consume(self) -> Steps:
        if self.turn == 0 and self.queue and self.queue[0][1] is FLUSH:
            self.take()
            return self.flush()
        return super().once()

    def flush(self) -> Steps:
        for queue in self.batches:
            self.publish(queue)
        yield from ()

    def send(self, operator: str, task: int, message: tuple[Any, ...]) -> Steps:
        target, item = self.net.tasks[operator][task], (task, *message)
        if target.worker == self.worker:
            parcel = Parcel((operator, task), item, target, far=False)
        else:
            transfer = self.net.transfers[self.worker]
            parcel = Parcel((operator, task), (target, item), transfer, far=True)
            if not self.unsent:
                yield from self.serialise(parcel)
        if self.unsent or not self.post(parcel):
            self.unsent.append(parcel)
            self.look()  # a thread of time triggers may have come here while this one idles

    def serialise(self, parcel: Parcel) -> Steps:
        """Once, as soon as it may go to another worker."""
        if parcel.far and not parcel.serialised and not self.pressure.holds(parcel.task):
            yield from self.cores.run(self.net.job.serialise.draw(self.service))
            parcel.serialised = True

    def post(self, parcel: Parcel) -> bool:
        """Puts it into its queue or its batch, if it can be; whether it could."""
        if parcel.far and self.pressure.holds(parcel.task):
            return False
        if self.batch_size == 1:
            return parcel.queue.offer(parcel.item)
        batch = self.batches.setdefault(parcel.queue, deque())
        if len(batch) >= self.batch_size:
            self.publish(parcel.queue)
        if len(batch) >= self.batch_size:
            return False
        batch.append(parcel.item)
        if len(batch) >= self.batch_size:
            self.publish(parcel.queue)
        return True

    def publish(self, queue: Thread) -> None:
        batch = self.batches[queue]
        while batch and queue.offer(batch[0]):
            batch.popleft()

    def resend(self) -> Steps:
        """Sends what it can of what it kept. If it cannot send the first, that one gets in line."""
        while self.unsent:
            parcel = self.unsent[0]
            yield from self.serialise(parcel)
            if self.post(parcel):
                self.unsent.popleft()
                continue
            self.shut = True
            if self.pressure.holds(parcel.task):
                self.pressure.wait(parcel.task, self.go_on)
            else:
                parcel.queue.line.append(self.give)
            return

    def go_on(self) -> None:
        self.shut = False
        if self.alarm is not None and not self.alarm.triggered:
            self.alarm.succeed()

    def give(self) -> Any:
        """There is a place for the first of what it kept, or for the first of its batch."""
        parcel = self.unsent[0]
        if self.pressure.holds(parcel.task):
            item = None
        elif self.batch_size > 1:
            item = self.batches[parcel.queue].popleft()
        else:
            item = self.unsent.popleft().item
        self.go_on()
        return item

    def restart(self) -> None:
        super().restart()
        self.blocked.restart()
