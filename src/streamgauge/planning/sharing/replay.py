"""Traffic replayed: what jobs of one cluster would have been worth under a policy.

The world is not the policy's own model. Its service times and exponents are drawn around what the
jobs declare, and what a policy sees is noisy and one window late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.planning.sharing.arrivals import Arrivals, Present
from streamgauge.planning.sharing.course import Acted, Course
from streamgauge.planning.sharing.fluid_job import FluidJob
from streamgauge.planning.sharing.fluid_world import FluidWorld, JobFlow
from streamgauge.planning.sharing.guarded import LIMIT_SECONDS, Guarded
from streamgauge.planning.sharing.observation import (
    ClusterSeen,
    Executors,
    JobSeen,
    MachineSeen,
    OperatorSeen,
)
from streamgauge.planning.sharing.policy import Decision, Policy
from streamgauge.planning.sharing.slo import Quality
from streamgauge.planning.sharing.surroundings import Surroundings

Vector = NDArray[np.float64]
# What is written down of every step and job.
FIGURES = ("share", "executors", "cores", "lag", "offered", "processed", "latency_seconds")


def replay(
    jobs: Sequence[FluidJob],
    offered: Mapping[str, Vector],
    machines: Sequence[float],
    policy: Policy,
    *,
    seed: int = 1,
    surroundings: Surroundings | None = None,
    limit_seconds: float = LIMIT_SECONDS,
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
        limit_seconds: For how long a decision of the policy is waited for.
    """
    around = surroundings or Surroundings()
    guarded = Guarded(policy, limit_seconds)
    arrivals = Arrivals(jobs, admission=around.admission)
    random = np.random.default_rng(seed)
    world = FluidWorld([_deviate(job, around, random) for job in jobs], around.downtime_seconds)
    watch = _Watch(world, jobs, around, random)
    steps = min(len(values) for values in offered.values())
    present = np.asarray(
        [[job.is_present(step * around.step_seconds) for job in jobs] for step in range(steps)]
    )
    course = {name: np.zeros((steps, len(jobs))) for name in FIGURES}
    rescales = dict.fromkeys((job.name for job in jobs), 0)
    acted: list[Acted] = []
    remarks = _note_gaps(offered, around.step_seconds)
    refused: tuple[str, ...] = ()
    load = dict.fromkeys((job.name for job in jobs), 0.0)
    late: ClusterSeen | None = None
    next_round = around.policies_from_seconds
    for step, wished in enumerate(present):
        at = step * around.step_seconds
        load = {name: _known(values[step], load[name]) for name, values in offered.items()}
        here = present[step] = arrivals.take_step(wished, at, load, late)
        for gone in np.flatnonzero(~here).tolist():
            world.clear(gone)
            load[jobs[gone].name] = 0.0
        whole, free = _find_cores(machines, around, at)
        for change in around.changes:
            if at <= change.at < at + around.step_seconds:
                world.apply(change.executors)
        if late is not None and at >= next_round:
            next_round = at + policy.period_seconds
            decision = guarded.decide(late)
            if decision.refused and decision.refused != refused:
                remarks.append(Acted(at=at, decision=decision))
            refused = decision.refused
            if decision.acts:
                acted.append(Acted(at=at, decision=decision))
                for name in world.apply(_of_present(decision.executors, jobs, here)):
                    rescales[name] += 1
        lag_before = world.lag.copy()
        flows = world.take_step(around.step_seconds, load, free)
        growth = (world.lag - lag_before) / around.step_seconds
        # What nobody will look at is not made.
        is_due = arrivals.waits or at + around.step_seconds >= next_round
        late = watch.look(flows, growth, whole, free, at, here) if is_due else None
        course["executors"][step] = np.where(here, world.counts, 0.0)
        for number, (job, flow) in enumerate(zip(jobs, flows, strict=True)):
            utility = job.slo.find_utility(flow.quality)
            # A job to which nothing comes misses nothing.
            part = 1.0 if utility is None else utility / job.slo.max_utility
            course["share"][step, number] = part
            course["cores"][step, number] = float(flow.cores.sum())
            course["lag"][step, number] = flow.lag
            course["offered"][step, number] = flow.offered_per_second
            course["processed"][step, number] = flow.processed_per_second
            latency = flow.quality.latency_seconds[job.slo.statistic]
            course["latency_seconds"][step, number] = latency
    return Course(
        policy=policy.name,
        seed=seed,
        jobs=tuple(job.name for job in jobs),
        step_seconds=around.step_seconds,
        begun_seconds=around.policies_from_seconds,
        present=present,
        **course,
        weights=np.asarray([job.slo.max_utility for job in jobs]),
        rescales=rescales,
        downtime_seconds=around.downtime_seconds * sum(rescales.values()),
        acted=_in_order([*acted, *arrivals.admitted]),
        remarks=_in_order([*remarks, *arrivals.waited]),
    )


def _in_order(happened: list[Acted]) -> tuple[Acted, ...]:
    return tuple(sorted(happened, key=lambda one: one.at))


