"""Traffic replayed: what jobs of one cluster would have been worth under a policy.

The world is not the policy's own model. Its service times and exponents are drawn around what the
jobs declare, and what a policy sees is noisy and one window late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings
from streamgauge.planning.sharing.fluid_job import FluidJob
from streamgauge.planning.sharing.fluid_world import FluidWorld, JobFlow
from streamgauge.planning.sharing.observation import (
    ClusterSeen,
    JobSeen,
    MachineSeen,
    OperatorSeen,
)
from streamgauge.planning.sharing.policy import Decision, Policy
from streamgauge.planning.sharing.slo import Quality
from streamgauge.topology.field_checks import check_number

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What policies are up against.

    Attributes:
        step_seconds: Of the world, and the window of what policies see.
        downtime_seconds: For how long a job stands still whose executors change.
        service_error: Standard deviation of ln(true service time / declared one).
        least_exponent: Executors do more by their number to a power from this one to 1.
        noise: Standard deviation of ln(seen / true) of every figure that policies see.
        outages: Times (from, to) in seconds in which metrics do not arrive.
        failures: Times (from, to, cores) in which so many cores are missing.
    """

    step_seconds: float = 10.0
    downtime_seconds: float = 30.0
    service_error: float = 0.1
    least_exponent: float = 0.7
    noise: float = 0.05
    outages: tuple[tuple[float, float], ...] = ()
    failures: tuple[tuple[float, float, float], ...] = ()

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.step_seconds, "step_seconds", above=0.0)
        check_number(findings, self.downtime_seconds, "downtime_seconds")
        check_number(findings, self.service_error, "service_error", most=1.0)
        check_number(findings, self.least_exponent, "least_exponent", above=0.0, most=1.0)
        check_number(findings, self.noise, "noise", most=1.0)
        findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """A decision that changed something."""

    at: float
    decision: Decision


