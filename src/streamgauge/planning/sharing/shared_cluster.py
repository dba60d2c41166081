"""A cluster that jobs share: its machines, and each job with its objective and traffic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InvalidInput
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.parameters import find_parameters
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.planning.sharing.course import Course
from streamgauge.planning.sharing.fluid_job import FluidJob
from streamgauge.planning.sharing.offered import HOUR, Offered
from streamgauge.planning.sharing.policy import Policy
from streamgauge.planning.sharing.replay import replay
from streamgauge.planning.sharing.slo import Slo
from streamgauge.planning.sharing.surroundings import Surroundings
from streamgauge.profile.job import Job
from streamgauge.topology.frozen import FrozenDict


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedJob:
    """One job.

    Attributes:
        job: With its workload, from which routing shares follow.
        offered: What comes to it.
        executors: That it begins with, by operator; those of the job where none are given.
        tasks: Executors that operators can have at most, where they are fewer than the job's.
        hours: From when to when it is there.
    """

    name: str
    job: Job
    slo: Slo
    offered: Offered
    executors: Mapping[str, int] = field(default_factory=FrozenDict)
    tasks: Mapping[str, int] = field(default_factory=FrozenDict)
    hours: tuple[float, float] = (0.0, math.inf)

    def as_fluid(self) -> FluidJob:
        """What flows through it by what it declares."""
        return self.with_flow(self.find_flow())

    def find_flow(self) -> FluidJob:
        """The same as its job's file has it."""
        if self.job.workload is None:
            raise InvalidInput.single(
                (self.name,),
                seen="a job without a workload",
                expected="what its sources emit, which says how its input divides among them",
            )
        try:
            parameters = find_parameters(
                JobBehaviour.from_job(self.job), place_job(self.job).plan, self.job.workload
            )
            return FluidJob.of(self.name, self.slo, parameters)
        except InvalidInput as error:
            raise error.below("jobs", self.name) from None

    def with_flow(self, fluid: FluidJob) -> FluidJob:
        """This one of several with the same job."""
        return replace(
            fluid,
            name=self.name,
            slo=self.slo,
            operators=tuple(
                replace(one, tasks=min(one.tasks, self.tasks.get(one.name, one.tasks)))
                for one in fluid.operators
            ),
            begins=self.executors,
            present=(self.hours[0] * HOUR, self.hours[1] * HOUR),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCluster:
    """Everything that a replay needs but the policy and the seed.

    Attributes:
        machines: Cores of each.
        hours: How long it lasts.
        policies: Those that are to be compared; all where none are named.
        price_per_executor_hour: What an executor costs, whether it works or not.
    """

    name: str
    about: str = ""
    machines: tuple[float, ...]
    jobs: tuple[SharedJob, ...]
    hours: float
    policies: tuple[str, ...] = ()
    price_per_executor_hour: float = 0.0
    surroundings: Surroundings = field(default_factory=Surroundings)

    @property
    def has_price(self) -> bool:
        """Whether executors cost anything."""
        return self.price_per_executor_hour > 0.0

    def as_fluids(self) -> list[FluidJob]:
        """All jobs; what flows through one is found once for all that are alike."""
        found: list[tuple[Job, FluidJob]] = []
        fluids = []
        for one in self.jobs:
            flow = next((flow for job, flow in found if job == one.job), None)
            if flow is None:
                flow = one.find_flow()
                found.append((one.job, flow))
            fluids.append(one.with_flow(flow))
        return fluids

    def times(self) -> NDArray[np.float64]:
        """When steps begin, in seconds."""
        step = self.surroundings.step_seconds
        return np.arange(0.0, self.hours * HOUR, step)

    def replay(self, policies: Sequence[Policy], seed: int) -> list[Course]:
        """The same traffic in the same world under each policy."""
        jobs = self.as_fluids()
        times = self.times()
        offered = {one.name: one.offered.at(times) for one in self.jobs}
        return [
            replay(
                jobs,
                offered,
                self.machines,
                policy,
                seed=seed,
                surroundings=self.surroundings,
            )
            for policy in policies
        ]
