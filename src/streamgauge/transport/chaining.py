"""Chaining: operators that an engine runs in one thread, merged into one and split again.

Jobs, plans and results always name the job's own operators. Only schedulers, simulation and models
see a chain as one operator: there is no queue and no hop between its operators, and they share an
executor. An engine's record says which operators are chained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from streamgauge.errors import InvalidInput
from streamgauge.topology.configuration import Configuration, Resources
from streamgauge.topology.logical_plan import Executor, LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import Operator, OperatorKind, Stream, StreamKey, Topology
from streamgauge.transport.engine import load_engine

JOINT = "+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What one operator of a chain does for each tuple that the chain receives.

    Attributes:
        calls: Tuples that it receives.
        next_calls: Tuples that the next operator receives; None for the last one.
        share: Its part of the time that the chain works.
        cpu_share: Its part of the chain's CPU time.
        is_first: Whether the chain's queue is in front of it.
    """

    name: str
    calls: float
    next_calls: float | None
    share: float
    cpu_share: float
    is_first: bool


def chain_members(
    names: Sequence[str], calls: Sequence[float], cpu: Sequence[float], wait: Sequence[float]
) -> tuple[Member, ...]:
    """The operators of a chain with their parts of its work; equal parts where there is no work.

    Args:
        names: Of the operators, in their order.
        calls: Tuples that each receives for one that the chain receives.
        cpu: CPU time of a tuple in each.
        wait: Time of a tuple in each that passes without a core.
    """
    cpu_work = [many * one for many, one in zip(calls, cpu, strict=True)]
    work = [on_core + many * one for on_core, many, one in zip(cpu_work, calls, wait, strict=True)]
    return tuple(
        Member(
            name=name,
            calls=calls[place],
            next_calls=calls[place + 1] if place + 1 < len(names) else None,
            share=work[place] / sum(work) if sum(work) > 0.0 else 1.0 / len(names),
            cpu_share=cpu_work[place] / sum(cpu_work) if sum(cpu_work) > 0.0 else 1.0 / len(names),
            is_first=place == 0,
        )
        for place, name in enumerate(names)
    )


