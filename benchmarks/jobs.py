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
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.profile.job import Job
from streamgauge.simulation.results import SimulationResult
from streamgauge.simulation.topology_run import simulate
from streamgauge.topology import (
    Fields,
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
SOURCE_MS = 0.01
KEYS = {"uniform": {"count": 64}}
GROUPINGS: tuple[Grouping, ...] = (Shuffle(), Shuffle(), Fields(keys=("user",)), LocalOrShuffle())


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
    services: Mapping[str, Mapping[str, Any]],
    *,
    rate: float,
    tasks: int = 1,
    sources: int = 1,
    acked: bool = False,
    keyed: str = "",
    configuration: Mapping[str, Any] | None = None,
    cluster: Mapping[str, Any] | None = None,
) -> Job:
    """A source and operators in a row, shuffled but for one that gets its tuples by keys.

    Services, configuration and cluster are as in a job file. By default every task has an executor,
    on one machine with as many cores as they need.
    """
    names = ["source", *services]
    counts = dict.fromkeys(names, tasks) | {"source": sources}
    emits = {"outputs": {"default": 1}, "keys": {"default": KEYS}}
    document = {
        "streamgauge": 1,
        "topology": {
            "name": "chain",
            "acked": acked,
            "operators": {
                name: {"tasks": count, "kind": "processor" if name in services else "source"}
                for name, count in counts.items()
            },
            "streams": [
                {
                    "from": sender,
                    "to": receiver,
                    "grouping": {"fields": ["key"]} if receiver == keyed else "shuffle",
                }
                for sender, receiver in pairwise(names)
            ],
        },
        "behaviours": {
            "source": {"service": {"cpu_ms": SOURCE_MS}},
            **{name: {"service": service, **emits} for name, service in services.items()},
            names[-1]: {"service": services[names[-1]]},
        },
        "configuration": {"executors": counts, **(configuration or {})},
        "cluster": {"uniform": cluster or {"nodes": 1, "cores": 64}},
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
    streams = []
    for index in range(len(sources), operators):
        reach = range(max(0, index - 2 * len(sources) - 4), index)
        inputs = min(len(reach), generator.choice((1, 1, 2, 3)))
        streams += [
            Stream(
                source=names[sender],
                target=names[index],
                name="out",
                grouping=generator.choice(GROUPINGS),
            )
            for sender in sorted(generator.sample(reach, inputs))
        ]
    return Topology(
        name=f"random-{operators}",
        operators=make_operators(dict.fromkeys(names, tasks), sources),
        streams=tuple(streams),
        acked=True,
    )
