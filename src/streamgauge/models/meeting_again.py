"""Tuples of one root that meet again: how long they wait for each other.

A root's tuples take several ways, or go to several executors, and some of them come to one executor
again, some time apart. Arrivals are then clusters: roots at random, each with a tuple and its
siblings. From the arrival of one of them on, a queue looks as it does at any time, with the work of
its earlier siblings on top. What a sibling brings is done when its queue has been idle for as long
as its service, so that of a sibling that came u before, with the mean service b, there is left

    b·P(R > u)        R: what is left of a busy period at a random moment of it

R has the mean E[B²]/2b/(1 − ρ)², B a service: (W + E[B²]/2b)/(1 − ρ) with the wait W of the M/G/1
queue. A sibling too has to wait for its siblings, so W is the wait that is looked for. Half of the
siblings come earlier, and each second of a tuple's wait makes waits 1/(1 − ρ) as long, since
others meet it (Brumelle 1971: the mean work is ρW and half a service):

    W = W_alone + b/(1 − ρ) · ½·Σ P(R > u)

Siblings that come at once have P = 1, which is the M^X/G/1 queue; such as come much later have
nought. So each counts as a sibling in the same batch with the probability P.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.arrival_variability import Bursts
from streamgauge.models.queueing import Moments, divide_or
from streamgauge.models.transforms import Vector

Matrix = NDArray[np.float64]

# Points of the distribution of how far siblings are apart, as likely as each other.
NODES = (np.arange(12.0) + 0.5) / 12.0
# What varies more or less than this, squared, is as good as this.
LEAST_SCV, MOST_SCV = 1e-4, 50.0
# How often waits are put into the formula that they follow from.
ROUNDS = 8
# Busier executors are taken as if they had this much left.
LEAST_SPARE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clusters:
    """Siblings of a tuple that come to its executor, beyond those of its own batch.

    Attributes:
        met: How many count as if they came in its batch.
        siblings: How many there are, whenever they come.
        per_root: Tuples that come to the executor for each root of theirs, on the mean.
        together: What its tuples' wait has in common with that of siblings which come to its
            operator another way: all where they are met here, less at another executor.
        dealt: The same of siblings that one execution sends to other executors of the operator.
        in_line: Of `met`, those that the same executor sent on the same stream, before or after.
    """

    met: Vector
    siblings: Vector
    per_root: Vector
    together: Vector
    dealt: Vector
    in_line: Vector

    @classmethod
    def none(cls, executors: int) -> Clusters:
        """Nobody has siblings."""
        zero = np.zeros(executors)
        return cls(
            met=zero,
            siblings=zero.copy(),
            per_root=np.ones(executors),
            together=zero.copy(),
            dealt=zero.copy(),
            in_line=zero.copy(),
        )

    @property
    def behind(self) -> Vector:
        """How many more of its siblings the last one of a root has before it than any of them.

        As far as they come in line; the last of several ways is found as such.
        """
        return self.in_line * divide_or(self.in_line, self.met, otherwise=0.0) / 2.0

    def join(self, bursts: Bursts) -> Bursts:
        """Batches of which a tuple's siblings are a part as often as it meets them."""
        part = divide_or(self.met, self.siblings, otherwise=0.0)
        batches = cluster_size(self.met / bursts.mean, part * self.per_root / bursts.mean)
        mean = bursts.mean * batches
        variance = np.maximum(mean * (bursts.dispersion + self.met - mean), 0.0)
        some = self.met > 0.0
        return Bursts(
            per_second=np.where(some, bursts.per_second / batches, bursts.per_second),
            mean=np.where(some, mean, bursts.mean),
            variance=np.where(some, variance, bursts.variance),
        )


