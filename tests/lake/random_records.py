"""Random records that receivers take, for hypothesis."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import strategies as st

from streamgauge.lake.definition import QUEUES, Level
from streamgauge.lake.field_rules import MOST_WHOLE
from streamgauge.lake.histogram import LAST_BIN
from streamgauge.lake.metrics import METRICS, Metric
from streamgauge.lake.raw import Event, Hop, Link, PlacedExecutor, Plan, Sample, Trace
from streamgauge.lake.record_types import keys_of
from streamgauge.lake.records import EventKind, LinkKind, Outcome, SampleGroup

names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
texts = st.text(max_size=20)
tasks = st.integers(0, 2**31 - 1)
times = st.integers(0, MOST_WHOLE)
moments_ns = st.integers(-MOST_WHOLE, MOST_WHOLE)
counts = st.integers(0, MOST_WHOLE)
wholes = st.integers(0, MOST_WHOLE).map(float) | st.floats(2.0**53, 1e300)

_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "task": tasks,
    "source_task": tasks,
    "bin": st.integers(0, LAST_BIN),
    "bucket_start_us": times,
    "bucket_seconds": st.floats(0, 86_400, exclude_min=True),
}


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    metric = draw(st.sampled_from(Metric))
    queue = draw(st.sampled_from(sorted(QUEUES))) if metric.level is Level.QUEUE else None
    required, allowed = keys_of(metric, QUEUES[queue] if queue else None)
    fields = {"metric": metric.label, "queue": queue}
    for field in dataclasses.fields(Sample):
        key = field.name
        if key in allowed and key not in {"metric", "queue", "value", "count"}:
            strategy = _VALUES.get(key, names)
            fields[key] = draw(strategy if key in required else some(strategy))
    return Sample(**fields, **draw(figures(metric)))


@st.composite
def figures(draw: st.DrawFn, metric: Metric) -> dict[str, Any]:
    """Value and count of a sample."""
    count = draw(counts)
    value = draw(wholes if metric.whole else st.floats(0, 1e300))
    if metric.may_be_negative and draw(st.booleans()):
        value = -value
    if metric.counts_observations:
        value = max(value, float(count))
    return {"value": value if count else 0.0, "count": count}


@st.composite
def groups(draw: st.DrawFn) -> SampleGroup:
    """Samples that differ in their metrics, or in their bins."""
    first = draw(samples())
    metric = METRICS[first.metric]
    if first.bin is not None:
        bins = sorted(draw(st.sets(st.integers(0, LAST_BIN), min_size=1, max_size=4)))
        alike = [dataclasses.replace(first, bin=one, **draw(figures(metric))) for one in bins]
        return SampleGroup(tuple(alike))
    keys = (metric.level, metric.keys)
    others = [one for one in Metric if (one.level, one.keys) == keys]
    chosen = draw(st.lists(st.sampled_from(others), min_size=1, max_size=4, unique=True))
    return SampleGroup(
        tuple(dataclasses.replace(first, metric=one.label, **draw(figures(one))) for one in chosen)
    )


placed_executors = st.builds(
    lambda first, length, **rest: PlacedExecutor(
        first_task=first, last_task=min(first + length, 2**31 - 1), **rest
    ),
    tasks,
    st.integers(0, 9),
    component=names,
    worker=names,
    node=names,
    machine=some(names),
)

plans = st.builds(
    lambda start, length, **rest: Plan(
        valid_from_us=start, valid_to_us=length and start + length, **rest
    ),
    st.integers(0, MOST_WHOLE // 2),
    some(st.integers(1, MOST_WHOLE // 2)),
    cluster=some(names),
    topology=names,
    plan_id=names,
    engine=names,
    document=texts.filter(str.strip),
    executors=st.lists(placed_executors, min_size=1, max_size=3).map(tuple),
)


def hops(stream: st.SearchStrategy[Any]) -> st.SearchStrategy[Hop]:
    return st.builds(
        lambda three, **rest: Hop(
            arrived_ns=three[0], started_ns=three[1], finished_ns=three[2], **rest
        ),
        st.lists(moments_ns, min_size=3, max_size=3).map(sorted),
        component=names,
        task=tasks,
        stream=stream,
        key=some(texts),
    )


traces = st.builds(
    Trace,
    cluster=some(names),
    topology=names,
    plan_id=some(names),
    root=names,
    path=tasks,
    started_at_us=times,
    hops=st.builds(
        lambda first, others: (first, *others),
        hops(st.none()),
        st.lists(hops(names), max_size=3),
    ),
    latency_ns=moments_ns,
    complete_latency_ns=some(counts),
    outcome=st.sampled_from(Outcome).map(str),
)


@st.composite
def links(draw: st.DrawFn) -> Link:
    kind = draw(st.sampled_from(LinkKind))
    sent = draw(st.integers(1, 2**31 - 1))
    received = draw(st.integers(0, sent))
    moments = counts if kind is LinkKind.ROUND_TRIP else moments_ns
    three = sorted(draw(st.lists(moments, min_size=3, max_size=3))) if received else [None] * 3
    return Link(
        cluster=draw(some(names)),
        source_node=draw(names),
        target_node=draw(names),
        kind=str(kind),
        measured_at_us=draw(times),
        sent=sent,
        received=received,
        least_ns=three[0],
        mean_ns=three[1],
        most_ns=three[2],
    )


events = st.builds(
    Event,
    cluster=some(names),
    topology=names,
    plan_id=some(names),
    happened_at_us=times,
    kind=st.sampled_from(EventKind).map(str),
    component=some(names),
    task=some(tasks),
    worker=some(names),
    node=some(names),
    name=names,
    detail=some(texts),
)

records = samples() | plans | traces | links() | events