@dataclass(frozen=True, kw_only=True)
class Chaining:
    """The chains of a configured topology.

    Attributes:
        topology: With the job's own operators.
        chains: By the name of the operator that a chain becomes: its operators, in their order.
    """

    topology: Topology
    configuration: Configuration
    chains: Mapping[str, tuple[str, ...]]

    @cached_property
    def name_of(self) -> dict[str, str]:
        """By operator: the name of the operator that it becomes; its own outside of chains."""
        names = {name: name for name in self.topology.operator_names}
        return names | {one: chain for chain, members in self.chains.items() for one in members}

    def members_of(self, operator: str) -> tuple[str, ...]:
        """The job's own operators behind an operator of the chained topology."""
        return self.chains.get(operator, (operator,))

    def is_inner(self, key: StreamKey) -> bool:
        """Whether a stream is inside a chain."""
        streams = [one for one in self.topology.streams_from(key.source) if one.key == key]
        return any(self.name_of[one.source] == self.name_of[one.target] for one in streams)

    def inner_stream(self, operator: str) -> StreamKey:
        """The stream from an operator of a chain to the next one."""
        return next(one.key for one in self.topology.streams_from(operator) if not one.is_system)

    def rename_stream(self, key: StreamKey) -> StreamKey:
        """What a stream that leaves its chain is called in the chained topology."""
        return StreamKey(self.name_of.get(key.source, key.source), key.name)

    @cached_property
    def chained_topology(self) -> Topology:
        """The topology in which every chain is one operator."""
        operators: dict[str, Operator] = {}
        for operator in self.topology.operators:
            name = self.name_of[operator.name]
            operators.setdefault(name, replace(operator, name=name))
        streams: dict[tuple[str, str, str], Stream] = {}
        for stream in self.topology.streams:
            source, target = self.name_of[stream.source], self.name_of[stream.target]
            renamed = replace(stream, source=source, target=target)
            if source != target:
                streams.setdefault(renamed.subscription, renamed)
        return replace(
            self.topology, operators=tuple(operators.values()), streams=tuple(streams.values())
        )

    @property
    def chained_configuration(self) -> Configuration:
        """The same configuration of the chained topology; resources are summed."""
        configuration = self.configuration
        needs: dict[str, Resources] = {}
        for name, one in configuration.resources.items():
            chain = self.name_of[name]
            needs[chain] = _add_needs(needs.get(chain, Resources()), one)
        executors = {self.name_of[name]: n for name, n in configuration.executors.items()}
        return replace(configuration, executors=executors, resources=needs)

    def split_executors(self, executors: Mapping[str, int]) -> dict[str, int]:
        """Executors of the job's own operators: those of a chain have as many as the chain."""
        return {one: count for name, count in executors.items() for one in self.members_of(name)}

    def chain_plan(self, plan: PhysicalPlan) -> PhysicalPlan:
        """A plan of the job's operators as one of the chained topology.

        Raises:
            InvalidInput: The plan places operators of one chain apart.
        """
        logical = plan.logical
        executors: list[Executor] = []
        placement: list[int] = []
        task = logical.executors[0].first_task
        for name in logical.spans:
            members = self.members_of(self.name_of[name])
            if name != members[0]:
                continue
            self._check_together(plan, members)
            for index in logical.spans[name]:
                size = len(logical.executors[index].tasks)
                executors.append(Executor(task, task + size - 1, self.name_of[name]))
                placement.append(plan.placement[index])
                task += size
        chained = LogicalPlan(
            topology=self.chained_topology,
            configuration=self.chained_configuration,
            executors=tuple(executors),
        )
        return replace(plan, logical=chained, placement=tuple(placement))

    def _check_together(self, plan: PhysicalPlan, members: Sequence[str]) -> None:
        head, *others = (plan.logical.spans[name] for name in members)
        for span in others:
            for first, index in zip(head, span, strict=True):
                if plan.placement[first] != plan.placement[index]:
                    executors = plan.logical.executors
                    raise InvalidInput.single(
                        ("plan",),
                        seen=f"{executors[first]} and {executors[index]} in different workers",
                        expected="the same worker, as the engine runs them in one thread",
                    )

    def split_plan(self, plan: PhysicalPlan) -> PhysicalPlan:
        """A plan of the chained topology as one of the job's own operators."""
        engine = load_engine(self.configuration.engine)
        logical = LogicalPlan.of(
            self.topology,
            replace(
                plan.logical.configuration,
                executors=self.split_executors(plan.logical.configuration.executors),
                resources=self.configuration.resources,
            ),
            task_order=engine.task_order,
        )
        places = {
            name: [plan.placement[index] for index in span]
            for name, span in plan.logical.spans.items()
        }
        placement = [
            place for name in logical.spans for place in places[self.name_of.get(name, name)]
        ]
        return replace(plan, logical=logical, placement=tuple(placement))


def _add_needs(first: Resources, second: Resources) -> Resources:
    """Both together; what neither declares is left to the engine's default."""
    cores = [one.cpu_cores for one in (first, second) if one.cpu_cores is not None]
    memory = [one.memory_bytes for one in (first, second) if one.memory_bytes is not None]
    return Resources(
        cpu_cores=sum(cores) if cores else None, memory_bytes=sum(memory) if memory else None
    )


def find_chaining(topology: Topology, configuration: Configuration) -> Chaining | None:
    """The chains that the configuration's engine makes of a topology; None where it makes none.

    Raises:
        InvalidInput: The engine chains operators that cannot be one operator.
    """
    find_chains = load_engine(configuration.engine).load("chaining")
    if find_chains is None:
        return None
    chains = [tuple(chain) for chain in find_chains(topology, configuration)]
    if not chains:
        return None
    for chain in chains:
        for first, second in pairwise(chain):
            if not _can_be_one(topology, configuration, first, second):
                raise InvalidInput.single(
                    ("configuration", "engine"),
                    seen=f"engine {configuration.engine!r}, which chains {first} and {second}",
                    expected="two processors without windows and with equally many tasks and"
                    " executors, where the only output of the first is the only input of the"
                    " second",
                )
    named = {JOINT.join(chain): chain for chain in chains}
    return Chaining(topology=topology, configuration=configuration, chains=named)


def _can_be_one(topology: Topology, configuration: Configuration, first: str, second: str) -> bool:
    operators = (topology.operator(first), topology.operator(second))
    sent = [one for one in topology.streams_from(first) if not one.is_system]
    received = [one for one in topology.streams_into(second) if not one.is_system]
    return (
        all(one.kind is OperatorKind.PROCESSOR and one.window is None for one in operators)
        and operators[0].tasks == operators[1].tasks
        and configuration.executors_of(first) == configuration.executors_of(second)
        and len(sent) == len(received) == 1
        and sent == received
    )