class Apart(NamedTuple):
    """How far siblings are apart: mean and variance of a time that may be below nought."""

    mean: float
    variance: float

    @property
    def distance(self) -> Moments:
        """Of how far, whoever comes first.

        As of Laplace's distribution: of a constant, and of the difference of two exponential times
        that are alike.
        """
        mean, scale = abs(self.mean), (self.variance / 2.0) ** 0.5
        far = mean + (scale * float(np.exp(-mean / scale)) if scale > 0.0 else 0.0)
        square = self.mean**2 + self.variance
        return Moments(mean=np.asarray(far), variance=np.asarray(max(square - far**2, 0.0)))


class Queues(NamedTuple):
    """Queues of some executors, without siblings of other batches.

    Attributes:
        wait: Mean time from arrival to service, without waking up.
        service: Of a tuple.
        per_second: Tuples.
        release: Seconds from one release of what has been gathered to the next, nought if none are.
        released: Part of the pairs of siblings that are released by the same clock.
        third: Of a tuple's siblings, those that a sibling of its has besides it.
    """

    wait: Vector
    service: Moments
    per_second: Vector
    release: float
    released: Vector
    third: Vector

    @property
    def spare(self) -> Vector:
        """Part of the time in which they are idle."""
        return np.maximum(1.0 - self.per_second * self.service.mean, LEAST_SPARE)


def left_over(queues: Queues, wait: Vector) -> tuple[Vector, Vector]:
    """Mean and squared variation of what is left of a busy period, where tuples wait so long.

    Those of the M/G/1 queue with gamma services, whose busy periods have the moments of Takacs.
    """
    mean, spare = queues.service.mean, queues.spare
    scv = divide_or(queues.service.variance, mean**2, otherwise=0.0)
    shape = 4.0 * (1.0 + 2.0 * scv) / (3.0 * (1.0 + scv))
    varied = spare * shape + 4.0 * (1.0 - spare) - 1.0
    return (wait + mean * (1.0 + scv) / 2.0) / spare, varied


def meet(siblings: Matrix, apart: list[Apart], queues: Queues) -> tuple[Vector, Matrix]:
    """Siblings that are met as if they came in one batch.

    Args:
        siblings: Of a tuple, kinds × executors.
        apart: How far those of each kind are.
        queues: Of the executors.

    Returns:
        How many each executor's tuples meet; and the part of each kind that is met.
    """
    lags = np.asarray([_points(one.distance) for one in apart])[:, :, np.newaxis]
    least: Matrix | float = 0.0
    if queues.release > 0.0:
        # What one clock releases comes together if it was sent in one of its intervals.
        least = queues.released * np.maximum(1.0 - lags / queues.release, 0.0).mean(axis=1)
    met, parts = np.zeros(siblings.shape[1]), np.zeros(siblings.shape)
    for _ in range(ROUNDS):
        # Work of others is ρ/(1 − ρ) as much more, that of siblings as of those without this one.
        work = queues.service.mean * met / 2.0
        wait = queues.wait + work * (1.0 / queues.spare - 1.0 + queues.third)
        parts = np.maximum(_still_busy(lags, queues, wait), least)
        met = (siblings * parts).sum(axis=0)
    return met, parts


def _still_busy(lags: Matrix, queues: Queues, wait: Vector) -> Matrix:
    """P(R > how far siblings are apart), kinds × executors, from points of that."""
    from scipy import special

    mean, varied = left_over(queues, wait)
    scale = np.where(mean > 0.0, mean * varied, 1.0)
    return np.asarray(special.gammaincc(1.0 / varied, lags / scale).mean(axis=1))


def _points(time: Moments) -> Vector:
    """Values of a gamma variable that are as likely as each other."""
    from scipy import special

    mean = float(time.mean)
    if mean <= 0.0:
        return np.zeros(len(NODES))
    scv = float(np.clip(time.variance / mean**2, LEAST_SCV, MOST_SCV))
    return np.asarray(special.gammaincinv(1.0 / scv, NODES) * mean * scv)


