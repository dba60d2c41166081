"""Single queues in closed form: moments of waits and sojourns, and their transforms.

Two families, over arrays of queues at once:

* `BulkQueue`: batches of tuples come at random to one server that may have fallen asleep
  (Storm 2.x). A batch is a customer of an M/G/1 queue whose service is the sum of its tuples'
  (Takagi 1991, volume 1, chapter 1); a tuple waits for its batch and for those before it in the
  batch. Waking up is a setup that the first batch after idleness meets; its effect is a delay
  independent of the queue without it (Welch 1964; Doshi 1985): with U the setup and λ the rate of
  batches, it is U with weight 1/(1 + λE[U]) and what is left of a U met at random with the rest.
  So a sojourn is the sum of four independent parts, and moments add and transforms multiply.

* `FlushedQueue`: what has gathered is released every δ seconds (Storm 1.x). The work found by a
  release is the maximum of a random walk, whose cumulants are Σ E[(S_n⁺)^j]/n (Spitzer 1956), S_n
  the work of n releases less nδ.

Where a queue is offered as much as it can do, or more, every figure is infinite and its
transform zero: overload is an answer, not an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamgauge.errors import Findings
from streamgauge.models import transforms
from streamgauge.models.random_walks import Cumulants, find_maximum
from streamgauge.models.transforms import Chosen, Complex, Transform, Vector

# Closer to a Poisson distribution than this, its neighbours only lose digits.
NEAR_POISSON = 1e-6
# Waits that are a smaller part of those at random are none: in their transforms, digits vanish.
LEAST_FACTOR = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """First two moments of a time, in seconds and seconds squared."""

    mean: Vector
    variance: Vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Setup:
    """How long a batch that finds the server idle waits for it to wake up.

    Attributes:
        first: Mean, in seconds; zero counts where the server was awake.
        transform: E[e^(−sU)].
    """

    first: Vector
    second: Vector
    third: Vector
    transform: Transform

    @classmethod
    def sleep(cls, period: ArrayLike, batches_per_second: ArrayLike) -> Setup:
        """What is left of the sleep that a batch falls in, when one follows the other.

        Idleness ends after an exponential time X, so what is left is `period` − (X mod `period`),
        which leans to long for frequent batches. The delay of the whole queue is then uniform on
        (0, `period`), as for a server that takes vacations (Fuhrmann & Cooper 1985).
        """
        length, rate = transforms.match_shapes(period, batches_per_second)
        load = rate * length
        scale = divide_or(load, -np.expm1(-load), otherwise=1.0)

        def transform(s: Complex) -> Complex:
            # λT/(1 − e^(−λT)) · (e^(−sT) − e^(−λT))/((λ − s)T), from the side that cannot overflow.
            gap = (rate - s) * length
            later = gap.real >= 0.0
            decay = transforms.mean_decay(np.where(later, gap, -gap))
            return np.asarray(scale * np.where(later, np.exp(-s * length), np.exp(-load)) * decay)

        first, second, third = _leaning_moments(load, scale)
        return cls(
            first=first * length,
            second=second * length**2,
            third=third * length**3,
            transform=transform,
        )

    def met_with(self, probability: ArrayLike) -> Setup:
        """The same for a server that is found asleep with `probability`, and else is awake."""
        asleep = as_vector(probability)
        return Setup(
            first=asleep * self.first,
            second=asleep * self.second,
            third=asleep * self.third,
            transform=lambda s: np.asarray(1.0 + asleep * (self.transform(s) - 1.0)),
        )


def _leaning_moments(x: Vector, scale: Vector) -> tuple[Vector, Vector, Vector]:
    """E[u], E[u²] and E[u³] for u on (0, 1) with a density proportional to e^(xu).

    With `scale` = x/(1 − e^(−x)), integration by parts gives x·E[u^j] = scale − j·E[u^(j−1)].
    Where x is small it is used from E[u³] = scale/4·₁F₁(1; 5; −x) downwards: nothing then cancels.
    """
    small = x < 1.0
    near, away = np.where(small, x, 0.0), np.where(small, 1.0, x)
    # 1 − x/5·(1 − x/6·(1 − …)); what is left out is below 1e-17.
    series = np.ones_like(near)
    for divisor in range(20, 4, -1):
        series = 1.0 - near / divisor * series
    third = scale / 4.0 * series
    second = (scale - near * third) / 3.0
    first = (scale - near * second) / 2.0
    first_away = (scale - 1.0) / away
    second_away = (scale - 2.0 * first_away) / away
    third_away = (scale - 3.0 * second_away) / away
    return (
        np.where(small, first, first_away),
        np.where(small, second, second_away),
        np.where(small, third, third_away),
    )


def asleep_probability(batches_per_second: ArrayLike, spin_seconds: ArrayLike) -> Vector:
    """Probability that an idle thread has gone to sleep before the next batch comes.

    It polls for `spin_seconds` first and is awake at once if a batch comes by then.
    """
    return np.asarray(np.exp(-as_vector(batches_per_second) * as_vector(spin_seconds)))


@dataclass(frozen=True, kw_only=True, eq=False)
class BatchSize:
    """How many tuples a batch has: a whole number of at least one, by mean and variance.

    One tuple and a number N of further ones. N is negative binomial (geometric among them) where
    its variance exceeds its mean, Poisson where they are equal, and else one of two neighbouring
    binomials (Adan, van Eenige & Resing 1995). A variance smaller than whole numbers can have is
    raised to what they must: a fraction of the mean is the chance of one tuple more.
    """

    mean: Vector
    variance: Vector

    @classmethod
    def of(cls, mean: ArrayLike, variance: ArrayLike) -> BatchSize:
        """With arrays of one shape, and a variance that can be."""
        first, second = transforms.match_shapes(mean, variance)
        part = first - np.floor(first)
        return cls(mean=first, variance=np.maximum(second, part * (1.0 - part)))

    @cached_property
    def factorial_moments(self) -> tuple[Vector, Vector, Vector]:
        """E[X], E[X(X − 1)] and E[X(X − 1)(X − 2)]."""
        more = self.mean - 1.0
        excess = self._excess
        second = more * (more + excess)
        third = second * (more + 2.0 * excess)
        if np.any(self._regular):
            trials, share, chance = self._binomials
            regular = chance**3 * trials * (trials - 1.0) * (trials + 1.0 - 3.0 * share)
            third = np.where(self._regular, regular, third)
        # With X = 1 + N: X(X − 1) = N(N − 1) + 2N, and likewise for the third.
        return self.mean, second + 2.0 * more, third + 3.0 * second

    @property
    def mean_ahead(self) -> Vector:
        """Tuples before a random one in its batch, E[X(X − 1)]/(2E[X])."""
        tuples, pairs, _ = self.factorial_moments
        return divide_or(pairs, 2.0 * tuples, otherwise=0.0)

    @cached_property
    def _excess(self) -> Vector:
        """Variance of N over its mean, less one: zero for a Poisson number."""
        return divide_or(self.variance, self.mean - 1.0, otherwise=1.0) - 1.0

    @cached_property
    def _regular(self) -> NDArray[np.bool_]:
        return np.asarray((self._excess < -NEAR_POISSON) & (self.mean > 1.0))

    @cached_property
    def _binomials(self) -> tuple[Vector, Vector, Vector]:
        """k, q and p: N is binomial of k trials with probability q, else of k + 1, of chance p.

        E[N] = p(k + 1 − q) and E[N(N − 1)] = p²k(k + 1 − 2q) solved for q and p.
        """
        more = np.where(self._regular, self.mean - 1.0, 1.0)
        ratio = np.where(self._regular, 1.0 + self._excess / more, 0.0)
        trials = np.floor(1.0 / (1.0 - ratio) + 1e-9)
        root = np.sqrt(np.maximum(trials**2 - ratio * trials * (trials + 1.0), 0.0))
        mean_trials = trials * (trials + 1.0) / (trials + root)
        return trials, trials + 1.0 - mean_trials, np.minimum(more / mean_trials, 1.0)

    def generating(self, z: Complex) -> Complex:
        """E[z^X], for points that broadcast against the sizes from the left."""
        more, excess, regular = self.mean - 1.0, self._excess, self._regular

        def negative_binomial(points: Complex, chosen: Chosen) -> Complex:
            divide_or = excess[chosen]
            power = np.log(1.0 + divide_or * (1.0 - points)) * (-more[chosen] / divide_or)
            return np.asarray(points * np.exp(power))

        def poisson(points: Complex, chosen: Chosen) -> Complex:
            return np.asarray(points * np.exp(more[chosen] * (points - 1.0)))

        def binomials(points: Complex, chosen: Chosen) -> Complex:
            trials, share, chance = self._binomials
            hit = 1.0 - chance[chosen] * (1.0 - points)
            either = share[chosen] + (1.0 - share[chosen]) * hit
            return np.asarray(points * hit ** trials[chosen] * either)

        single = self.mean == 1.0
        near_poisson = ~(regular | single) & (np.abs(excess) <= NEAR_POISSON)
        return transforms.by_kind(
            z,
            [
                (regular, binomials),
                (near_poisson, poisson),
                (single, lambda points, _: points),
                (~(regular | near_poisson | single), negative_binomial),
            ],
        )

    def ahead(self, z: Complex, generated: Complex) -> Complex:
        """E[z^J], J the tuples before a random one in its batch, from z and E[z^X].

        P(J = j) = P(X > j)/E[X].
        """
        numerator = np.asarray((1.0 - generated) / self.mean)
        rest = np.broadcast_to(1.0 - z, numerator.shape)
        return np.divide(numerator, rest, out=np.ones_like(numerator), where=rest != 0.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class BatchArrivals:
    """Batches that come as a Poisson process to one server with gamma service times.

    Every figure may be an array; they broadcast against each other.

    Attributes:
        batch_mean: Mean tuples in a batch, at least one.
        service_seconds: Mean service time of a tuple.
        service_scv: Its squared coefficient of variation; zero is a constant.
        wait_factor: Wait for the batches before, in multiples of that with arrivals at random:
            regular ones make it shorter (`streamgauge.models.arrival_variability`).
        met: Which part of the batches before one that comes is met: all of them in an open
            network, less in one that is closed (Schweitzer 1979).
    """

    batches_per_second: ArrayLike
    batch_mean: ArrayLike = 1.0
    batch_variance: ArrayLike = 0.0
    service_seconds: ArrayLike
    service_scv: ArrayLike = 1.0
    wait_factor: ArrayLike = 1.0
    met: ArrayLike = 1.0

    def __post_init__(self) -> None:
        _check(
            batches_per_second=self.batches_per_second,
            wait_factor=self.wait_factor,
            met=self.met,
            batch_variance=self.batch_variance,
            service_seconds=self.service_seconds,
            service_scv=self.service_scv,
        )
        _check(least=1.0, batch_mean=self.batch_mean)

    @cached_property
    def size(self) -> BatchSize:
        """Tuples in a batch."""
        return BatchSize.of(self.batch_mean, self.batch_variance)

    @cached_property
    def utilisation(self) -> Vector:
        """Offered load of the server; the queue is stable below one."""
        return np.asarray(
            as_vector(self.batches_per_second)
            * as_vector(self.batch_mean)
            * as_vector(self.service_seconds)
        )

    @property
    def met_per_second(self) -> Vector:
        """Batches a second that one that comes may have to wait for."""
        return as_vector(self.batches_per_second) * as_vector(self.met)

    @property
    def spare(self) -> Vector:
        """Part of the time that what is met leaves free; none, or less, where that is too much."""
        return np.asarray(1.0 - self.utilisation * as_vector(self.met))


@dataclass(frozen=True, kw_only=True, eq=False)
class BulkQueue(BatchArrivals):
    """Batches join the queue as they come; one that finds the server idle waits for its setup."""

    setup: Setup | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class FlushedQueue(BatchArrivals):
    """Batches are lists that gather, and are released together every interval.

    What gathers has no limit: batches that fill up between flushes are not foreseen.

    Attributes:
        wait_scv: Squared variation of the wait for the batches before; NaN where regular arrivals
            make waits shorter, but not of another form.
    """

    flush_seconds: ArrayLike
    wait_scv: ArrayLike = np.nan

    def __post_init__(self) -> None:
        BatchArrivals.__post_init__(self)
        _check(flush_seconds=self.flush_seconds)


def wait(queue: BulkQueue) -> Moments:
    """Time of a random tuple from its arrival to the start of its service, setup included."""
    return wait_twice(queue)[1]


def wait_twice(queue: BulkQueue) -> tuple[Moments, Moments]:
    """Time from arrival to the start of service, of a server that never sleeps and of this one."""
    before, inside = wait_before(queue), _inside(queue)
    return _added(before, inside), _added(before, _setup_delay(queue), inside)


def sojourn_transform(queue: BulkQueue) -> Transform:
    """E[e^(−sT)] of the sojourn of a random tuple, for Re s > 0."""
    rate, met_rate = as_vector(queue.batches_per_second), queue.met_per_second
    mean, scv = as_vector(queue.service_seconds), as_vector(queue.service_scv)
    spare = np.maximum(queue.spare, 0.0)
    stable = spare > 0.0
    size, setup, factor = queue.size, queue.setup, as_vector(queue.wait_factor)
    at_random = bool(np.all(factor == 1.0))

    def before(s: Complex, batch: Complex) -> Complex:
        # Pollaczek–Khinchine, (1 − ρ)s/(s − λ + λβ(s)); nothing of it vanishes for Re s > 0 and
        # ρ < 1, and at ρ ≥ 1 the factor 1 − ρ is put to zero before anything is divided.
        below = np.where(stable, s - met_rate * (1.0 - batch), 1.0)
        return np.asarray(spare * s / below)

    def transform(s: Complex) -> Complex:
        service = transforms.gamma(s, mean, scv)
        batch = size.generating(service)
        if at_random:
            value = before(s, batch) * service
        else:
            # A wait that is so many times as long has its transform at as many times s.
            waits = factor > LEAST_FACTOR
            sooner = np.where(waits, s * factor, 1.0)
            waited = before(sooner, size.generating(transforms.gamma(sooner, mean, scv)))
            value = np.where(waits, waited, np.where(stable, 1.0, 0.0)) * service
        if np.any(size.mean != 1.0):
            value = value * size.ahead(service, batch)
        if setup is not None:
            waking = setup.transform(s)
            value = value * (waking + rate * (1.0 - waking) / s) / (1.0 + rate * setup.first)
        return np.asarray(value)

    return transform


def wait_before(queue: BulkQueue) -> Moments:
    """Wait of a batch for those before it, without setups (Kleinrock 1975, 5.70 and 5.113)."""
    rate, spare = queue.met_per_second, queue.spare
    _, second, third = work_moments(queue)
    mean, factor = divide_or(rate * second, 2.0 * spare), as_vector(queue.wait_factor)
    variance = divide_or(rate * third, 3.0 * spare) + mean**2
    return Moments(mean=_times(factor, mean), variance=_times(factor**2, variance))


def work_moments(queue: BatchArrivals) -> tuple[Vector, Vector, Vector]:
    """First three moments of the service of a whole batch or list."""
    tuples, pairs, triples = queue.size.factorial_moments
    first, scv = as_vector(queue.service_seconds), as_vector(queue.service_scv)
    second = first**2 * (1.0 + scv)
    third = second * first * (1.0 + 2.0 * scv)
    return (
        tuples * first,
        tuples * second + pairs * first**2,
        tuples * third + 3.0 * pairs * second * first + triples * first**3,
    )


def _setup_delay(queue: BulkQueue) -> Moments:
    """E[V^j] = (E[U^j] + λE[U^(j+1)]/(j + 1))/(1 + λE[U])."""
    if queue.setup is None:
        return Moments(mean=np.zeros(()), variance=np.zeros(()))
    setup, rate = queue.setup, as_vector(queue.batches_per_second)
    share = 1.0 / (1.0 + rate * setup.first)
    mean = share * (setup.first + rate * setup.second / 2.0)
    second = share * (setup.second + rate * setup.third / 3.0)
    return Moments(mean=mean, variance=np.maximum(second - mean**2, 0.0))


def _inside(queue: BulkQueue) -> Moments:
    """Service of the tuples before a random one in its batch."""
    return _ahead(queue.size.factorial_moments, queue.service_seconds, queue.service_scv)


def _ahead(
    factorial_moments: tuple[Vector, Vector, Vector], service_seconds: ArrayLike, scv: ArrayLike
) -> Moments:
    """Service of the J tuples before a random one among X, by the factorial moments of X.

    E[J] = E[X(X − 1)]/(2E[X]) and E[J(J − 1)] = E[X(X − 1)(X − 2)]/(3E[X]).
    """
    tuples, pairs, triples = factorial_moments
    service = as_vector(service_seconds)
    ahead = divide_or(pairs, 2.0 * tuples, otherwise=0.0)
    variance = divide_or(triples, 3.0 * tuples, otherwise=0.0) + ahead - ahead**2
    return Moments(
        mean=ahead * service,
        variance=service**2 * (ahead * as_vector(scv) + np.maximum(variance, 0.0)),
    )


def released_wait(queue: FlushedQueue) -> Moments:
    """Time of a random tuple from its release to the start of its service.

    The mean is within 0.6 % of the exact one from two lists a flush on, within 2 % from half a
    list on and 3.5 % at a twentieth, up to a utilisation of 0.98 (exponential service, lists of
    1 to 3 tuples). Most of the error lies at low and middle load.

    What it waited before, uniform on (0, δ), is not in it. The two are not independent: who came
    early waits long for the release and is served early after it.
    """
    return _added(backlog(queue), _inside_release(queue))


def _inside_release(queue: FlushedQueue) -> Moments:
    """Service of the tuples before a random one in its release, a Poisson number of lists."""
    lists = as_vector(queue.batches_per_second) * as_vector(queue.flush_seconds)
    tuples, pairs, triples = queue.size.factorial_moments
    first, met = lists * tuples, as_vector(queue.met)
    second = lists * pairs + met * first**2
    third = lists * triples + 3.0 * met * first * lists * pairs + (met * first) ** 2 * first
    return _ahead((first, second, third), queue.service_seconds, queue.service_scv)


def backlog(queue: FlushedQueue) -> Moments:
    """Work that a release finds unfinished: the maximum of the walk of work less time.

    The work of a release has the cumulants of a compound Poisson variable.
    """
    lists = queue.met_per_second * as_vector(queue.flush_seconds)
    flush, first, second, third = np.broadcast_arrays(
        as_vector(queue.flush_seconds), *(lists * moment for moment in work_moments(queue))
    )
    stable = (first < flush) & (second > 0.0)
    drift = np.where(stable, flush - first, 1.0)
    spread = np.where(stable, second, 1.0)
    skew = np.where(stable, third, 1.0)
    found = find_maximum(
        Cumulants(-drift, spread, skew).times,
        drift=drift,
        spread=spread,
    )
    idle = np.where(first < flush, 0.0, np.inf)
    mean = as_vector(queue.wait_factor) * found.mean
    scv = divide_or(found.variance, found.mean**2, otherwise=0.0)
    scv = np.where(np.isnan(queue.wait_scv), scv, queue.wait_scv)
    return Moments(
        mean=np.where(stable, mean, idle), variance=np.where(stable, scv * mean**2, idle)
    )


def as_vector(value: ArrayLike) -> Vector:
    """Numbers as an array of floats."""
    return np.asarray(value, dtype=np.float64)


def divide_or(numerator: Vector, denominator: Vector, otherwise: float = np.inf) -> Vector:
    """The ratio where the denominator is positive, `otherwise` elsewhere."""
    above, below = as_vector(numerator), as_vector(denominator)
    # Asking numpy for the shape takes longer than a short division.
    alike = above.shape == below.shape
    shape = above.shape if alike else np.broadcast_shapes(above.shape, below.shape)
    rest = np.full(shape, otherwise)
    return np.asarray(np.divide(above, below, out=rest, where=below > 0.0))


def _times(factor: Vector, value: Vector) -> Vector:
    """The product; what is infinite stays so, whatever part of it is meant."""
    return np.asarray(
        np.where(np.isinf(value), value, factor * np.where(np.isinf(value), 0.0, value))
    )


def _added(*parts: Moments) -> Moments:
    """Moments of a sum of independent times."""
    mean, variance = parts[0].mean, parts[0].variance
    for part in parts[1:]:
        mean, variance = mean + part.mean, variance + part.variance
    return Moments(mean=np.asarray(mean), variance=np.asarray(variance))


def _check(least: float = 0.0, **figures: ArrayLike) -> None:
    findings = Findings()
    for name, figure in figures.items():
        values = as_vector(figure)
        wrong = ~(np.isfinite(values) & (values >= least))
        if wrong.any():
            findings.add(
                name, seen=f"{values[wrong].flat[0]:g}", expected=f"finite and at least {least:g}"
            )
    findings.raise_if_any()
