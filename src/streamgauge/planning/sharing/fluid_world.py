"""Jobs that share cores, as fluids, step by step: throughput, backlog, latency and CPU of each.

What a world does in a step: a job processes what is due and what is left over, as far as its
slowest operator can (back-pressure holds everything before it back); the rest is backlog at its
sources. An operator of n executors can do n^e / (CPU × stretch + waiting) tuples per second. The
cores are one pool, and all time on them is stretched by what an M/M/c queue of c cores makes of a
job (Sakasegawa's approximation): 1 + ρ^(√(2(c+1)) − 1) / (c (1 − ρ)). Every executor is an M/M/1
queue. A job whose executors change stands still for a while.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from streamgauge.planning.sharing.fluid_job import FluidJob
from streamgauge.planning.sharing.observation import Executors
from streamgauge.planning.sharing.slo import Quality, Statistic
from streamgauge.topology.frozen import FrozenDict

Vector = NDArray[np.float64]

# An executor that is busier than this has its queue full: what comes then waits at the source.
FULL = 0.98
LEVELS = {Statistic.P50: 0.5, Statistic.P95: 0.95, Statistic.P99: 0.99}
# Seconds of work of a job that has none.
TINY = 1e-15
# Stretches are looked for up to this one, and halved so often.
MOST_STRETCH, HALVINGS = 1e4, 26


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFlow:
    """What one job did in a step.

    Attributes:
        offered_per_second: What was due.
        processed_per_second: What was taken in.
        limit_per_second: What could have been.
        lag: Tuples left over at the end.
        utilisation: By operator: of its busiest executor, that waits for cores included.
        cores: By operator.
        bottleneck: Place of the operator that is full first.
        quality: Latency since tuples were due, and processed over offered.
    """

    offered_per_second: float
    processed_per_second: float
    limit_per_second: float
    lag: float
    utilisation: Vector
    cores: Vector
    bottleneck: int
    quality: Quality


class FluidWorld:
    """Jobs with their backlogs and executors.

    Args:
        jobs: All of them.
        downtime_seconds: For how long a job stands still whose executors change.
    """

    def __init__(self, jobs: Sequence[FluidJob], downtime_seconds: float) -> None:
        self.jobs = tuple(jobs)
        self.downtime_seconds = downtime_seconds
        operators = [one for job in self.jobs for one in job.operators]
        self._sizes = [len(job.operators) for job in self.jobs]
        self._starts = np.cumsum([0, *self._sizes])[:-1]
        self._gains = np.concatenate([job.gains() for job in self.jobs])
        self._visits = np.concatenate([job.visits() for job in self.jobs])
        self._cpu = np.asarray([one.cpu_seconds for one in operators])
        self._wait = np.asarray([one.wait_seconds for one in operators])
        self._exponent = np.asarray([one.exponent for one in operators])
        self._skew = np.asarray([one.skew for one in operators])
        self._tasks = np.asarray([one.tasks for one in operators], dtype=np.int64)
        begins = [
            job.begins.get(one.name, one.executors) for job in self.jobs for one in job.operators
        ]
        self._count = np.minimum(np.asarray(begins, dtype=np.int64), self._tasks)
        self._able = self._find_able()
        self._cpu_of_job = np.add.reduceat(self._gains * self._cpu, self._starts)
        self.lag = np.zeros(len(self.jobs))
        self._down = np.zeros(len(self.jobs))
        self._stretch = 1.0

    @property
    def executors(self) -> Executors:
        """By job and operator."""
        return FrozenDict(
            {
                job.name: FrozenDict(
                    {
                        one.name: int(count)
                        for one, count in zip(job.operators, self._count[here], strict=True)
                    }
                )
                for job, here in self._slices()
            }
        )

    @property
    def counts(self) -> Vector:
        """Executors by job."""
        return np.asarray(np.add.reduceat(self._count, self._starts), dtype=np.float64)

    @property
    def stretch(self) -> float:
        """How much longer time on a core takes than it would alone, in the last step."""
        return self._stretch

    def apply(self, changes: Executors) -> list[str]:
        """Change executors; the jobs that now stand still."""
        restarted = []
        for number, (job, here) in enumerate(self._slices()):
            wanted = changes.get(job.name, {})
            new = np.asarray([wanted.get(one.name, 0) for one in job.operators])
            new = np.where(new > 0, np.minimum(new, self._tasks[here]), self._count[here])
            if (new != self._count[here]).any():
                self._count[here] = new
                self._down[number] = self.downtime_seconds
                restarted.append(job.name)
        self._able = self._find_able()
        return restarted

    def clear(self, number: int) -> None:
        """Forget what a job has left over: it is gone."""
        self.lag[number] = self._down[number] = 0.0

    def take_step(
        self, seconds: float, offered: Mapping[str, float], cores: float
    ) -> list[JobFlow]:
        """Let time pass; jobs without an entry get nothing."""
        due = np.asarray([offered.get(job.name, 0.0) for job in self.jobs])
        up = np.clip(1.0 - self._down / seconds, 0.0, 1.0)
        wanted = due + self.lag / seconds
        self._stretch = self._find_stretch(wanted, up, cores)
        limit = self._limit(self._stretch)
        processed = np.minimum(wanted, limit * up)
        self.lag = np.maximum(0.0, self.lag + (due - processed) * seconds)
        waiting = self.lag / np.maximum(limit, 1e-12) + np.maximum(0.0, self._down - seconds)
        self._down = np.maximum(0.0, self._down - seconds)
        return self._describe(due, processed, limit, np.where(self.lag > 0, waiting, 0.0))

    def _find_able(self) -> Vector:
        """Executors of every operator as if each did as much as one alone."""
        return np.asarray(self._count**self._exponent / self._skew, dtype=np.float64)

    def _limit(self, stretch: float) -> Vector:
        """What every job could take in."""
        service = self._gains * (self._cpu * stretch + self._wait)
        return np.minimum.reduceat(self._able / np.maximum(service, TINY), self._starts)

    def _find_stretch(self, wanted: Vector, up: Vector, cores: float) -> float:
        """Where what threads do to each other and what they then can do agree."""
        low, high = 0.0, float(np.log(MOST_STRETCH))
        power = np.sqrt(2.0 * (cores + 1.0)) - 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            stretch = float(np.exp(middle))
            processed = np.minimum(wanted, self._limit(stretch) * up)
            busy = float(processed @ self._cpu_of_job) / cores
            crowd = np.inf if busy >= 1.0 else 1.0 + busy**power / (cores * (1.0 - busy))
            low, high = (middle, high) if crowd > stretch else (low, middle)
        return float(np.exp(0.5 * (low + high)))

    def _describe(
        self, due: Vector, processed: Vector, limit: Vector, waiting: Vector
    ) -> list[JobFlow]:
        service = self._cpu * self._stretch + self._wait
        came = np.repeat(processed, self._sizes) * self._gains
        utilisation = came * service / self._able
        load = self._gains * service / self._able
        sojourn = service / (1.0 - np.minimum(utilisation, FULL))
        mean = np.add.reduceat(self._visits * sojourn, self._starts)
        variance = np.add.reduceat(self._visits * sojourn**2, self._starts)
        quantiles = _find_quantiles(mean, variance)
        flows = []
        for number, (_, here) in enumerate(self._slices()):
            latency = {Statistic.MEAN: float(mean[number] + waiting[number])}
            for statistic, values in quantiles.items():
                latency[statistic] = float(values[number] + waiting[number])
            offered = float(due[number])
            flows.append(
                JobFlow(
                    offered_per_second=offered,
                    processed_per_second=float(processed[number]),
                    limit_per_second=float(limit[number]),
                    lag=float(self.lag[number]),
                    utilisation=utilisation[here],
                    cores=came[here] * self._cpu[here],
                    bottleneck=int(np.argmax(load[here])),
                    quality=Quality(
                        latency_seconds=FrozenDict(latency),
                        juice=float(processed[number]) / offered if offered > 0.0 else None,
                    ),
                )
            )
        return flows

    def _slices(self) -> list[tuple[FluidJob, slice]]:
        ends = [*self._starts[1:], len(self._count)]
        return [
            (job, slice(int(begin), int(end)))
            for job, begin, end in zip(self.jobs, self._starts, ends, strict=True)
        ]


def _find_quantiles(mean: Vector, variance: Vector) -> dict[Statistic, Vector]:
    """Of gamma distributions with these moments."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shape = np.where(variance > 0.0, mean**2 / variance, np.inf)
        return {
            statistic: np.where(np.isfinite(shape), mean / shape * gammaincinv(shape, level), mean)
            for statistic, level in LEVELS.items()
        }
