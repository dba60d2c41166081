"""What is asked for: a job under its load, an objective, and what a plan may not do."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from streamgauge.errors import Findings, did_you_mean
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.objectives import Objective
from streamgauge.models.prediction import FULL
from streamgauge.planning.scheduling.contract import Expected
from streamgauge.planning.scheduling.job_placement import expected_of
from streamgauge.profile.job import Job
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.configuration import MAX_WORKERS
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import MAX_TASKS
from streamgauge.topology.workload import Workload
from streamgauge.transport.chaining import Chaining, find_chaining


class Minimise(StrEnum):
    """What is to be as little as possible; the others decide between equals, in this order.

    EXECUTORS: Threads of operators, sources included, ackers not.
    WORKERS: Processes.
    MACHINES: Nodes in use.
    MONEY: The price of machines that are bought for the plan; while executors are looked for, cores
        that they keep busy stand for it.
    """

    EXECUTORS = "executors"
    WORKERS = "workers"
    MACHINES = "machines"
    MONEY = "money"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a plan may not do.

    Attributes:
        keep: Operators whose executors stay as they are.
        at_most: Executors by operator, such as the partitions that a source reads.
        max_change: By how many executors an operator may change; None: by any.
        max_workers: None: as many as there are slots.
        utilisation: Part of a machine's cores that the job and its engine may keep busy, others
            included, threads that poll not.
    """

    keep: frozenset[str] = frozenset()
    at_most: Mapping[str, int] = field(default_factory=FrozenDict)
    max_change: int | None = None
    max_workers: int | None = None
    utilisation: float = FULL

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", frozenset(self.keep))
        object.__setattr__(self, "at_most", FrozenDict(self.at_most))
        with Findings() as findings:
            for name, most in self.at_most.items():
                check_whole(findings, most, "--at-most", name, most=MAX_TASKS)
            if self.max_change is not None:
                check_whole(findings, self.max_change, "--max-change", least=0)
            if self.max_workers is not None:
                check_whole(findings, self.max_workers, "--max-workers", most=MAX_WORKERS)
            check_number(findings, self.utilisation, "--utilisation", above=0.0, most=1.0)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How few and how many executors an operator may have."""

    least: int
    most: int


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A job that needs a plan.

    Attributes:
        job: With a cluster and the load to plan for; as configured now.
        behaviour: What its operators do.
        objective: What the plan is to reach.
        current: The plan it has now, or would have as it is configured; None where none fits.
        is_submitted: Whether it runs already: its tasks and ackers are then fixed.
        minimise: What is to be as little as possible.
        taken: Slots that other jobs use.
    """

    job: Job
    behaviour: JobBehaviour
    objective: Objective
    limits: Limits = field(default_factory=Limits)
    current: PhysicalPlan | None = None
    is_submitted: bool = True
    minimise: Minimise = Minimise.EXECUTORS
    taken: frozenset[Slot] = frozenset()

    def __post_init__(self) -> None:
        # Steps and a plan by hand are of no use here, and would be checked again with each trial.
        object.__setattr__(self, "job", replace(self.job, plan=None, steps={}))
        self._check()

    @property
    def cluster(self) -> Cluster:
        """Where it may run."""
        assert self.job.cluster is not None
        return self.job.cluster

    @property
    def workload(self) -> Workload:
        """The load to plan for."""
        assert self.job.workload is not None
        return self.job.workload

    @cached_property
    def offered_per_second(self) -> float:
        """What all sources are to emit together."""
        return math.fsum(one.per_second or 0.0 for one in self.workload.emissions)

    @cached_property
    def required_per_second(self) -> float:
        """The highest rate that a plan has to carry."""
        return self.objective.find_least_rate(self.offered_per_second)

    @cached_property
    def required_workload(self) -> Workload:
        """The load at that rate."""
        return self.workload.times(self.required_per_second / self.offered_per_second)

    @cached_property
    def expected(self) -> Expected:
        """What schedulers may know: rates and cores do not depend on executors."""
        return expected_of(self.behaviour, self.job.configuration, self.required_workload)

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Operators that have their executors together: alone, or a chain."""
        chains = {} if self._chaining is None else self._chaining.chains
        first = {names[0]: tuple(names) for names in chains.values()}
        inner = {name for names in chains.values() for name in names[1:]}
        names = (one.name for one in self.job.topology.operators if one.name not in inner)
        return tuple(first.get(name, (name,)) for name in names)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What models call each group."""
        name_of = {} if self._chaining is None else self._chaining.name_of
        return tuple(name_of.get(group[0], group[0]) for group in self.groups)

    @cached_property
    def bounds(self) -> tuple[Bounds, ...]:
        """How many executors each group may have."""
        return tuple(self._bound(group) for group in self.groups)

    @cached_property
    def present(self) -> tuple[int, ...]:
        """Executors of each group now."""
        return tuple(self.job.configuration.executors_of(group[0]) for group in self.groups)

    @cached_property
    def _chaining(self) -> Chaining | None:
        return find_chaining(self.job.topology, self.job.configuration)

    @property
    def free_slots(self) -> int:
        """Slots that no other job uses."""
        return sum(slot not in self.taken for slot in self.cluster.slots)

    def _bound(self, group: tuple[str, ...]) -> Bounds:
        least, most = 1, MAX_TASKS
        for name in group:
            most = min(most, self._tasks[name], self.limits.at_most.get(name, most))
            now = self.job.configuration.executors_of(name)
            if name in self.limits.keep:
                least, most = max(least, now), min(most, now)
            if self.limits.max_change is not None:
                least = max(least, now - self.limits.max_change)
                most = min(most, now + self.limits.max_change)
        return Bounds(least, most)

    @cached_property
    def _tasks(self) -> dict[str, int]:
        return {one.name: one.tasks for one in self.job.topology.operators}

    def _check(self) -> None:
        """Raise InvalidInput where limits name nobody or contradict each other."""
        findings = Findings()
        if self.job.cluster is None:
            findings.add("cluster", seen="no cluster", expected="machines to plan on")
        if self.job.workload is None or not self.offered_per_second > 0.0:
            expected = "tuples per second of the sources: --rate, or a workload in the file"
            findings.add("--rate", seen="no rate", expected=expected)
        for option, names in (("--keep", self.limits.keep), ("--at-most", self.limits.at_most)):
            self._check_names(findings, option, names)
        if any(goal.scope == "complete" for goal in self.objective.latencies):
            self._check_acked(findings)
        findings.raise_if_any()
        for wrong in self._contradictions():
            findings.add("--at-most", **wrong)
        findings.raise_if_any()

    def _check_names(self, findings: Findings, option: str, names: Collection[str]) -> None:
        known = list(self._tasks)
        for name in sorted(set(names) - set(known)):
            findings.add(
                option,
                seen=f"{name!r}",
                expected=f"an operator of topology {self.job.topology.name!r}",
                remedy=did_you_mean(name, known),
            )

    def _check_acked(self, findings: Findings) -> None:
        if not self.job.topology.with_ackers(self.job.configuration.acker_count).has_ackers:
            findings.add(
                "--objective",
                seen=f"'{self.objective}' for a topology without acknowledgements",
                expected="a latency of tuples, such as p99<50ms: nobody knows when trees are done",
            )

    def _contradictions(self) -> Iterator[dict[str, str]]:
        for group, bounds in zip(self.groups, self.bounds, strict=True):
            if bounds.least > bounds.most:
                now = self.job.configuration.executors_of(group[0])
                yield {
                    "seen": f"{' and '.join(group)}: at most {bounds.most}, but at least"
                    f" {bounds.least} by --keep or --max-change, as it has {now} now",
                    "expected": "limits that leave a number of executors",
                    "remedy": "allow a larger change, or leave out the operator from --keep",
                }
