"""Chained operators in models: a behaviour becomes that of chains, predictions are split again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from streamgauge.models.delays import Part
from streamgauge.models.job_behaviour import (
    Coefficient,
    Estimate,
    InputBehaviour,
    JobBehaviour,
    OperatorBehaviour,
    ServiceTime,
    TimeMoments,
)
from streamgauge.models.load_limit import Limit
from streamgauge.models.plan_check import check_plan
from streamgauge.models.prediction import (
    Bottleneck,
    ExecutorPrediction,
    Explanation,
    OperatorPrediction,
    Prediction,
    Sensitivity,
)
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import StreamKey
from streamgauge.topology.workload import Workload
from streamgauge.transport.chaining import Chaining, Member, chain_members, find_chaining

Figures = TypeVar("Figures", OperatorPrediction, ExecutorPrediction)
Predict = Callable[[Any, JobBehaviour, PhysicalPlan, Workload], Prediction]


def split_chains(predict: Predict) -> Predict:
    """Let a model predict a plan whose chained operators are one, and split what it says."""

    @wraps(predict)
    def predict_and_split(
        self: Any, behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload
    ) -> Prediction:
        chained = chain_job(behaviour, plan)
        if chained is None:
            return predict(self, behaviour, plan, workload)
        return chained.split_prediction(predict(self, chained.behaviour, chained.plan, workload))

    return predict_and_split


def chain_job(behaviour: JobBehaviour, plan: PhysicalPlan) -> ChainedJob | None:
    """A job on a plan with its chains as single operators; None where its engine makes none.

    Raises:
        InvalidInput: The plan is not of the job, or places operators of one chain apart.
    """
    chaining = find_chaining(plan.logical.topology, plan.logical.configuration)
    if chaining is None:
        return None
    check_plan(behaviour, plan)
    return ChainedJob(
        behaviour=chain_behaviour(chaining, behaviour),
        plan=chaining.chain_plan(plan),
        own_plan=plan,
        members={
            chain: _members(chaining, behaviour, names) for chain, names in chaining.chains.items()
        },
    )


def chain_behaviour(chaining: Chaining, behaviour: JobBehaviour) -> JobBehaviour:
    """The behaviour of the job whose chains are single operators."""
    own = replace(chaining, topology=behaviour.topology, configuration=behaviour.configuration)
    operators = {
        name: replace(
            one, inputs={own.rename_stream(key): each for key, each in one.inputs.items()}
        )
        for name, one in behaviour.operators.items()
        if own.name_of.get(name, name) == name
    }
    for chain, names in own.chains.items():
        operators[chain] = _chain(own, [behaviour.operators[name] for name in names], names)
    return replace(
        behaviour,
        topology=own.chained_topology,
        configuration=own.chained_configuration,
        operators=operators,
        shares={
            (*own.rename_stream(StreamKey(source, name)), own.name_of.get(target, target)): one
            for (source, name, target), one in behaviour.shares.items()
            if not own.is_inner(StreamKey(source, name))
        },
        keys={
            own.rename_stream(key): one
            for key, one in behaviour.keys.items()
            if not own.is_inner(key)
        },
        stretch={own.name_of.get(name, name): one for name, one in behaviour.stretch.items()},
    )


def _chain(
    chaining: Chaining, operators: Sequence[OperatorBehaviour], names: Sequence[str]
) -> OperatorBehaviour:
    head, last = operators[0], operators[-1]
    if head is last:
        return head
    key = chaining.inner_stream(names[0])
    rest = _chain(chaining, operators[1:], names[1:]).inputs[key]
    return replace(
        head,
        inputs={
            chaining.rename_stream(source): _before(one, key.name, rest)
            for source, one in head.inputs.items()
        },
        bytes=last.bytes,
    )


def _before(first: InputBehaviour, stream: str, rest: InputBehaviour) -> InputBehaviour:
    """A tuple's time and outputs in an operator and in all that its outputs go on to."""
    if stream not in first.outputs:
        return replace(first, outputs={})
    count = first.outputs[stream]
    return replace(
        first,
        service=ServiceTime(
            cpu=_add_times(first.service.cpu, count.mean, rest.service.cpu),
            wait=_add_times(first.service.wait, count.mean, rest.service.wait),
        ),
        outputs={
            name: Coefficient(
                mean=_multiply(count.mean, one.mean), by_task=_multiply(count.by_task, one.by_task)
            )
            for name, one in rest.outputs.items()
        },
    )


