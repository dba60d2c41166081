"""Rounds of the job profiler on simulated instances: what each has, and what it uses of that.

An instance is one thread: a quota below one core stretches its work, more than one core changes
nothing. How much of its cores it uses is the part of the time that it is busy. Memory is not
simulated: an instance needs what is declared for it, or the engine's default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import find_machines
from streamgauge.models.parameters import find_parameters
from streamgauge.models.retasking import with_tasks
from streamgauge.models.simulated_job import build_simulation
from streamgauge.planning.packing.job_profiling import Allotment, Grown, Reading
from streamgauge.planning.scheduling.packing import Requirements
from streamgauge.profile.behaviour import Behaviour, InputBehaviour, Service, WindowFunction
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload
from streamgauge.transport.engine import load_engine

# Cores of the machine for each instance, so that instances do not take each other's time.
ROOM = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRounds:
    """A job whose instances are given resources.

    Attributes:
        workload: What the sources emit, however many instances they have.
        configuration: Needs that are declared, and the engine's settings.
        seconds: Simulated time of a round.
    """

    behaviour: JobBehaviour
    workload: Workload
    configuration: Configuration
    seconds: float = 10.0
    seed: int = 1

    def measure(self, allotments: Mapping[str, Allotment]) -> Mapping[str, Reading]:
        """One round with what is allotted."""
        from streamgauge.simulation.topology_run import simulate

        instances = {name: one.instances for name, one in allotments.items()}
        behaviour = with_tasks(self.behaviour, instances)
        plan = self._plan(behaviour, instances)
        parameters = find_parameters(behaviour, plan, self.workload)
        informed, behaviours, _ = build_simulation(
            parameters, find_machines(parameters)[0].engine_cores
        )
        for name, one in allotments.items():
            behaviours[name] = _slow_down(behaviours[name], min(one.amounts[Grown.CORES], 1.0))
        result = simulate(
            informed,
            behaviours,
            self.workload,
            seconds=self.seconds,
            warmup=self.seconds / 2.0,
            seed=self.seed,
        )
        needs = Requirements.of(plan.logical).needs
        readings = {}
        for name, one in allotments.items():
            figures = result.operators[name]
            rate = max(figures.executed_per_second, figures.emitted_per_second)
            readings[name] = Reading(
                used={
                    Grown.CORES: min(max(figures.utilisation - figures.blocked, 0.0), 1.0),
                    Grown.MEMORY: min(needs[name].memory_bytes / one.amounts[Grown.MEMORY], 1.0),
                },
                per_second=(figures.executed_per_second or rate) / one.instances,
            )
        return readings

    def _plan(self, behaviour: JobBehaviour, instances: Mapping[str, int]) -> PhysicalPlan:
        """All instances in one worker on a machine with ample room."""
        configuration = replace(self.configuration, executors=dict(instances), workers=1, ackers=1)
        order = load_engine(configuration.engine).task_order
        logical = LogicalPlan.of(behaviour.topology, configuration, task_order=order)
        cluster = Cluster.uniform(nodes=1, cores=ROOM * (len(logical.executors) + 1))
        return PhysicalPlan.from_slots(
            logical, cluster, cluster.slots, [0] * len(logical.executors)
        )


def _slow_down(behaviour: Behaviour, cores: float) -> Behaviour:
    """With the work on a core stretched to what a quota leaves of it."""
    if cores >= 1.0:
        return behaviour
    window = behaviour.window
    return replace(
        behaviour,
        service=_stretch(behaviour.service, cores),
        inputs={
            key: InputBehaviour(
                service=None if one.service is None else _stretch(one.service, cores),
                outputs=one.outputs,
            )
            for key, one in behaviour.inputs.items()
        },
        window=None
        if window is None
        else WindowFunction(
            service=_stretch(window.service, cores),
            per_tuple_ms=window.per_tuple_ms / cores,
            outputs=window.outputs,
        ),
    )


def _stretch(service: Service, cores: float) -> Service:
    return replace(service, cpu_ms=service.cpu_ms.scale(1.0 / cores))
