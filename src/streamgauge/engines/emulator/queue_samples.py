"""Queues: what came, how long it stayed, how much was there, and what found no room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.engines.emulator.readings import MILLISECONDS, NANOSECONDS, Bucket
from streamgauge.engines.emulator.series import averaged, binned, counted, gauged, summed, totals
from streamgauge.engines.emulator.subjects import Subject, Subjects
from streamgauge.lake.definition import Queue
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Sample
from streamgauge.simulation.program import Compiled
from streamgauge.transport.mechanics import NO_LIMIT


class QueueSamples:
    """Samples of the engine's queues.

    What comes from other workers to be deserialised is the network's queue, where that takes
    time. What is due at sources waits outside of the engine.
    """

    def __init__(self, subjects: Subjects, compiled: Compiled) -> None:
        at = compiled.program.at
        self._batched = compiled.mechanics.send_threads
        self._executors = subjects.executors
        places: list[int] = []
        self._who: list[Subject] = []
        limits: list[int] = []
        mechanics = compiled.mechanics
        for queue, first, end, limit in (
            (Queue.RECEIVE, 0, at.executors, mechanics.receive_limit),
            (Queue.SEND, at.send, at.transfer, mechanics.send_limit),
            (Queue.TRANSFER, at.transfer, at.incoming, mechanics.transfer_limit),
            (Queue.NETWORK, at.incoming, at.windows, NO_LIMIT),
        ):
            places += range(first, end)
            limits += [limit] * (end - first)
            self._who += [subjects.queue(queue, owner) for owner in range(end - first)]
        self._places = np.asarray(places)
        self._limits = np.asarray(limits)
        # Only there can a tuple be thrown away, and only by engines without batches.
        self._receive = slice(0, at.executors)
        self._drops = not self._batched and mechanics.overflow_limit < NO_LIMIT

    def of(self, bucket: Bucket) -> Iterator[Sample]:
        """All samples of a bucket."""
        arrived = bucket.grown("arrived")[self._places]
        yield from counted(bucket, Metric.QUEUE_ARRIVALS, self._who, arrived)
        if self._batched:
            lists = bucket.grown("objects")[self._places]
            yield from counted(bucket, Metric.QUEUE_LISTS, self._who, lists)
            yield from averaged(bucket, Metric.TUPLES_PER_LIST_MEAN, self._who, arrived, lists)
        yield from self._levels(bucket)
        yield from self._sojourns(bucket, arrived)
        if self._drops:
            yield from self._thrown_away(bucket)
        yield from self._engine(bucket, arrived)

    def _levels(self, bucket: Bucket) -> Iterator[Sample]:
        """Mean length over time, and what stands behind the queue when the bucket ends."""
        length = bucket.grown("area")[self._places] / bucket.seconds
        if not self._batched:
            length = np.minimum(length, self._limits)
        bounded = np.flatnonzero(self._limits < NO_LIMIT)
        who = [self._who[place] for place in bounded.tolist()]
        overflow = bucket.after.overflow[self._places]
        # Sums of many small steps may end a hair below zero.
        yield from gauged(bucket, Metric.QUEUE_POPULATION, self._who, np.maximum(length, 0.0))
        yield from gauged(bucket, Metric.QUEUE_CAPACITY, who, self._limits[bounded])
        yield from gauged(bucket, Metric.QUEUE_OVERFLOW, who, overflow[bounded])

    def _sojourns(self, bucket: Bucket, arrived: NDArray[Any]) -> Iterator[Sample]:
        left = arrived - bucket.grown("length")[self._places]
        sojourn = bucket.grown_whole("sojourn", NANOSECONDS)[self._places]
        yield from summed(bucket, Metric.QUEUE_SOJOURN_SUM, self._who, sojourn, left)
        waits = bucket.grown("wait_bin")
        yield from binned(bucket, Metric.QUEUE_SOJOURN_BIN, self._who[self._receive], waits)

    def _thrown_away(self, bucket: Bucket) -> Iterator[Sample]:
        who = self._who[self._receive]
        dropped = bucket.grown("dropped")[self._receive]
        total = bucket.after.dropped[self._receive]
        yield from counted(bucket, Metric.QUEUE_DROPS, who, dropped)
        yield from totals(bucket, Metric.QUEUE_DROPS_TOTAL, who, total, 1)

    def _engine(self, bucket: Bucket, arrived: NDArray[Any]) -> Iterator[Sample]:
        """What Storm says of its queues: a rate, and from it a time by Little's law.

        It divides the tuples there are at one moment by the rate of those that come.
        """
        rate = arrived / bucket.seconds
        yield from gauged(bucket, Metric.QUEUE_ARRIVAL_RATE, self._who, rate)
        inside = (bucket.after.length - bucket.after.overflow)[self._places]
        for place in np.flatnonzero(arrived).tolist():
            value = float(inside[place]) / float(rate[place]) * MILLISECONDS
            yield bucket.sample(Metric.QUEUE_SOJOURN_MEAN, self._who[place], value, 1)
