"""Predictions of small plans, for the tests of their reports."""

import math
from dataclasses import replace

from streamgauge.models.delays import Part
from streamgauge.models.end_to_end_latency import Latency
from streamgauge.models.prediction import (
    Bottleneck,
    ExecutorPrediction,
    Explanation,
    Limit,
    MachinePrediction,
    OperatorPrediction,
    Prediction,
    Sensitivity,
    Verdict,
    WorkerPrediction,
)
from streamgauge.reports.prediction import PredictedPlan, PredictionReport
from streamgauge.topology import Cluster, Configuration, Operator, Stream, Topology
from streamgauge.topology.grouping import Shuffle
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind
from streamgauge.topology.workload import Emission, Workload

COMMAND = "streamgauge predict --profile 'a<b>.json' --html page.html"
NASTY = "<script>alert('&\"')</script>"
LATENCY = Latency(
    mean=0.004,
    variance=1e-6,
    quantiles={0.5: 0.003, 0.9: 0.006, 0.95: 0.007, 0.99: 0.009},
    parts={Part.QUEUEING: 0.001, Part.SERVICE: 0.003, Part.WINDOW: 0.0},
)
UNBOUNDED = Latency(mean=math.inf, variance=math.inf, quantiles={}, parts={Part.QUEUEING: math.inf})
EXPLAINED = Explanation(
    bottlenecks=(
        Bottleneck(
            limit=Limit(factor=2.0, per_second=160.0, by="work[3-4]"),
            operator="work",
            executors=3,
            tasks=8,
        ),
        Bottleneck(
            limit=Limit(factor=4.0, per_second=320.0, by="node-1"),
            operator=None,
            executors=None,
            tasks=None,
        ),
    ),
    sensitivities={
        "work": Sensitivity(
            longer_service=0.5, longer_service_p99=0.00677, one_more=-0.001, one_more_limit=200.0
        ),
        "out": Sensitivity(
            longer_service=0.0, longer_service_p99=math.inf, one_more=None, one_more_limit=None
        ),
    },
)


def plan_of(executors: dict[str, int], name: str = "work") -> PhysicalPlan:
    """A source, a worker and a sink on two nodes, with ackers."""
    topology = Topology(
        name="tiny",
        operators=(
            Operator(name="in", kind=OperatorKind.SOURCE, tasks=2),
            Operator(name=name, tasks=8),
            Operator(name="out", tasks=2),
        ),
        streams=(
            Stream(source="in", target=name, grouping=Shuffle()),
            Stream(source=name, target="out", grouping=Shuffle()),
        ),
        acked=True,
    )
    wanted = Configuration(executors=executors, workers=2, ackers=2)
    logical = LogicalPlan.of(topology, wanted)
    cluster = Cluster.uniform(nodes=2, cores=4)
    dealt = [index % 2 for index in range(len(logical.executors))]
    return PhysicalPlan.from_slots(logical, cluster, cluster.slots, dealt)


def predicted(plan: PhysicalPlan, busy: dict[str, list[float]], **changes) -> Prediction:
    """A prediction with these utilisations; whoever is not busy gets nothing."""
    executors = []
    for index, one in enumerate(plan.logical.executors):
        of = busy.get(one.operator, [0.1])
        part = of[plan.logical.executors_of(one.operator).index(one) % len(of)]
        executors.append(
            ExecutorPrediction(
                name=one.label,
                operator=one.operator,
                worker=str(plan.workers[plan.placement[index]]),
                arrived_per_second=100.0 * part,
                emitted_per_second=50.0 * part,
                tuples_out_per_second=30.0 * part,
                utilisation=part,
                stretch=1.0,
                service_seconds=0.01,
                delay_seconds=0.02,
                queue_length=3.5 * part,
            )
        )
    operators = {}
    for name in plan.logical.spans:
        own = [one for one in executors if one.operator == name]
        parts = [one.utilisation for one in own]
        operators[name] = OperatorPrediction(
            executors=len(own),
            idle=sum(part == 0.0 for part in parts),
            arrived_per_second=sum(one.arrived_per_second for one in own),
            emitted_per_second=sum(one.emitted_per_second for one in own),
            tuples_out_per_second=sum(one.tuples_out_per_second for one in own),
            utilisation=sum(parts) / len(parts),
            busiest=max(parts),
            service_seconds=0.01,
            delay_seconds=0.02,
            parts={"queueing": 0.005, "service": 0.015},
        )
    full = {one.name: one.utilisation for one in executors if one.utilisation >= 1.0}
    worst = max(executors, key=lambda one: one.utilisation)
    found = Prediction(
        model="analytic",
        verdict=Verdict.OVERLOADED if full else Verdict.FITS,
        overloaded=full,
        limit=Limit(
            factor=1.0 / worst.utilisation, per_second=80.0 / worst.utilisation, by=worst.name
        ),
        latency=UNBOUNDED if full else LATENCY,
        by_source={"in": UNBOUNDED if full else LATENCY},
        operators=operators,
        executors=tuple(executors),
        workers=tuple(
            WorkerPrediction(
                name=str(one),
                executors=4,
                cores=1.25,
                work=1.0,
                engine=0.15,
                engine_error=0.02,
                polling=0.1,
                sent_per_second=12.5,
            )
            for one in plan.workers
        ),
        machines=tuple(
            MachinePrediction(
                name=one.name,
                cores=4.0,
                background=0.5,
                busy=1.0,
                engine=0.25,
                polling=0.25,
                overloaded=False,
            )
            for one in plan.cluster.machines
        ),
        notes=("taken as it is",),
        provenance={"plan_id": "abc123"},
    )
    return replace(found, **changes)


def seen(
    executors: int, busy: list[float], *, operator="work", rate=80.0, **changes
) -> PredictedPlan:
    plan = plan_of({"in": 2, operator: executors, "out": 2}, operator)
    return PredictedPlan(
        name=f"{executors} at work",
        plan=plan,
        workload=Workload(emissions=(Emission(source="in", per_second=rate),)),
        load="as measured",
        prediction=predicted(plan, {operator: busy}, **changes),
    )


def page_of(before: PredictedPlan | None, after: PredictedPlan, *others: Prediction) -> str:
    return PredictionReport(predicted=after, before=before, others=others).to_html(COMMAND)
