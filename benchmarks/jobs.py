"""Jobs that several studies use, and how a job is simulated."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.contract import Model
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.prediction import Prediction
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.profile.job import Job
from streamgauge.simulation.results import SimulationResult
from streamgauge.simulation.topology_run import simulate
from streamgauge.topology import (
    All,
    Fields,
    Global,
    Grouping,
    LocalOrShuffle,
    Operator,
    OperatorKind,
    PhysicalPlan,
    Shuffle,
    Stream,
    Topology,
)

ANALYTIC = AnalyticModel()
GROUPINGS: tuple[Grouping, ...] = (
    *(Shuffle(), Shuffle(), Fields(keys=("user",)), LocalOrShuffle()),
    *(Global(), All()),
)
# From this size on, streams to one task or to all of them would be all that counts.
MANY_OPERATORS = 100


def simulate_job(job: Job, plan: PhysicalPlan | None = None, **options: Any) -> SimulationResult:
    """What a job does under its own workload, on its own plan unless another one is given."""
    assert job.workload is not None
    return simulate(plan or place_job(job).plan, job.behaviours, job.workload, **options)


def predict_job(
    job: Job, plan: PhysicalPlan, behaviour: JobBehaviour, model: Model = ANALYTIC
) -> Prediction:
    """What a model predicts of a plan under a job's workload, from the job's behaviour."""
    assert job.workload is not None
    return model.predict(behaviour, plan, job.workload)


def chain_job(
    services: Mapping[str, Mapping[str, Any]], *, rate: float, tasks: int = 1, acked: bool = False
) -> Job:
    """A source and operators in a row, shuffled, each with its service as in a job file."""
    names = ["source", *services]
    behaviours = {
        name: {"service": service, "outputs": {"default": 1} if name != names[-1] else {}}
        for name, service in services.items()
    }
    document = {
        "streamgauge": 1,
        "topology": {
            "name": "chain",
            "acked": acked,
            "operators": {"source": {"kind": "source"}}
            | {name: {"tasks": tasks} for name in services},
            "streams": [
                {"from": sender, "to": receiver, "grouping": "shuffle"}
                for sender, receiver in pairwise(names)
            ],
        },
        "behaviours": behaviours,
        "configuration": {"executors": dict.fromkeys(services, tasks)},
        "cluster": {"uniform": {"nodes": 1, "cores": 64}},
        "workload": [{"source": "source", "per_second": rate}],
    }
    return parse_job(json.dumps(document))


def make_operators(tasks: Mapping[str, int], sources: Collection[str]) -> tuple[Operator, ...]:
    """Operators with so many tasks each, some of them sources."""
    return tuple(
        Operator(
            name=name,
            kind=OperatorKind.SOURCE if name in sources else OperatorKind.PROCESSOR,
            tasks=count,
        )
        for name, count in tasks.items()
    )


def random_topology(operators: int, *, tasks: int, seed: int) -> Topology:
    """An acked topology without cycles: a tenth are sources, all others have 1 to 3 inputs.

    Inputs come from operators not far back, so that depth and width both grow with size.
    """
    generator = random.Random(seed)
    sources = [f"source-{index}" for index in range(max(1, operators // 10))]
    names = sources + [f"operator-{index}" for index in range(len(sources), operators)]
    groupings = GROUPINGS if operators < MANY_OPERATORS else GROUPINGS[:4]
    streams = []
    for index in range(len(sources), operators):
        reach = range(max(0, index - 2 * len(sources) - 4), index)
        inputs = min(len(reach), generator.choice((1, 1, 2, 3)))
        streams += [
            Stream(
                source=names[sender],
                target=names[index],
                name="out",
                grouping=generator.choice(groupings),
            )
            for sender in sorted(generator.sample(reach, inputs))
        ]
    return Topology(
        name=f"random-{operators}",
        operators=make_operators(dict.fromkeys(names, tasks), sources),
        streams=tuple(streams),
        acked=True,
    )
