"""Closed networks: so many customers go round between stations, and no more.

One class of customers, stations of one server each and a delay: a network of product form, whose
mean values follow from those with one customer less (Reiser & Lavenberg 1980). A *semi-open*
network has a limited number of places; customers come at random and wait outside until one is free.
Seen from outside, the network with n customers in it is a station that serves as fast as the closed
network of n turns (Chandy, Herzog & Woo 1975), so that the number of customers is a birth-death
process (Avi-Itzhak & Heyman 1973). That is exact for one station, and for a delay alone.
Otherwise customers leave more evenly than such a station would have it and the wait is shorter, by
what is known of M/G/c queues.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.transforms import Complex

Vector = NDArray[np.float64]

# From so many customers on, what one less would make of it is not worth a step for each: Schweitzer
# 1979 is within half a per cent there.
MOST_EXACT = 1000
# Numbers of customers beyond that at which the time of a round is computed; between them it is
# nearly straight.
KNOTS = 64
# Halvings of an interval until nothing is left of it.
HALVINGS = 50
# How soon the busiest station alone decides how evenly customers leave: fitted to Markov chains of
# two stations with 1 to 10 customers.
TAKES_OVER = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClosedNetwork:
    """Stations and a delay that a fixed number of customers pass on every round.

    Attributes:
        demands: Seconds of service that one round takes at each station, all its visits together;
            exponential, or shared among those that are there.
        delay_seconds: Time of a round that is the same however many there are.
    """

    demands: Vector
    delay_seconds: float

    def round_seconds(self, customers: int) -> Vector:
        """Mean time of a round with one customer, with two, … with `customers`."""
        exact = min(customers, MOST_EXACT)
        seconds = np.empty(exact)
        present = np.zeros(len(self.demands))
        for number in range(1, exact + 1):
            # Whoever comes to a station meets those that would be there without him.
            times = self.demands * (1.0 + present)
            seconds[number - 1] = self.delay_seconds + times.sum()
            present = number / seconds[number - 1] * times
        if customers <= exact:
            return seconds
        knots = np.geomspace(exact, customers, KNOTS)
        beyond = np.arange(exact + 1.0, customers + 1.0)
        rest = np.interp(beyond, knots, self._approximate(knots))
        # Where both are known they may differ by a little: no step there.
        return np.concatenate([seconds, rest * seconds[-1] / self._approximate(knots[:1])[0]])

    def _approximate(self, customers: Vector) -> Vector:
        """The same where each meets (N − 1)/N of those that are there (Schweitzer 1979).

        The rate x for which N = x·(Z + Σ D/(1 − (N − 1)/N·x·D)), between bounds.
        """
        met = (customers - 1.0) / customers
        low, high = np.zeros_like(customers), customers / max(self._unhindered, 1e-300)
        busiest = float(self.demands.max(initial=0.0))
        if busiest > 0.0:
            high = np.minimum(high, 1.0 / (met * busiest))
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            load = np.minimum(np.outer(met * middle, self.demands), 1.0 - 1e-12)
            needed = middle * (self.delay_seconds + (self.demands / (1.0 - load)).sum(axis=1))
            low, high = (
                np.where(needed < customers, middle, low),
                np.where(needed < customers, high, middle),
            )
        return np.asarray(customers / low)

    @property
    def _unhindered(self) -> float:
        return self.delay_seconds + float(self.demands.sum())

    def open_seconds(self, per_second: float) -> float:
        """Mean time of a round if customers come at random and all are let in; or infinite."""
        spare = 1.0 - per_second * self.demands
        if np.any(spare <= 0.0):
            return math.inf
        return self.delay_seconds + float((self.demands / spare).sum())

    def part_met(self, per_second: float, seconds: float) -> float:
        """Which part of the traffic a customer meets, if rounds take `seconds` at that rate.

        κ of `seconds` = Z + Σ D/(1 − κ·x·D). In an open network a customer meets all of it; in a
        closed one of N he does not meet himself, which is (N − 1)/N of it on the mean.
        """
        loads = per_second * self.demands
        low, high = 0.0, min(1.0, 1.0 / max(float(loads.max(initial=0.0)), 1e-300))
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            spare = np.maximum(1.0 - middle * loads, 1e-12)
            if self.delay_seconds + float((self.demands / spare).sum()) < seconds:
                low = middle
            else:
                high = middle
        return (low + high) / 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What customers meet who come at random to a network with a limited number of places.

    Attributes:
        waits: Probability that one has to wait for a place.
        wait_seconds: Mean wait of those who have to: exponential; infinite where more come than
            leave with all places taken.
        inside: Mean customers who have a place.
    """

    waits: float
    wait_seconds: float
    inside: float

    @property
    def mean(self) -> float:
        """Mean wait of all, in seconds."""
        return self.waits * self.wait_seconds if self.waits > 0.0 else 0.0

    @property
    def variance(self) -> float:
        """Of the same."""
        return 2.0 * self.mean * self.wait_seconds - self.mean**2 if self.waits > 0.0 else 0.0

    def quantile(self, probability: float) -> float:
        """The wait that this part of the customers does not exceed."""
        if self.waits <= 1.0 - probability:
            return 0.0
        return self.wait_seconds * math.log(self.waits / (1.0 - probability))

    def transform(self, s: Complex) -> Complex:
        """E[e^(−sW)] of the wait of all; who waits for ever has none."""
        if math.isinf(self.wait_seconds):
            return np.full_like(s, 1.0 - self.waits)
        return np.asarray(1.0 - self.waits + self.waits / (1.0 + s * self.wait_seconds))


def find_admission(per_second: float, seconds: Vector, *, scv: float = 1.0) -> Admission:
    """How customers who come at random get into a network of as many places as `seconds` is long.

    Args:
        per_second: How many come.
        seconds: Mean time of a round with one customer inside, with two, …
        scv: How evenly customers leave while all places are taken (`departure_scv`). As in M/G/c,
            the wait is (1 + scv)/2 times that for one (Lee & Longton 1959).
    """
    places = np.arange(1.0, len(seconds) + 1.0)
    leaving = places / seconds
    spare = float(leaving[-1]) - per_second
    if spare <= 0.0:
        return Admission(waits=1.0, wait_seconds=math.inf, inside=float(len(seconds)))
    # P(n) ∝ Π λ/μ(k); with all places taken the rest of it is geometric.
    log_weights = np.concatenate([[0.0], np.cumsum(math.log(per_second) - np.log(leaving))])
    weights = np.exp(log_weights - log_weights.max())
    weights[-1] *= float(leaving[-1]) / spare
    weights /= weights.sum()
    return Admission(
        waits=float(weights[-1]),
        wait_seconds=(1.0 + scv) / 2.0 / spare,
        inside=float(weights @ np.concatenate([[0.0], places])),
    )


def departure_scv(
    round_scv: float, service_scv: float, utilisation: float, customers: float
) -> float:
    """Variation of departures from a closed network: what matters for those who wait outside.

    Customers who never meet leave as evenly as rounds are long; those who queue at one station, as
    evenly as it serves. Waits that follow are those of Markov chains of two stations with one
    customer, and within 9 % of them at 80 % of what places let through with 2 to 10.

    Args:
        round_scv: Squared coefficient of variation of the time of a round.
        service_scv: That of a service of the busiest station.
        utilisation: Of that station.
        customers: How many go round.
    """
    queued = (1.0 - 1.0 / customers) * min(utilisation, 1.0) ** TAKES_OVER
    return round_scv + (service_scv - round_scv) * queued
