"""Profiles and records for tests: a job as it would be measured, and records that lack nothing."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any

from streamgauge.profile.figures import (
    ExecutorFigures,
    Figure,
    HostFigures,
    InputFigures,
    Juice,
    LinkFigures,
    OutputFigures,
    Period,
    QueueFigures,
    RateSeries,
    Replicas,
    Saturation,
    Shares,
    TaskId,
    TaskProfile,
    TimeFigures,
    WorkerFigures,
)
from streamgauge.profile.keys import ZipfKeys
from streamgauge.profile.profile import Profile
from streamgauge.topology import (
    Cluster,
    Configuration,
    Fields,
    LogicalPlan,
    Operator,
    OperatorKind,
    Shuffle,
    Stream,
    StreamKey,
    Topology,
    Window,
)

SENTENCES = StreamKey("sentences", "default")
WORDS = StreamKey("splitter", "words")


def figure(value: float, error: float = 0.01, samples: int = 60_000, buckets: int = 180) -> Figure:
    """A well measured figure, unless said otherwise; `error` is relative."""
    return Figure(
        value=value, samples=samples, buckets=buckets, standard_error=round(value * error, 6)
    )


def times(mean: float, scv: float | None = 0.8, **more: Any) -> TimeFigures:
    """A well measured time with a median and a 99th percentile."""
    return TimeFigures(
        mean_ms=figure(mean, **more),
        scv=None if scv is None else figure(scv, **more),
        quantiles_ms={0.5: round(0.7 * mean, 6), 0.99: round(4.6 * mean, 6)},
    )


def topology(splitters: int = 4) -> Topology:
    """Word count: sentences → splitter → counter, and a window at the end."""
    return Topology(
        name="word-count",
        operators=(
            Operator(name="sentences", kind=OperatorKind.SOURCE, tasks=2),
            Operator(name="splitter", tasks=splitters),
            Operator(name="counter", tasks=3),
            Operator(name="report", window=Window(length_seconds=10.0)),
        ),
        streams=(
            Stream(source="sentences", target="splitter", grouping=Shuffle()),
            Stream(
                source="splitter", target="counter", name="words", grouping=Fields(keys=("word",))
            ),
            Stream(source="counter", target="report", grouping=Shuffle()),
        ),
    )


def word_count(splitters: int = 4, **changed: Any) -> Profile:
    """Word count as half an hour of metrics would show it; `changed` replaces fields."""
    job = topology(splitters)
    executors = {operator.name: operator.tasks for operator in job.operators}
    configuration = Configuration(executors=executors, workers=2)
    plan = LogicalPlan.of(job, configuration)
    placement = {
        executor.label: f"node-{1 + index % 2}:6700"
        for index, executor in enumerate(plan.executors)
    }
    workers = sorted(set(placement.values()))
    parts: dict[str, Any] = {
        "cluster": Cluster.uniform(nodes=2, slots=1, cores=4),
        "tasks": _tasks(splitters),
        "executors": {label: _executor(index) for index, label in enumerate(placement)},
        "workers": {
            worker: WorkerFigures(
                cores=figure(1.6),
                threads=figure(5.0),
                transfer_cores=figure(0.11),
                network_cores=figure(0.09),
                gc_cores=figure(0.05),
                window_cores=figure(0.01),
                timer_cores=figure(0.02),
                jit_cores=figure(0.015),
                agent_cores=figure(0.005),
                run_delay=figure(0.3),
                executed_per_second=figure(5200.0),
                messages_per_second=figure(1900.0),
                engine_ms_per_tuple=figure(0.012),
                heap_bytes=figure(420e6),
                bytes_per_second=figure(2.4e6),
                transfer=QueueFigures(length=figure(1.2), limit=figure(1024.0)),
            )
            for worker in workers
        },
        "nodes": {
            name: HostFigures(cores=figure(1.7), threads=figure(5.0))
            for name in ("node-1", "node-2")
        },
        "machines": {
            "host-7": HostFigures(
                cores=figure(3.5), threads=figure(10.0), available=figure(4.0), stolen=figure(0.02)
            )
        },
        "links": (
            LinkFigures(source="node-1", target="node-2", latency=times(0.21, samples=900)),
            LinkFigures(source="node-2", target="node-1", latency=times(0.19, samples=900)),
        ),
        "keys": {WORDS: ZipfKeys(count=1000)},
        "sources": {
            SENTENCES: RateSeries(
                start="2026-01-01T00:00:00Z", step_seconds=60.0, per_second=(2000.0, None, 2010.5)
            )
        },
        "juice": Juice(topology=figure(0.875), operators={"counter": 0.9, "report": 0.875}),
        "saturation": {
            "splitter": (
                Saturation("a41f", splitters, 10.0, 2000.0, 15_200.0, 0.0),
                Saturation("77b0", 2, 10.0, 1800.0, 13_600.0, 0.4),
            )
        },
        "backpressure_minutes": 2.5,
        "placement": placement,
        "plan_id": "a41f",
        "period": Period(start="2026-01-01T00:00:00Z", end="2026-01-01T00:30:00Z"),
        "replicas": Replicas(count=100, blocks=60, block_seconds=30.0, file="replicas.parquet"),
        "notes": ("the first 2 minutes were left out as warm-up",),
    }
    return Profile(topology=job, configuration=configuration, **{**parts, **changed})


def _tasks(splitters: int) -> dict[TaskId, TaskProfile]:
    tasks = {
        TaskId("sentences", place): TaskProfile(
            outputs={
                "default": OutputFigures(
                    per_second=figure(1000.0),
                    wall=times(0.05),
                    bytes=figure(52.0),
                    shares={
                        "splitter": Shares(
                            parts=(1.0 / splitters,) * splitters, samples=60_000, buckets=180
                        )
                    },
                    complete=times(12.0),
                )
            }
        )
        for place in range(2)
    }
    for place in range(splitters):
        tasks[TaskId("splitter", place)] = TaskProfile(
            inputs={
                SENTENCES: InputFigures(
                    per_second=figure(2000.0 / splitters),
                    dispersion=figure(1.1),
                    dispersions={10.0: figure(1.1), 60.0: figure(1.4)},
                    wall=times(0.4 + 0.01 * place),
                    cpu=times(0.3),
                )
            },
            outputs={
                "words": OutputFigures(
                    per_second=figure(15_200.0 / splitters),
                    coefficients={SENTENCES: figure(7.6)},
                    linear=True,
                    bytes=figure(18.0),
                    shares={"counter": Shares(parts=(0.5, 0.3, 0.2), samples=60_000, buckets=180)},
                )
            },
            backpressure=figure(0.02),
        )
    for place, part in enumerate((0.5, 0.3, 0.2)):
        tasks[TaskId("counter", place)] = TaskProfile(
            inputs={
                WORDS: InputFigures(
                    per_second=figure(15_200.0 * part), share=figure(part), wall=times(0.02)
                )
            },
            outputs={
                "default": OutputFigures(
                    per_second=figure(100.0 * part), coefficients={WORDS: figure(0.0066)}
                )
            },
        )
    tasks[TaskId("report", 0)] = TaskProfile(
        inputs={
            StreamKey("counter", "default"): InputFigures(
                per_second=figure(100.0), wall=times(0.01)
            )
        },
        window=times(35.0, samples=180),
        window_tuples=figure(1000.0),
        triggers_per_second=figure(0.1),
        end_to_end={"sentences": times(25.0)},
    )
    return tasks


def _executor(index: int) -> ExecutorFigures:
    return ExecutorFigures(
        capacity=figure(0.2 + 0.01 * index),
        cores=figure(0.3),
        idle_cores=figure(0.05),
        run_delay=figure(0.04),
        slowdown=figure(1.12),
        idle=figure(0.5),
        held=figure(0.01),
        receive=QueueFigures(
            per_second=figure(500.0),
            length=figure(2.0 + index),
            limit=figure(1024.0),
            sojourn=times(3.0),
        ),
    )


def filled(record: type) -> Any:
    """A record in which no field is left at its default."""
    return record(**{name: _value(hint) for name, hint in typing.get_type_hints(record).items()})


def _value(hint: Any) -> Any:
    """A value of that type that is no field's default."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return _value(arguments[0])
    if origin is tuple:
        return (_value(arguments[0]),)
    if origin is Mapping:
        return {_value(arguments[0]): _value(arguments[1])}
    plain: dict[Any, Any] = {float: 1.0, int: 3, str: "a", bool: True}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return list(hint)[-1]
    if hint is Shares:
        return Shares(parts=(0.25, 0.75), samples=3, buckets=3)
    return plain[hint] if hint in plain else filled(hint)
