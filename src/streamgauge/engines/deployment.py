"""A job on a plan, as a runner records it: the plan with its time, and events."""

from __future__ import annotations

import json
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
    """A job as a file would describe it, with cluster and plan written out, and who runs where.

    Executors have the engine's numbers of the tasks. `cluster` is the cluster's name, where it has
    one. Notes say what could not be described.
    """

    job: Job
    executors: tuple[PlacedExecutor, ...]
    cluster: str | None
    notes: tuple[str, ...] = ()

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
        return cls(job=placed, executors=tuple(_placed(plan)), cluster=cluster)

    @property
    def plan_id(self) -> str:
        """The same for the same placement."""
        return plan_id_of(self.executors)

    @property
    def document(self) -> str:
        """The job as a file has it."""
        return dump_json(job_to_data(self.job))

    def is_that_of(self, record: Plan) -> bool:
        """Whether a plan that was recorded is still this: placement, topology and settings."""
        if (record.cluster, record.plan_id) != (self.cluster, self.plan_id):
            return False
        then, now = json.loads(record.document), json.loads(self.document)
        return all(then.get(part) == now.get(part) for part in ("topology", "configuration"))

    def record(self, valid_from_us: int, valid_to_us: int | None = None) -> Plan:
        """The plan with its time; it lasts unless an end is given."""
        return Plan(
            cluster=self.cluster,
            topology=self.job.topology.name,
            plan_id=self.plan_id,
            engine=self.job.configuration.engine,
            valid_from_us=valid_from_us,
            valid_to_us=valid_to_us,
            document=self.document,
            executors=self.executors,
        )

    def events(
        self, began_us: int, ended_us: int, *, step: str | None, begun: str, ended: str | None
    ) -> Iterator[Event]:
        """Start and stop of the job, and around them the step of an experiment that it is."""
        if step is not None:
            yield self.event(EventKind.STEP_BEGIN, began_us, name=step)
        yield self.event(EventKind.START, began_us, detail=begun)
        yield self.event(EventKind.STOP, ended_us, detail=ended)
        if step is not None:
            yield self.event(EventKind.STEP_END, ended_us, name=step)

    def event(
        self,
        kind: EventKind,
        happened_at_us: int,
        *,
        name: str | None = None,
        detail: str | None = None,
    ) -> Event:
        """Something that happened to it."""
        return Event(
            cluster=self.cluster,
            topology=self.job.topology.name,
            plan_id=self.plan_id,
            happened_at_us=happened_at_us,
            kind=kind.value,
            name=name,
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
