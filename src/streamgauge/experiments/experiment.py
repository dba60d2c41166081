"""Experiments: steps of a job, how long each is measured, and how often."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from streamgauge.engines.runner import WarmUp
from streamgauge.errors import Findings, InvalidInput
from streamgauge.experiments.studies import Study
from streamgauge.planning.scheduling.contract import Schedule
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.job import Assignment, Job
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.field_checks import check_name, check_number, check_whole

MOST_SEED = 2**32
# How many windows a single run is divided into: the first of these that makes them whole seconds.
WINDOWS_OF_ONE_RUN = (5, 4, 3, 2, 1)
# Of two windows before measuring: none differ more than this.
ANY_AGREEMENT = 1e9


class Turn(NamedTuple):
    """One repetition of a step, counted from one."""

    step: str
    repetition: int

    def __str__(self) -> str:
        return f"{self.step}, repetition {self.repetition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marking:
    """By which rule windows are marked and left out of the truth; fixed before measuring.

    Attributes:
        stolen_share: Part of a machine's time that its host gave to others, at most.
        collection_seconds: Garbage collections of a worker within one bucket, at most.
        coverage: Part of the window in which every worker reported, at least.
    """

    stolen_share: float = 0.02
    collection_seconds: float = 0.2
    coverage: float = 0.9

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.stolen_share, "stolen_share", most=1.0)
        check_number(findings, self.collection_seconds, "collection_seconds")
        check_number(findings, self.coverage, "coverage", most=1.0)
        findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentStep:
    """What runs in a step.

    Attributes:
        placement: A scheduler by name, or a plan by hand; the job's own where neither is given.
    """

    name: str
    job: Job
    placement: str | Assignment | None = None

    def schedule(self, asked: Cluster, got: Cluster | None = None) -> Schedule:
        """The step's plan.

        Args:
            asked: The cluster that the experiment describes, whose slots a plan by hand names.
            got: The cluster that there is; its nodes and slots take the places of those asked
                for, in their order.
        """
        cluster = got or asked
        plan = self.job.plan if self.placement is None else self.placement
        if isinstance(plan, Assignment):
            moved = plan if got is None else _move_plan(plan, asked, got)
            return place_job(replace(self.job, cluster=cluster, plan=moved))
        return place_job(replace(self.job, cluster=cluster, plan=None), plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Steps that are measured alike.

    Attributes:
        steps: In the order of reports.
        bucket_seconds: Time that one sample spans.
        shuffled: Whether each round of all steps is in an order of its own.
        seed: Of the order, and of everything random in the steps.
        clean_start: Whether each repetition has an engine of its own, that begins with nothing.
        cool_down_seconds: How long the load goes on after the last window; that does not count.
        engine_statistics: Whether queues, messages between workers and memory are figures too.
        study: What the steps are about, where it is one of those that are known.
    """

    name: str
    steps: tuple[ExperimentStep, ...]
    cluster: Cluster
    warm_up: WarmUp = field(default_factory=WarmUp)
    windows: int = 5
    window_seconds: float = 30.0
    bucket_seconds: float = 1.0
    repetitions: int = 5
    shuffled: bool = True
    seed: int = 1
    clean_start: bool = False
    cool_down_seconds: float = 0.0
    engine_statistics: bool = False
    marking: Marking = field(default_factory=Marking)
    study: Study | None = None
    about: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))
        findings = Findings()
        check_name(findings, self.name, "experiment")
        check_whole(findings, self.windows, "windows")
        check_whole(findings, self.repetitions, "repetitions")
        check_number(findings, self.cool_down_seconds, "cool_down_seconds")
        check_whole(findings, self.seed, "seed", least=0, most=MOST_SEED)
        fine = check_number(findings, self.bucket_seconds, "bucket_seconds", above=0.0)
        if check_number(findings, self.window_seconds, "window_seconds", above=0.0) and fine:
            self._check_buckets(findings)
        self._check_steps(findings)
        findings.raise_if_any()

    @classmethod
    def of_one_run(cls, job: Job, *, seconds: int, warmup: int, seed: int) -> Experiment:
        """A job that runs once; the warm-up ends when its time is over, whatever was measured."""
        windows = next(number for number in WINDOWS_OF_ONE_RUN if seconds % number == 0)
        return cls(
            name=job.topology.name,
            steps=(ExperimentStep(name="run", job=job),),
            cluster=job.cluster or Cluster.uniform(nodes=job.configuration.workers),
            warm_up=WarmUp(
                seconds=warmup, calls=0, agreement=ANY_AGREEMENT, most_seconds=max(warmup, 1)
            ),
            windows=windows,
            window_seconds=seconds / windows,
            repetitions=1,
            seed=seed,
        )

    @property
    def windows_run(self) -> int:
        """Windows of a repetition, with those of the cool-down, which do not count."""
        return self.windows + math.ceil(self.cool_down_seconds / self.window_seconds - 1e-9)

    def step(self, name: str) -> ExperimentStep:
        """The step of that name."""
        return next(step for step in self.steps if step.name == name)

    def turns(self) -> list[Turn]:
        """Every repetition of every step, in the order in which they are run.

        Each round has every step once, so that what was measured up to an interruption is
        balanced, and a drift of the machine falls on all steps alike.
        """
        names = [step.name for step in self.steps]
        generator = np.random.default_rng(self.seed)
        turns = []
        for repetition in range(1, self.repetitions + 1):
            order = generator.permutation(len(names)) if self.shuffled else range(len(names))
            turns += [Turn(names[place], repetition) for place in order]
        return turns

    def seed_of(self, turn: Turn) -> int:
        """The seed of a repetition: its own, and the same whenever it is run."""
        place = [step.name for step in self.steps].index(turn.step)
        drawn = np.random.SeedSequence([self.seed, place, turn.repetition]).generate_state(1)
        return int(drawn[0])

    def _check_buckets(self, findings: Findings) -> None:
        parts = self.window_seconds / self.bucket_seconds
        if abs(parts - round(parts)) > 1e-6 or round(parts) < 1:
            findings.add(
                "window_seconds",
                seen=f"{self.window_seconds:g} s in buckets of {self.bucket_seconds:g} s",
                expected="a whole number of buckets",
                remedy="change window_seconds or bucket_seconds",
            )

    def _check_steps(self, findings: Findings) -> None:
        if not self.steps:
            findings.add("steps", seen="no steps", expected="at least one")
        for name, times in Counter(step.name for step in self.steps).items():
            check_name(findings, name, "steps", name)
            if times > 1:
                findings.add("steps", name, seen=f"{times} steps of this name", expected="one")
        for step in self.steps:
            if step.job.workload is None:
                findings.add(
                    "steps",
                    step.name,
                    seen="a job without a workload",
                    expected="what its sources emit",
                    remedy="give the job a workload",
                )
            with findings.at("steps", step.name, "placement"):
                step.schedule(self.cluster)


def _move_plan(plan: Assignment, asked: Cluster, got: Cluster) -> Assignment:
    """The same plan on the nodes and slots that there are.

    Raises:
        InvalidInput: There are fewer than asked for.
    """
    places = _list_places(asked, got)
    missing = [str(slot) for slot, _ in plan.workers if slot not in places]
    if missing:
        raise InvalidInput.single(
            ("cluster",),
            seen=f"no place for {', '.join(missing)} on {_describe_size(got)}",
            expected=f"a cluster with {_describe_size(asked)}",
        )
    workers = tuple((places[slot], labels) for slot, labels in plan.workers)
    return Assignment(workers=workers, task_order=plan.task_order)


def _list_places(asked: Cluster, got: Cluster) -> dict[Slot, Slot]:
    """For every slot asked for, node by node, the one in its place."""
    return {
        slot: other
        for node, there in zip(asked.nodes, got.nodes, strict=False)
        for slot, other in zip(node.slots, there.slots, strict=False)
    }


def _describe_size(cluster: Cluster) -> str:
    slots: Sequence[int] = [len(node.ports) for node in cluster.nodes]
    return f"{len(slots)} nodes with {', '.join(map(str, slots))} slots"
