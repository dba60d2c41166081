"""A job on a plan, as a runner records it: the plan with its time, and events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from streamgauge.lake.plans import plan_id_of
from streamgauge.lake.records import Event, EventKind, PlacedExecutor, Plan
from streamgauge.profile.files.jobs import job_to_data
from streamgauge.profile.job import Assignment, Job
from streamgauge.topology.files.document import dump_json
from streamgauge.topology.physical_plan import PhysicalPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A job on a plan.

    Attributes:
        plan: Where executors run.
        job: The same as a job, with cluster and plan written out.
        executors: Who runs where, with the engine's numbers of the tasks.
        cluster: What the cluster is called, where it has a name.
    """

    plan: PhysicalPlan
    job: Job
    executors: tuple[PlacedExecutor, ...]
    cluster: str | None

    @classmethod
    def of(cls, job: Job, plan: PhysicalPlan, cluster: str | None) -> Deployment:
        """The deployment of `job` on `plan`.

        Raises:
            InvalidInput: The plan is not one of the job.
        """
        placed = replace(
            job,
            configuration=plan.logical.configuration,
            cluster=plan.cluster,
            plan=Assignment.of(plan),
        )
        return cls(plan=plan, job=placed, executors=tuple(_placed(plan)), cluster=cluster)

    @property
    def plan_id(self) -> str:
        """The same for the same placement."""
        return plan_id_of(self.executors)

    def record(self, valid_from_us: int, valid_to_us: int) -> Plan:
        """The plan, which has ended when it is written."""
        return Plan(
            cluster=self.cluster,
            topology=self.job.topology.name,
            plan_id=self.plan_id,
            engine=self.job.configuration.engine,
            valid_from_us=valid_from_us,
            valid_to_us=valid_to_us,
            document=dump_json(job_to_data(self.job)),
            executors=self.executors,
        )

    def events(
        self, began_us: int, ended_us: int, *, step: str | None, begun: str, ended: str | None
    ) -> Iterator[Event]:
        """Start and stop of the job, and around them the step of an experiment that it is."""
        moments = [(EventKind.START, began_us, begun), (EventKind.STOP, ended_us, ended)]
        if step is not None:
            moments.insert(0, (EventKind.STEP_BEGIN, began_us, None))
            moments.append((EventKind.STEP_END, ended_us, None))
        for kind, happened_at_us, detail in moments:
            is_step = kind in (EventKind.STEP_BEGIN, EventKind.STEP_END)
            yield Event(
                cluster=self.cluster,
                topology=self.job.topology.name,
                plan_id=self.plan_id,
                happened_at_us=happened_at_us,
                kind=kind.value,
                name=step if is_step else None,
                detail=detail,
            )


def _placed(plan: PhysicalPlan) -> Iterator[PlacedExecutor]:
    for executor, place in zip(plan.logical.executors, plan.placement, strict=True):
        worker = plan.workers[place]
        yield PlacedExecutor(
            component=executor.operator,
            first_task=executor.first_task,
            last_task=executor.last_task,
            worker=str(worker),
            node=worker.node,
            machine=plan.cluster.machine_of(worker.node).name,
        )
