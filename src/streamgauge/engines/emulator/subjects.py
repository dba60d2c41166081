"""Who a sample is about: the simulator's numbers in the lake's words.

A subject is the part of a sample that names task, executor, queue, worker, node or machine, with
the stream where the metric has one. It is the same in every bucket.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.lake.definition import Queue
from streamgauge.simulation.program import Compiled
from streamgauge.topology.physical_plan import PhysicalPlan

Subject = dict[str, Any]


class Subjects:
    """The subjects of one plan, each list in the simulator's own order.

    Nodes are those of the workers, and machines those of the nodes, both by name.
    """

    def __init__(self, plan: PhysicalPlan, *, plan_id: str, cluster: str | None) -> None:
        self.plan = plan
        self.cluster = cluster
        anywhere: Subject = {} if cluster is None else {"cluster": cluster}
        self.of_job: Subject = {
            **anywhere,
            "topology": plan.logical.topology.name,
            "plan_id": plan_id,
        }
        self.workers: list[Subject] = [
            {**self.of_job, "worker": str(worker), "node": worker.node} for worker in plan.workers
        ]
        self.executors: list[Subject] = []
        self.tasks: list[Subject] = []
        for executor, place in zip(plan.logical.executors, plan.placement, strict=True):
            subject = {
                **self.workers[place],
                "component": executor.operator,
                "executor": executor.label,
            }
            self.executors.append(subject)
            self.tasks += [{**subject, "task": task} for task in executor.tasks]
        machines = {node: plan.cluster.machine_of(node).name for node in plan.nodes}
        self.nodes: dict[str, Subject] = {
            node: {**anywhere, "node": node, "machine": machine}
            for node, machine in machines.items()
        }
        self.machines: dict[str, Subject] = {
            machine: {**anywhere, "machine": machine}
            for machine in dict.fromkeys(machines.values())
        }

    def queue(self, which: Queue, owner: int) -> Subject:
        """A queue of an executor, or of a worker, by its number."""
        of_executor = "executor" in which.required
        subject = self.executors[owner] if of_executor else self.workers[owner]
        return {**subject, "queue": which.label}


class Rows:
    """The rows of the simulator's tables that can ever count something.

    Tables have a row for every task and subscription, or task and stream; most tasks neither
    receive by a subscription nor emit on a stream.

    Attributes:
        inputs: Rows of (task, subscription), and
        input_subjects: who they are.
        outputs: Rows of (task, stream), and
        output_subjects: who they are, and
        output_tasks: their tasks, counted from the first.
        emissions: Places in `outputs` that are a source's, and
        emission_subjects: who they are.
        sized: Whether the tuples of each output have a size.
    """

    def __init__(self, subjects: Subjects, compiled: Compiled) -> None:
        program = compiled.program
        names = subjects.plan.logical.topology.operator_names
        owner = program.task["operator"]
        target = program.subscription["target"]
        source = np.asarray([names.index(key.source) for key in compiled.streams])
        self._subjects = subjects
        self._compiled = compiled
        self.inputs = np.flatnonzero(owner[:, None] == target[None, :])
        self.input_subjects = [
            {**subjects.tasks[task], **self._subscription(number)}
            for task, number in self._split(self.inputs, program.at.subscriptions)
        ]
        self.outputs = np.flatnonzero(owner[:, None] == source[None, :])
        self.output_subjects = [
            {**subjects.tasks[task], "stream": compiled.streams[number].name}
            for task, number in self._split(self.outputs, program.at.streams)
        ]
        self.output_tasks: list[int] = (self.outputs // program.at.streams).tolist()
        self.emissions = np.flatnonzero(program.source_row[owner[self.output_tasks]] >= 0)
        self.emission_subjects = [self.output_subjects[place] for place in self.emissions.tolist()]
        self.sized = program.stream["size"][self.outputs % program.at.streams] >= 0

    @staticmethod
    def _split(rows: NDArray[Any], width: int) -> list[tuple[int, int]]:
        return [divmod(row, width) for row in rows.tolist()]

    def _subscription(self, number: int) -> Subject:
        stream = self._compiled.subscriptions[number]
        return {"stream": stream.name, "source_component": stream.source}

    def transfer(self, place: int) -> Subject:
        """Who a place among the transfers is about: measured by the sender, on the receiver."""
        program = self._compiled.program
        # Rows without a place of their own begin where the next one does.
        row = int(np.searchsorted(program.transfer_first, place, side="right")) - 1
        sender, number = divmod(row, program.at.subscriptions)
        first = program.first_task[program.subscription[number]["target"]]
        receiver = int(first) + place - int(program.transfer_first[row])
        source = self._subjects.tasks[sender]
        return {
            **self._subjects.tasks[receiver],
            **self._subscription(number),
            "source_task": source["task"],
            "worker": source["worker"],
            "node": source["node"],
        }
