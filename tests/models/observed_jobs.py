"""Profiles of a small job with observations of known curves, for tests of fitted capacities."""

from dataclasses import replace

import numpy as np

from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    OutputFigures,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.observed import ObservedPlan, TaskSteps
from streamgauge.profile.profile import Profile
from streamgauge.topology import Cluster, Configuration, Operator, Topology
from streamgauge.topology.topology import StreamKey
from tests.models.plans import source, stream

IN, WORDS = StreamKey("spout", "default"), StreamKey("splitter", "words")
TASKS, ALPHA = 12, 4.0


def job(**executors):
    """spout → splitter → counter, with a millisecond a sentence and 0.1 ms a word."""
    topology = Topology(
        name="wc",
        operators=[
            source("spout"),
            Operator(name="splitter", tasks=TASKS),
            Operator(name="counter", tasks=TASKS),
        ],
        streams=[stream("spout", "splitter"), stream("splitter", "counter", "words")],
        acked=False,
    )
    wanted = {"spout": 1, "splitter": 3, "counter": 4} | executors
    configuration = Configuration(
        engine="storm-2",
        executors=wanted,
        workers=1,
        settings={"topology.disable.loadaware.messaging": True},
    )
    tasks = {}
    for place in range(TASKS):
        for name, key, ms in (("splitter", IN, 1.0), ("counter", WORDS, 0.1)):
            wall = TimeFigures(
                mean_ms=Figure(value=ms, samples=1000, buckets=20, standard_error=0.001 * ms),
                scv=Figure(value=1.0, samples=1000, buckets=20),
            )
            figures = InputFigures(per_second=Figure(value=10.0), wall=wall, cpu=wall)
            words = OutputFigures(coefficients={IN: Figure(value=ALPHA, samples=1000, buckets=20)})
            outputs = {"words": words} if name == "splitter" else {}
            tasks[TaskId(name, place)] = TaskProfile(inputs={key: figures}, outputs=outputs)
    return Profile(
        topology=topology,
        configuration=configuration,
        cluster=Cluster.uniform(nodes=1, cores=16),
        tasks=tasks,
    )


def observed(
    executors, *, capacity=200.0, loads=(0.3, 0.6, 1.5), steps=8, noise=0.01, seed=1, pressed=True
):
    """A plan whose splitters saturate at so much each, for some minutes at each load.

    Without back-pressure, what a source emits beyond that waits.
    """
    generator = np.random.default_rng(seed)
    offered = np.repeat(np.asarray(loads) * capacity * executors, steps)
    offered = offered * (1.0 + noise * generator.standard_normal(len(offered)))
    full = offered > capacity * executors
    most = capacity * executors * (1.0 + noise * generator.standard_normal(len(offered)))
    done = np.where(full, most, offered)
    sent = done if pressed else offered
    held = np.where(full & pressed, 0.98, 0.0)

    def row(values):
        return tuple(float(one) for one in values)

    return ObservedPlan(
        plan_id=f"p{executors}",
        executors={"spout": 1, "splitter": executors, "counter": 4},
        minutes=(1.0,) * len(offered),
        tasks={
            "spout": {"0": TaskSteps(outputs={"default": row(sent)})},
            "splitter": {
                str(place): TaskSteps(
                    inputs={IN: row(done / TASKS)},
                    outputs={"words": row(ALPHA * done / TASKS)},
                    backpressure=row(held) if held.any() else (),
                )
                for place in range(TASKS)
            },
            "counter": {
                str(place): TaskSteps(inputs={WORDS: row(ALPHA * done / TASKS)})
                for place in range(TASKS)
            },
        },
        cores={"splitter": row(0.1 * executors + 0.001 * ALPHA * done)},
    )


def profile_of(*plans, **executors):
    """The job with such observations."""
    return replace(job(**executors), observed=plans)
