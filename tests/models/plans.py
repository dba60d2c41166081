"""Small plans and what their operators make of tuples, for tests of models."""

from dataclasses import replace

import numpy as np

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.service import ServiceTimes
from streamgauge.models.traffic_equations import Conversion, Traffic, propagate, source_rates
from streamgauge.profile.figures import Figure, InputFigures, TaskId, TaskProfile, TimeFigures
from streamgauge.topology import Cluster, Configuration, Operator, Stream, Topology
from streamgauge.topology.grouping import Shuffle
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind, StreamKey
from streamgauge.topology.tuple_flow import TupleFlow
from streamgauge.topology.workload import Emission, Workload
from streamgauge.transport.engine import load_engine
from streamgauge.transport.mechanics import PLAIN


def source(name, tasks=1):
    return Operator(name=name, kind=OperatorKind.SOURCE, tasks=tasks)


def stream(one, other, name="default", grouping=None):
    return Stream(source=one, target=other, name=name, grouping=grouping or Shuffle())


def flow_of(
    operators, streams, *, executors=None, acked=False, ackers=0, workers=1, engine="storm-1"
):
    """Everything in one worker, or dealt in turn to several nodes of one worker each."""
    job = Topology(name="t", operators=operators, streams=streams, acked=acked)
    wanted = Configuration(
        engine=engine,
        executors=executors or {one.name: one.tasks for one in operators},
        ackers=ackers,
    )
    logical = LogicalPlan.of(job, wanted)
    cluster = Cluster.uniform(nodes=workers)
    dealt = [index % workers for index in range(len(logical.executors))]
    plan = PhysicalPlan.from_slots(logical, cluster, cluster.slots, dealt)
    return TupleFlow.of(plan, load_engine(engine).hops)


def per_input(coefficients):
    """(source, stream, out name) → number, the same for all executors."""
    found = {
        (StreamKey(*key), name): np.asarray(value) for (*key, name), value in coefficients.items()
    }
    return Conversion(per_input=found)


def rates_of(flow, per_second, conversions):
    workload = Workload(
        emissions=[
            Emission(source=name, stream=on, per_second=rate)
            for (name, on), rate in per_second.items()
        ]
    )
    return propagate(flow, source_rates(flow.plan.logical, workload), conversions)


def traffic_of(flow, rates, conversions, mechanics=PLAIN):
    return Traffic(flow=flow, rates=rates, conversions=conversions, mechanics=mechanics)


def service_of(flow, by_operator, scv=1.0):
    """Seconds a tuple by operator; windows take no time."""
    mean = np.asarray(
        [by_operator.get(executor.operator, 0.0) for executor in flow.plan.logical.executors]
    )
    none = np.zeros_like(mean)
    return ServiceTimes(mean=mean, variance=scv * mean**2, trigger_mean=none, trigger_variance=none)


def timed(profile):
    """The behaviour of a profile whose processors take a millisecond where nobody timed them."""
    tasks = dict(profile.tasks)
    for operator in profile.topology.operators:
        if operator.kind is OperatorKind.PROCESSOR:
            first = TaskId(operator.name, 0)
            seen = tasks.get(first, TaskProfile())
            inputs = dict(seen.inputs)
            for stream_in in profile.topology.streams_into(operator.name):
                known = inputs.get(stream_in.key, InputFigures())
                cpu = known.cpu or TimeFigures(mean_ms=Figure(value=1.0))
                inputs[stream_in.key] = replace(known, cpu=cpu)
            tasks[first] = replace(seen, inputs=inputs)
    return JobBehaviour.from_profile(replace(profile, tasks=tasks))