@dataclass(frozen=True, kw_only=True, eq=False)
class Course:
    """What happened under one policy; arrays have a row for each step and a column for each job.

    Attributes:
        share: Utility over its maximum.
        met: Whether the objective was met.
        executors: That jobs had.
        cores: That jobs used.
        lag: Tuples left over.
        weights: Maximum utility by job.
        rescales: Changes of executors by job.
        acted: All decisions that changed something.
    """

    policy: str
    seed: int
    jobs: tuple[str, ...]
    step_seconds: float
    share: Vector
    met: NDArray[np.bool_]
    executors: Vector
    cores: Vector
    lag: Vector
    weights: Vector
    rescales: Mapping[str, int]
    downtime_seconds: float
    acted: tuple[Acted, ...] = field(default=())

    @property
    def system(self) -> Vector:
        """Satisfaction of the system in every step: its utility over the highest."""
        found: Vector = self.share @ self.weights / self.weights.sum()
        return found

    @property
    def hours(self) -> float:
        """How long it took."""
        return len(self.share) * self.step_seconds / 3600.0

    @property
    def satisfaction(self) -> float:
        """Mean of it."""
        return float(self.system.mean())

    @property
    def violations(self) -> float:
        """Part of the jobs' time in which an objective was missed."""
        return float(1.0 - self.met.mean())

    @property
    def executor_hours(self) -> float:
        """Executors that jobs had, over time."""
        return float(self.executors.sum()) * self.step_seconds / 3600.0

    @property
    def core_hours(self) -> float:
        """Cores that jobs used, over time."""
        return float(self.cores.sum()) * self.step_seconds / 3600.0

    @property
    def converged_seconds(self) -> float:
        """From when on the system was worth 95 % of its final worth and more, for good.

        The final worth is the mean of the last tenth; NaN where that is nothing.
        """
        system = self.system
        final = float(system[-max(1, len(system) // 10) :].mean())
        if final <= 0.0:
            return float("nan")
        below = np.flatnonzero(system < 0.95 * final)
        return float(below[-1] + 1) * self.step_seconds if len(below) else 0.0


def replay(
    jobs: Sequence[FluidJob],
    offered: Mapping[str, Vector],
    machines: Sequence[float],
    policy: Policy,
    *,
    seed: int = 1,
    surroundings: Surroundings | None = None,
) -> Course:
    """The whole traffic under one policy.

    Args:
        jobs: What shares the cluster, with the executors that they begin with.
        offered: Tuples per second that are due, by job and step; NaN where nothing is known, which
            repeats what was before.
        machines: Cores of each.
        policy: Fresh: what it remembers is of this replay.
        seed: Of the world's deviations from the jobs, and of noise.
        surroundings: What the policy is up against.
    """
    around = surroundings or Surroundings()
    random = np.random.default_rng(seed)
    world = FluidWorld([_deviate(job, around, random) for job in jobs], around.downtime_seconds)
    steps = min(len(values) for values in offered.values())
    course = {name: np.zeros((steps, len(jobs))) for name in ("share", "met", "executors")}
    cores_used, lag = np.zeros((steps, len(jobs))), np.zeros((steps, len(jobs)))
    rescales = dict.fromkeys((job.name for job in jobs), 0)
    acted: list[Acted] = []
    load = dict.fromkeys((job.name for job in jobs), 0.0)
    late: ClusterSeen | None = None
    next_round = 0.0
    for step in range(steps):
        at = step * around.step_seconds
        load = {name: _known(values[step], load[name]) for name, values in offered.items()}
        available = _find_cores(machines, around, at)
        if late is not None and at >= next_round:
            next_round = at + policy.period_seconds
            decision = policy.decide(late)
            if decision.acts:
                acted.append(Acted(at=at, decision=decision))
                for name in world.apply(decision.executors):
                    rescales[name] += 1
        lag_before = world.lag.copy()
        flows = world.take_step(around.step_seconds, load, sum(available))
        growth = (world.lag - lag_before) / around.step_seconds
        # What nobody will look at is not made.
        late = (
            _observe(world, jobs, flows, growth, available, around, at, random)
            if at + around.step_seconds >= next_round
            else None
        )
        course["executors"][step] = world.counts
        for number, (job, flow) in enumerate(zip(jobs, flows, strict=True)):
            utility = job.slo.find_utility(flow.quality)
            # A job to which nothing comes misses nothing.
            part = 1.0 if utility is None else utility / job.slo.max_utility
            course["share"][step, number] = part
            course["met"][step, number] = part >= 1.0
            cores_used[step, number] = float(flow.cores.sum())
            lag[step, number] = flow.lag
    return Course(
        policy=policy.name,
        seed=seed,
        jobs=tuple(job.name for job in jobs),
        step_seconds=around.step_seconds,
        share=course["share"],
        met=course["met"] > 0.0,
        executors=course["executors"],
        cores=cores_used,
        lag=lag,
        weights=np.asarray([job.slo.max_utility for job in jobs]),
        rescales=rescales,
        downtime_seconds=around.downtime_seconds * sum(rescales.values()),
        acted=tuple(acted),
    )


def _known(value: float, before: float) -> float:
    return before if np.isnan(value) else float(value)


def _deviate(job: FluidJob, around: Surroundings, random: np.random.Generator) -> FluidJob:
    """The job as it really is."""
    operators = []
    for one in job.operators:
        factor = float(np.exp(random.normal(0.0, around.service_error)))
        operators.append(
            replace(
                one,
                cpu_seconds=one.cpu_seconds * factor,
                wait_seconds=one.wait_seconds * factor,
                exponent=float(random.uniform(around.least_exponent, 1.0)),
            )
        )
    # What it can do with the executors that it begins with is what it declares.
    operators = [
        replace(one, skew=one.skew * one.executors ** (one.exponent - 1.0)) for one in operators
    ]
    return replace(job, operators=tuple(operators))


def _find_cores(machines: Sequence[float], around: Surroundings, at: float) -> list[float]:
    """Cores of each machine; those that are missing are the last ones'."""
    missing = sum(cores for begin, end, cores in around.failures if begin <= at < end)
    left = []
    for cores in reversed(machines):
        gone = min(missing, cores)
        missing -= gone
        if cores > gone:
            left.append(cores - gone)
    # A cluster without any core has no answer; the last thread never stops.
    return left[::-1] or [1e-3]


def _observe(
    world: FluidWorld,
    jobs: Sequence[FluidJob],
    flows: Sequence[JobFlow],
    growth: Vector,
    machines: Sequence[float],
    around: Surroundings,
    at: float,
    random: np.random.Generator,
) -> ClusterSeen:
    """What agents would report of the step."""

    def blur(value: float) -> float:
        return value * float(np.exp(random.normal(0.0, around.noise)))

    seen = {}
    all_executors = world.executors
    for number, (job, flow) in enumerate(zip(jobs, flows, strict=True)):
        executors = all_executors[job.name]
        gains = job.gains() * flow.processed_per_second
        processed = {one.name: float(rate) for one, rate in zip(job.operators, gains, strict=True)}
        operators = {}
        wanted = flow.offered_per_second + flow.lag / around.step_seconds
        held = max(0.0, 1.0 - flow.limit_per_second / wanted) if wanted > 0.0 else 0.0
        for index, one in enumerate(job.operators):
            noise = blur(1.0)
            operators[one.name] = OperatorSeen(
                executors=executors[one.name],
                tasks=one.tasks,
                is_source=one.is_source,
                executed={
                    parent: processed[parent] * times * noise
                    for parent, times in one.inputs.items()
                },
                sent_per_second=processed[one.name] * noise,
                capacity=min(1.0, blur(float(flow.utilisation[index]))),
                cores=blur(float(flow.cores[index])),
                held_back=held if index == flow.bottleneck else 0.0,
            )
        quality = flow.quality
        seen[job.name] = JobSeen(
            slo=job.slo,
            operators=operators,
            offered_per_second=blur(flow.offered_per_second),
            lag=flow.lag,
            lag_per_second=float(growth[number]),
            quality=Quality(
                latency_seconds={
                    name: blur(value) for name, value in quality.latency_seconds.items()
                },
                juice=quality.juice,
            ),
        )
    threads = sum(float(flow.cores.sum()) for flow in flows) * world.stretch / sum(machines)
    return ClusterSeen(
        at=at,
        jobs=seen,
        machines=tuple(MachineSeen(load=threads * cores, cores=cores) for cores in machines),
        stale=any(begin <= at < end for begin, end in around.outages),
    )