def cluster_size(siblings: Vector, per_root: Vector) -> Vector:
    """Mean batches of a root at an executor, where there are any.

    By how many others one of them has, and how many come for each root. Negative binomial, Poisson
    or binomial, as their variance is above, at or below their mean: then none come with the
    probability (1 + e)^(−mean/e), e being variance over mean less one; and of those that each are
    there with a probability p only, as well.
    """
    excess = np.maximum(siblings - per_root, -1.0 + 1e-9)
    near = np.abs(excess) < 1e-6
    safe = np.where(near, 1.0, excess)
    power = np.where(near, 1.0, np.log1p(safe) / safe)
    size = divide_or(per_root, -np.expm1(-per_root * power), otherwise=1.0)
    return np.clip(size, 1.0, 1.0 + siblings)


def third_part(siblings: Vector, per_root: Vector) -> Vector:
    """Siblings that two of a root have, as part of those that one has; see `cluster_size`."""
    return np.clip(divide_or(2.0 * siblings - per_root, siblings, otherwise=0.0), 0.0, 1.0)


def answer_time(queues: Queues, wait: Moments, met: Vector) -> Moments:
    """How much later a queue emits one tuple more than one more came to it.

    All others go first, whoever is really served: it is as late as a tuple would be that gives way
    to all that come. That is what two streams still have in common behind queues of their own: how
    far two such times are apart. (Exact for exponential services, and where little is common.)
    """
    spare, service = queues.spare, queues.service
    mean = wait.mean + service.mean
    # Variance a second of the work that comes.
    square = service.variance + service.mean**2 * (1.0 + met)
    varied = (wait.variance + service.variance) / spare**2
    varied = varied + mean * queues.per_second * square / spare**3
    return Moments(mean=mean / spare, variance=varied)


class Departure(NamedTuple):
    """Siblings that one executor served.

    Attributes:
        apart: How much later it emits for the second than for the first.
        between: Mean time between their arrivals, whoever came first.
    """

    apart: Apart
    between: float


def leave(
    apart: Apart, weights: Vector, queues: Queues, wait: Moments, met: Vector, *, alike: bool
) -> Departure:
    """How far siblings are apart when an executor has served both.

    Those that came together are served one after the other, the others in between; what comes of
    the later one is as much later as that makes a queue emit one more (`answer_time`). Those that
    come far apart find queues of their own.

    Args:
        apart: Where they come to.
        weights: Of the executors.
        queues: Of these.
        wait: In these.
        met: Siblings of a tuple that come with it.
        alike: Whether nothing but their order tells one from the other, so that the earlier one may
            be called the first.
    """
    distance = apart.distance
    lags = _points(distance)[np.newaxis, :, np.newaxis]
    busy = _still_busy(lags, queues, wait.mean)[0]
    service, spare = queues.service, queues.spare
    # Of n at once, two are (n + 1)/3 services apart.
    steps = (np.maximum(met, 1.0) + 2.0) / 3.0
    varied = np.maximum(met + 2.0, 0.0) * np.maximum(met - 1.0, 0.0) / 18.0
    found = np.maximum(wait.mean - service.mean * met / 2.0, 0.0)
    work = found + steps * service.mean
    square = service.variance + service.mean**2 * (1.0 + met)
    growth = work / spare
    spread = (wait.variance + steps * service.variance + varied * service.mean**2) / spare**2
    spread = spread + work * queues.per_second * square / spare**3
    alone = answer_time(queues, wait, met).variance
    mean = float(distance.mean) + busy * growth
    squares = busy * ((growth + float(distance.mean)) ** 2 + spread + float(distance.variance))
    squares = squares + (1.0 - busy) * (apart.mean**2 + apart.variance + 2.0 * alone)
    part = weights / weights.sum()
    later, square_of_all = float(part @ mean), float(part @ squares)
    if not alike and float(distance.mean) > 0.0:
        later *= apart.mean / float(distance.mean)
    left = Apart(later, max(square_of_all - later**2, 0.0))
    return Departure(apart=left, between=float(distance.mean))