def _add_times(first: TimeMoments, count: Estimate, each: TimeMoments) -> TimeMoments:
    """A time and so many others, whose number varies as little as whole numbers can."""
    part = count.value - np.floor(count.value)
    spread = count.value * each.variance.value + part * (1.0 - part) * each.mean_ms.value**2
    return TimeMoments(
        mean_ms=Estimate(
            value=np.asarray(first.mean_ms.value + count.value * each.mean_ms.value),
            standard_error=np.hypot(
                first.mean_ms.standard_error, np.mean(count.value) * each.mean_ms.standard_error
            ),
            origin=first.mean_ms.origin,
        ),
        variance=Estimate(
            value=np.asarray(first.variance.value + spread),
            standard_error=np.full_like(first.variance.standard_error, np.nan),
            origin=first.variance.origin,
        ),
    )


def _multiply(first: Estimate, second: Estimate) -> Estimate:
    return Estimate(
        value=np.asarray(first.value * second.value),
        standard_error=np.full_like(first.standard_error, np.nan),
        origin=first.origin,
    )


def _members(
    chaining: Chaining, behaviour: JobBehaviour, names: Sequence[str]
) -> tuple[Member, ...]:
    calls = [1.0]
    services: list[list[ServiceTime]] = []
    for name in names:
        inputs = list(behaviour.operators[name].inputs.values())
        services.append([one.service for one in inputs])
        if name != names[-1]:
            stream = chaining.inner_stream(name).name
            counts = [one.outputs[stream].mean for one in inputs if stream in one.outputs]
            calls.append(calls[-1] * sum(map(_mean, counts)) / max(len(inputs), 1))
    return chain_members(
        names,
        calls,
        cpu=[_mean_of([one.cpu.mean_ms for one in each]) for each in services],
        wait=[_mean_of([one.wait.mean_ms for one in each]) for each in services],
    )


def _mean(estimate: Estimate) -> float:
    return float(np.mean(estimate.value))