def _note_gaps(offered: Mapping[str, Vector], step_seconds: float) -> list[Acted]:
    """Where traffic is not known from a step on, and for how long what was before goes on."""
    remarks = []
    for name, values in offered.items():
        edges = np.flatnonzero(np.diff(np.isnan(values), prepend=False, append=False))
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            length = float(end - begin) * step_seconds
            told = f"no traffic of {name} is known for {length:g} s: what was before goes on"
            decision = Decision(rule="gap", refused=(told,))
            remarks.append(Acted(at=float(begin) * step_seconds, decision=decision))
    return remarks


def _known(value: float, before: float) -> float:
    return before if np.isnan(value) else float(value)


def _of_present(executors: Executors, jobs: Sequence[FluidJob], here: Present) -> Executors:
    """Without jobs that left since the policy saw them."""
    names = {job.name for job, is_here in zip(jobs, here, strict=True) if is_here}
    return {name: changes for name, changes in executors.items() if name in names}


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
                exponent=float(random.uniform(around.least_exponent, around.most_exponent)),
            )
        )
    # What it can do with the executors that its figures hold for is what it declares.
    operators = [
        replace(one, skew=one.skew * one.executors ** (one.exponent - 1.0)) for one in operators
    ]
    return replace(job, operators=tuple(operators))


def _find_cores(
    machines: Sequence[float], around: Surroundings, at: float
) -> tuple[list[float], float]:
    """Cores of each machine that is there, the last ones fail first; and those that are free."""
    missing = sum(cores for begin, end, cores in around.failures if begin <= at < end)
    left = []
    for cores in reversed(machines):
        gone = min(missing, cores)
        missing -= gone
        if cores > gone:
            left.append(cores - gone)
    taken = sum(cores for begin, end, cores in around.background if begin <= at < end)
    # A cluster without any core has no answer; the last thread never stops.
    whole = left[::-1] or [1e-3]
    return whole, max(1e-3, sum(whole) - taken)


class _Watch:
    """What agents would report of steps."""

    def __init__(
        self,
        world: FluidWorld,
        jobs: Sequence[FluidJob],
        around: Surroundings,
        random: np.random.Generator,
    ) -> None:
        self._world = world
        self._jobs = jobs
        self._around = around
        self._random = random
        self._gains = [job.gains() for job in jobs]

    def look(
        self,
        flows: Sequence[JobFlow],
        growth: Vector,
        machines: Sequence[float],
        free: float,
        at: float,
        here: Present,
    ) -> ClusterSeen:
        """All jobs that are there, and machines."""
        executors = self._world.executors
        seen = {
            job.name: self._look_at(number, flows[number], executors, float(growth[number]))
            for number, job in enumerate(self._jobs)
            if here[number]
        }
        busy = sum(float(flow.cores.sum()) for flow in flows) * self._world.stretch
        threads = (busy + sum(machines) - free) / sum(machines)
        return ClusterSeen(
            at=at,
            jobs=seen,
            machines=tuple(MachineSeen(load=threads * cores, cores=cores) for cores in machines),
            stale=any(begin <= at < end for begin, end in self._around.outages),
        )

    def _look_at(self, number: int, flow: JobFlow, executors: Executors, growth: float) -> JobSeen:
        job, step_seconds = self._jobs[number], self._around.step_seconds
        noise = self._noise(3 * len(job.operators) + 1 + len(flow.quality.latency_seconds))
        gains = (self._gains[number] * flow.processed_per_second).tolist()
        processed = {one.name: rate for one, rate in zip(job.operators, gains, strict=True)}
        wanted = flow.offered_per_second + flow.lag / step_seconds
        held = max(0.0, 1.0 - flow.limit_per_second / wanted) if wanted > 0.0 else 0.0
        operators = {}
        for index, one in enumerate(job.operators):
            came = next(noise)
            operators[one.name] = OperatorSeen(
                executors=executors[job.name][one.name],
                tasks=one.tasks,
                is_source=one.is_source,
                executed={
                    parent: processed[parent] * times * came for parent, times in one.inputs.items()
                },
                sent_per_second=processed[one.name] * came,
                capacity=min(1.0, next(noise) * float(flow.utilisation[index])),
                cores=next(noise) * float(flow.cores[index]),
                held_back=held if index == flow.bottleneck else 0.0,
            )
        quality = flow.quality
        return JobSeen(
            slo=job.slo,
            operators=operators,
            offered_per_second=next(noise) * flow.offered_per_second,
            lag=flow.lag,
            lag_per_second=growth,
            quality=Quality(
                latency_seconds={
                    name: next(noise) * value for name, value in quality.latency_seconds.items()
                },
                juice=quality.juice,
            ),
        )

    def _noise(self, count: int) -> Iterator[float]:
        """Factors by which figures are off."""
        drawn: list[float] = np.exp(self._random.normal(0.0, self._around.noise, count)).tolist()
        return iter(drawn)
