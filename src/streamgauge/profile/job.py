"""A job: everything that one description says about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.profile.behaviour import Behaviour, check_behaviours
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.configuration import Configuration, Resources, Setting
from streamgauge.topology.frozen import FrozenDict, freeze
from streamgauge.topology.logical_plan import LogicalPlan, TaskOrder
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import Topology
from streamgauge.topology.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A plan by hand: which executors each worker runs, and how their tasks are numbered."""

    workers: tuple[tuple[Slot, tuple[str, ...]], ...]
    task_order: TaskOrder = TaskOrder.DECLARED

    def __post_init__(self) -> None:
        workers = tuple((Slot(*slot), tuple(labels)) for slot, labels in self.workers)
        object.__setattr__(self, "workers", workers)
        object.__setattr__(self, "task_order", TaskOrder(self.task_order))

    @classmethod
    def of(cls, plan: PhysicalPlan) -> Assignment:
        """The assignment that a plan makes, to be written down."""
        names = plan.logical.topology
        order = next(one for one in TaskOrder if _is_numbered_by(plan.logical, one.arrange(names)))
        workers = tuple(
            (worker, tuple(executor.label for executor in executors))
            for worker, executors in plan.executors_by_worker.items()
        )
        return cls(workers=workers, task_order=order)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A variant of a configuration: only what it changes.

    Attributes:
        executors: Parallelism of the operators named; the others keep theirs.
        workers: Worker processes, where they change.
        ackers: Ackers, where they change.
        settings: Engine settings that are added or changed.
        resources: Needs of the operators named; the others keep theirs.
    """

    executors: Mapping[str, int] = field(default_factory=FrozenDict)
    workers: int | None = None
    ackers: int | None = None
    settings: Mapping[str, Setting] = field(default_factory=FrozenDict)
    resources: Mapping[str, Resources] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        freeze(self, "executors", "settings", "resources")

    def apply(self, base: Configuration) -> Configuration:
        """The configuration at this step."""
        return replace(
            base,
            executors={**base.executors, **self.executors},
            workers=base.workers if self.workers is None else self.workers,
            ackers=base.ackers if self.ackers is None else self.ackers,
            settings={**base.settings, **self.settings},
            resources={**base.resources, **self.resources},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A topology with what is known of its behaviour, deployment and load.

    Attributes:
        topology: The graph.
        behaviours: By operator name.
        configuration: How it is deployed.
        cluster: On what.
        workload: Under which load.
        plan: An explicit placement in place of a scheduled one.
        steps: Named variants of the configuration, such as the steps of an experiment.
        about: What it is and where it comes from.
    """

    topology: Topology
    behaviours: Mapping[str, Behaviour] = field(default_factory=FrozenDict)
    configuration: Configuration = field(default_factory=Configuration)
    cluster: Cluster | None = None
    workload: Workload | None = None
    plan: Assignment | None = None
    steps: Mapping[str, Step] = field(default_factory=FrozenDict)
    about: str = ""

    def __post_init__(self) -> None:
        freeze(self, "behaviours", "steps")
        findings = Findings()
        with findings.at("configuration"):
            self.configuration.check_against(self.topology)
        with findings.at("behaviours"):
            check_behaviours(self.topology, self.behaviours)
        if self.workload is not None:
            with findings.at("workload"):
                self.workload.check_against(self.topology)
        for name, step in self.steps.items():
            with findings.at("steps", name):
                step.apply(self.configuration).check_against(self.topology)
        if self.plan is not None and not findings:
            with findings.at("plan"):
                self.explicit_plan()
        findings.raise_if_any()

    def at_step(self, name: str) -> Job:
        """This job configured as in the named step; an explicit plan does not carry over."""
        if name not in self.steps:
            raise InvalidInput.single(
                ("steps",),
                seen=f"step {name!r}",
                expected="a step of the job" if self.steps else "a job with steps",
                remedy=did_you_mean(name, list(self.steps)),
            )
        configuration = self.steps[name].apply(self.configuration)
        return replace(self, configuration=configuration, plan=None)

    def explicit_plan(self) -> PhysicalPlan | None:
        """The plan given by hand, with every executor placed exactly once; None without one."""
        if self.plan is None:
            return None
        if self.cluster is None:
            raise InvalidInput.single(
                (), seen="a plan without a cluster", expected="the cluster whose slots it uses"
            )
        logical = LogicalPlan.of(self.topology, self.configuration, task_order=self.plan.task_order)
        return PhysicalPlan.explicit(logical, self.cluster, self.plan.workers)


def _is_numbered_by(logical: LogicalPlan, names: tuple[str, ...]) -> bool:
    return tuple(logical.spans) == names