def _mean_of(estimates: Sequence[Estimate]) -> float:
    return sum(map(_mean, estimates)) / len(estimates) if estimates else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainedJob:
    """A job on a plan, with its chains as single operators; `own_plan` has the job's own."""

    behaviour: JobBehaviour
    plan: PhysicalPlan
    own_plan: PhysicalPlan
    members: Mapping[str, tuple[Member, ...]]

    def split_prediction(self, prediction: Prediction) -> Prediction:
        """What is predicted of chains, by the job's own operators."""
        logical, labels = self.own_plan.logical, self.heaviest_labels
        operators: dict[str, OperatorPrediction] = {}
        executors: dict[str, list[ExecutorPrediction]] = {}
        for name, one in prediction.operators.items():
            threads = [each for each in prediction.executors if each.operator == name]
            if name not in self.members:
                operators[name], executors[name] = one, threads
            for member in self.members.get(name, ()):
                operators[member.name] = _operator_part(one, member)
                executors[member.name] = [_executor_part(each, member) for each in threads]
        explanation = prediction.explanation
        return replace(
            prediction,
            overloaded={labels.get(name, name): n for name, n in prediction.overloaded.items()},
            limit=_rename_limit(prediction.limit, labels),
            operators={name: operators[name] for name in logical.spans},
            executors=tuple(
                replace(one, name=logical.executors[index].label, operator=name)
                for name, span in logical.spans.items()
                for index, one in zip(span, executors[name], strict=True)
            ),
            workers=tuple(
                replace(one, executors=self.own_plan.placement.count(place))
                for place, one in enumerate(prediction.workers)
            ),
            explanation=None if explanation is None else self.split_explanation(explanation),
        )

    @property
    def heaviest_operators(self) -> dict[str, str]:
        """By chain: the operator with most of its work."""
        return {chain: _heaviest(members).name for chain, members in self.members.items()}

    @property
    def heaviest_labels(self) -> dict[str, str]:
        """By a chain's executor: that of the operator with most of its work."""
        own, chained = self.own_plan.logical, self.plan.logical
        labels = {}
        for chain, operator in self.heaviest_operators.items():
            heaviest = own.executors_of(operator)
            for one, other in zip(chained.executors_of(chain), heaviest, strict=True):
                labels[one.label] = other.label
        return labels

    def split_explanation(self, explanation: Explanation) -> Explanation:
        """Why chains behave so, by the job's own operators: one executor more is one of each."""
        labels = self.heaviest_labels
        sensitivities: dict[str, Sensitivity] = {}
        for name, one in explanation.sensitivities.items():
            for member in self.members.get(name, ()):
                sensitivities[member.name] = replace(
                    one,
                    longer_service=member.share * one.longer_service,
                    longer_service_p99=member.share * one.longer_service_p99,
                )
            if name not in self.members:
                sensitivities[name] = one
        return Explanation(
            bottlenecks=tuple(self._rename(one, labels) for one in explanation.bottlenecks),
            sensitivities=sensitivities,
        )

    def _rename(self, bottleneck: Bottleneck, labels: Mapping[str, str]) -> Bottleneck:
        operator = bottleneck.operator
        if operator is not None and operator in self.members:
            operator = _heaviest(self.members[operator]).name
        limit = _rename_limit(bottleneck.limit, labels)
        return replace(bottleneck, limit=limit, operator=operator)


def _heaviest(members: Sequence[Member]) -> Member:
    return max(members, key=lambda one: one.share)


def _rename_limit(limit: Limit, labels: Mapping[str, str]) -> Limit:
    return replace(limit, by=labels.get(limit.by, limit.by))


def _operator_part(chain: OperatorPrediction, member: Member) -> OperatorPrediction:
    """What is predicted of an operator: tuples wait before the first of a chain alone.

    Its utilisation is its part of the threads' time; `busiest` stays that of a whole thread.
    """
    part = _rescale(chain, member)
    parts = {
        name: part.service_seconds if name == Part.SERVICE else seconds
        for name, seconds in chain.parts.items()
        if name == Part.SERVICE or member.is_first
    }
    return replace(
        part,
        utilisation=member.share * chain.utilisation,
        delay_seconds=sum(parts.values()),
        parts=parts,
    )


def _executor_part(chain: ExecutorPrediction, member: Member) -> ExecutorPrediction:
    """What is predicted of an operator in one thread, whose utilisation is that of the thread."""
    part = _rescale(chain, member)
    waiting = chain.delay_seconds - chain.service_seconds if member.is_first else 0.0
    return replace(
        part,
        delay_seconds=waiting + part.service_seconds,
        queue_length=chain.queue_length if member.is_first else 0.0,
    )


def _rescale(chain: Figures, member: Member) -> Figures:
    """Rates of one operator of a chain, and its part of the service time, for each of its calls.

    It emits what the next one is called with; the last one what leaves the chain.
    """
    calls, share, handed_on = member.calls, member.share, member.next_calls
    arrived, service = chain.arrived_per_second, chain.service_seconds
    part = replace(
        chain,
        arrived_per_second=calls * arrived,
        service_seconds=service * share / calls if calls > 0.0 else 0.0,
    )
    if handed_on is None:
        return part
    return replace(
        part,
        emitted_per_second=handed_on * arrived,
        tuples_out_per_second=handed_on * arrived,
    )
