"""From an allocation to an engine: a configuration and a command that applies it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from streamgauge.errors import Findings, Infeasible, did_you_mean
from streamgauge.planning.scaling.graph import MAX_UNITS, Allocation
from streamgauge.profile.job import Job
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.field_checks import check_whole
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.topology import Topology
from streamgauge.transport.chaining import find_chaining
from streamgauge.transport.engine import load_engine


class Unit(StrEnum):
    """What one unit more is.

    EXECUTOR: a thread more of the operator, in the workers that there are.
    ISOLATED_WORKER: a worker more with one executor, and nobody else in it (Puttaswamy 2018,
    section 6.1): every operator has as many workers as executors.
    """

    EXECUTOR = "executor"
    ISOLATED_WORKER = "isolated-worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """An allocation as an engine takes it.

    Attributes:
        configuration: With the executors, and where units are workers with the workers.
        executors: Those of the operators that change.
        workers: Of every operator, where units are workers: the units of the isolation scheduler.
        command: That applies it to the running topology, word by word; empty where the engine
            has none.
    """

    configuration: Configuration
    executors: Mapping[str, int] = field(default_factory=FrozenDict)
    workers: Mapping[str, int] = field(default_factory=FrozenDict)
    command: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "executors", FrozenDict(self.executors))
        object.__setattr__(self, "workers", FrozenDict(self.workers))
        object.__setattr__(self, "command", tuple(self.command))

    @property
    def shell(self) -> str:
        """The command as one types it, whatever the names hold."""
        return shlex.join(self.command)


def translate(
    topology: Topology,
    configuration: Configuration,
    allocation: Allocation,
    *,
    unit: Unit = Unit.EXECUTOR,
) -> Translation:
    """What to tell the engine.

    Units are given by operator, or by chain of operators.

    Raises:
        InvalidInput: An allocation of what is not there.
        Infeasible: An operator has fewer tasks than the executors it would get; all are named.
    """
    chaining = find_chaining(topology, configuration)
    if chaining is not None:
        # A unit of a chain is an executor of each of its operators.
        allocation = chaining.split_executors(allocation)
    _check(topology, allocation)
    wanted = {
        operator.name: configuration.executors_of(operator.name) + allocation.get(operator.name, 0)
        for operator in topology.operators
    }
    _check_tasks(topology, wanted)
    changed = {name: wanted[name] for name, more in allocation.items() if more}
    # Ackers have the tasks that they were submitted with, however many workers there are then.
    kept = replace(configuration, ackers=configuration.acker_count)
    if unit is Unit.EXECUTOR:
        kept, workers = configuration, {}
        count = configuration.workers
    else:
        workers = wanted
        acked = topology.with_ackers(configuration.acker_count).has_ackers
        count = sum(wanted.values()) + int(acked)
    return Translation(
        configuration=replace(kept, workers=count).with_executors(changed),
        executors=changed,
        workers=workers,
        command=load_engine(configuration.engine).rebalance_command(
            topology.name, workers=count, executors=changed
        ),
    )


def scaled_job(
    job: Job, allocation: Allocation, *, unit: Unit = Unit.EXECUTOR
) -> tuple[Job, Translation]:
    """The job as it would be after scaling, to be written, and what to tell the engine.

    A plan given by hand is left out: it does not place what is new.
    """
    translation = translate(job.topology, job.configuration, allocation, unit=unit)
    return replace(job, configuration=translation.configuration, plan=None), translation


def _check(topology: Topology, allocation: Allocation) -> None:
    findings = Findings()
    known = topology.operator_names
    for name, units in allocation.items():
        if name not in known:
            findings.add(
                name,
                seen=f"units for {name!r}",
                expected=f"an operator of topology {topology.name!r}",
                remedy=did_you_mean(name, known),
            )
        check_whole(findings, units, name, least=0, most=MAX_UNITS)
    findings.raise_if_any()


def _check_tasks(topology: Topology, wanted: Mapping[str, int]) -> None:
    short = [
        f"{operator.name} would need {wanted[operator.name]} executors but has {operator.tasks}"
        f" task{'s' if operator.tasks > 1 else ''}"
        for operator in topology.operators
        if wanted[operator.name] > operator.tasks
    ]
    if short:
        raise Infeasible(
            "; ".join(short) + "; tasks are fixed when a topology is submitted, and an executor"
            " needs one: submit it with more tasks, or hand out fewer units"
        )
