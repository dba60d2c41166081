"""Jobs that several tests run."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

from tests.simulation.oracles.job import ACKER, Executor, Job, Operator, Subscription
from tests.simulation.oracles.parts import constant, exponential


def chain(rate: float, *bolts: Operator, **settings: Any) -> Job:
    """A source, then bolts "1", "2" ... with one executor each, in one worker."""
    names = ["0", *map(str, range(1, len(bolts) + 1))]
    return Job(
        operators={"0": Operator(rate=rate), **dict(zip(names[1:], bolts, strict=True))},
        executors=[Executor(name) for name in names],
        subscriptions=[Subscription(a, b) for a, b in pairwise(names)],
        **settings,
    )


def acked(job: Job) -> Job:
    """The job with an acker that takes no time."""
    return replace(
        job,
        operators={**job.operators, ACKER: Operator()},
        executors=[*job.executors, Executor(ACKER)],
    )


def spread(**settings: Any) -> Job:
    """A source, two stages and ackers over two workers on two machines, all groupings."""
    return Job(
        operators={
            "s": Operator(cpu=exponential(0.05), rate=1.0, done_cpu=constant(0.01)),
            "a": Operator(cpu=exponential(0.2), outputs={"default": 1.5}),
            "b": Operator(cpu=constant(0.1), waiting=exponential(0.1)),
            "c": Operator(cpu=exponential(0.1)),
            ACKER: Operator(cpu=exponential(0.02)),
        },
        executors=[
            *[Executor("s", "w1"), Executor("a", "w1"), Executor("a", "w2", tasks=2)],
            *[Executor("b", "w1"), Executor("b", "w2"), Executor("c", "w2"), Executor("c", "w1")],
            *[Executor(ACKER, "w1"), Executor(ACKER, "w2")],
        ],
        subscriptions=[
            Subscription("s", "a"),
            Subscription("a", "b", "fields", weights=[3, 2, 1], table=[0, 1, 1]),
            Subscription("a", "c", "local-or-shuffle"),
            Subscription("b", "c", "all"),
            Subscription("s", "b", "global"),
        ],
        workers={"w1": "m1", "w2": "m2"},
        cores={"m1": 2, "m2": 1},
        latency={("w1", "w2"): 0.03, ("w2", "w1"): 0.02},
        serialise=constant(0.002),
        transfer=constant(0.003),
        **settings,
    )
