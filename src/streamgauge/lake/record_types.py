"""The shape of each record type: its keys, and what must hold between them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from streamgauge.lake.definition import QUEUES, Level, Queue
from streamgauge.lake.field_rules import (
    MOST_INT32,
    MOST_WHOLE,
    Check,
    Fault,
    Reason,
    Rejected,
    Shape,
    duration,
    each,
    each_value,
    finite,
    name,
    reject,
    text,
    time,
    whole,
    word,
)
from streamgauge.lake.histogram import LAST_BIN
from streamgauge.lake.metrics import METRICS, Metric
from streamgauge.lake.records import (
    Event,
    EventKind,
    Hop,
    Link,
    LinkKind,
    Outcome,
    PlacedExecutor,
    Plan,
    Sample,
    Trace,
)

MOST_BUCKET_SECONDS = 86_400.0

_TASK = whole(0, MOST_INT32)
_SIGNED_NS = whole(-MOST_WHOLE, MOST_WHOLE)
# Every sample has these, whatever its metric; `cluster` it may have.
_ALWAYS = frozenset({"metric", "bucket_start_us", "bucket_seconds", "value", "count"})
_ANYWHERE = frozenset({"cluster"})
_SAMPLE_KEYS = tuple(field.name for field in dataclasses.fields(Sample))


def _shape(
    record: type, checks: Mapping[str, Check], agreement: Callable[[Mapping[str, Any]], Fault]
) -> Shape:
    """A shape whose keys are the fields of `record`; names unless `checks` says otherwise."""
    fields = dataclasses.fields(record)
    return Shape(
        checks={field.name: checks.get(field.name, name) for field in fields},
        required=frozenset(field.name for field in fields if field.default is dataclasses.MISSING),
        agreement=agreement,
    )


def keys_of(metric: Metric, queue: Queue | None) -> tuple[frozenset[str], frozenset[str]]:
    """The keys that a sample of `metric` must have, and all those that it may have."""
    required = _ALWAYS | metric.level.required | frozenset(metric.keys)
    optional = metric.level.optional | _ANYWHERE
    if queue is not None and metric.level is Level.QUEUE:
        required |= queue.required
        optional |= queue.optional
    return required, required | optional


def subjects_table() -> str:
    """The Markdown table of what names the subject of a sample, for the page on the raw format."""
    lines = ["| level | needs | may have |", "|---|---|---|"]
    for level in Level:
        for queue in Queue if level is Level.QUEUE else (None,):
            label = f"{level.label} `{queue.label}`" if queue else level.label
            required = level.required | (queue.required if queue else frozenset())
            optional = level.optional | (queue.optional if queue else frozenset()) | _ANYWHERE
            cells = [
                ", ".join(f"`{key}`" for key in _SAMPLE_KEYS if key in keys)
                for keys in (required, optional)
            ]
            lines.append(f"| {label} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines) + "\n"


_KEYS = {
    (metric.label, queue): keys_of(metric, QUEUES[queue] if queue else None)
    for metric in Metric
    for queue in (None, *QUEUES)
}


def _sample_agrees(sample: Mapping[str, Any]) -> Fault:
    metric = METRICS[sample["metric"]]
    required, allowed = _KEYS[metric.label, sample.get("queue")]
    keys = sample.keys()
    if not required <= keys:
        missing = ", ".join(sorted(required - keys))
        return Rejected(Reason.MISSING_KEY, f"no {missing}, which {metric} needs")
    if not keys <= allowed:
        spare = ", ".join(sorted(keys - allowed))
        return Rejected(Reason.MISPLACED_KEY, f"{spare}, which {metric} does not use")
    return _figures_agree(metric, sample["value"], sample["count"])


def _figures_agree(metric: Metric, value: float, count: int) -> Fault:
    if value < 0 and not metric.may_be_negative:
        return reject(Reason.NEGATIVE, "value", value, f"at least 0 for {metric}")
    if metric.whole and value % 1:
        return reject(Reason.INCONSISTENT, "value", value, f"a whole number for {metric}")
    if not count and value:
        return reject(Reason.INCONSISTENT, "count", count, "at least 1 where the value is not 0")
    if metric.counts_observations and value < count:
        return reject(Reason.INCONSISTENT, "count", count, f"at most the value of {metric}")
    return None


def _executor_agrees(executor: Mapping[str, Any]) -> Fault:
    if executor["first_task"] <= executor["last_task"]:
        return None
    expected = f"at least first_task, {executor['first_task']}"
    return reject(Reason.INCONSISTENT, "last_task", executor["last_task"], expected)


def _plan_agrees(plan: Mapping[str, Any]) -> Fault:
    end = plan.get("valid_to_us")
    if end is not None and end <= plan["valid_from_us"]:
        return reject(Reason.INCONSISTENT, "valid_to_us", end, "a time after valid_from_us")
    if not plan["document"].strip():
        return reject(Reason.INCONSISTENT, "document", plan["document"], "a job file")
    return None


def _hop_agrees(hop: Mapping[str, Any]) -> Fault:
    if hop["arrived_ns"] <= hop["started_ns"] <= hop["finished_ns"]:
        return None
    return Rejected(Reason.INCONSISTENT, "times; expected arrived_ns ≤ started_ns ≤ finished_ns")


def _trace_agrees(trace: Mapping[str, Any]) -> Fault:
    first, *others = trace["hops"]
    if "stream" in first:
        return Rejected(Reason.MISPLACED_KEY, "hops[0]: stream; expected none at the source")
    if not all("stream" in hop for hop in others):
        return Rejected(Reason.MISSING_KEY, "hops: stream; expected one at all but the source")
    return None


def _link_agrees(link: Mapping[str, Any]) -> Fault:
    if link["received"] > link["sent"]:
        return reject(Reason.INCONSISTENT, "received", link["received"], "at most sent")
    times = [link[key] for key in ("least_ns", "mean_ns", "most_ns") if key in link]
    if len(times) != (3 if link["received"] else 0):
        expected = "least_ns, mean_ns and most_ns where a probe was answered, else none"
        return Rejected(Reason.INCONSISTENT, f"{len(times)} times; expected {expected}")
    if times != sorted(times):
        return reject(Reason.INCONSISTENT, "times", times, "least_ns ≤ mean_ns ≤ most_ns")
    if times and times[0] < 0 and link["kind"] == LinkKind.ROUND_TRIP:
        return reject(Reason.NEGATIVE, "least_ns", times[0], "at least 0 for a round trip")
    return None


def _event_agrees(event: Mapping[str, Any]) -> Fault:
    step = event["kind"] in {EventKind.STEP_BEGIN, EventKind.STEP_END}
    if step and "name" not in event:
        return Rejected(Reason.MISSING_KEY, "no name, which a step needs")
    if not step and "topology" not in event and "node" not in event:
        return Rejected(Reason.MISSING_KEY, "no topology and no node; expected one of them")
    return None


HOP = _shape(
    Hop,
    {
        "task": _TASK,
        "key": text,
        "arrived_ns": _SIGNED_NS,
        "started_ns": _SIGNED_NS,
        "finished_ns": _SIGNED_NS,
    },
    _hop_agrees,
)
PLACED_EXECUTOR = _shape(
    PlacedExecutor, {"first_task": _TASK, "last_task": _TASK}, _executor_agrees
)

SHAPES = {
    Sample.type: _shape(
        Sample,
        {
            "task": _TASK,
            "queue": word(QUEUES),
            "metric": word(METRICS, Reason.UNKNOWN_METRIC),
            "source_task": _TASK,
            "bin": whole(0, LAST_BIN),
            "bucket_start_us": time,
            "bucket_seconds": duration(MOST_BUCKET_SECONDS),
            "value": finite,
            "count": whole(),
        },
        _sample_agrees,
    ),
    Plan.type: _shape(
        Plan,
        {
            "valid_from_us": time,
            "valid_to_us": time,
            "document": text,
            "executors": each(PLACED_EXECUTOR),
        },
        _plan_agrees,
    ),
    Trace.type: _shape(
        Trace,
        {
            "path": whole(0, MOST_INT32),
            "started_at_us": time,
            "hops": each(HOP),
            "latency_ns": _SIGNED_NS,
            "complete_latency_ns": whole(),
            "outcome": word({one.value: one for one in Outcome}),
        },
        _trace_agrees,
    ),
    Link.type: _shape(
        Link,
        {
            "kind": word({one.value: one for one in LinkKind}),
            "measured_at_us": time,
            "sent": whole(1, MOST_INT32),
            "received": whole(0, MOST_INT32),
            "least_ns": _SIGNED_NS,
            "mean_ns": _SIGNED_NS,
            "most_ns": _SIGNED_NS,
        },
        _link_agrees,
    ),
    Event.type: _shape(
        Event,
        {
            "happened_at_us": time,
            "kind": word({one.value: one for one in EventKind}),
            "task": _TASK,
            "detail": text,
        },
        _event_agrees,
    ),
}

# What lines of several samples have as lists, and the keys of a sample that these stand for.
LISTS = {"metrics": "metric", "bins": "bin", "values": "value", "counts": "count"}


def _list_shape(*lists: str) -> Shape:
    """The shape of a line of several samples that differ in what `lists` holds."""
    sample = SHAPES[Sample.type]
    names = {LISTS[one]: one for one in lists}
    checks = {
        names.get(key, key): each_value(check) if key in names else check
        for key, check in sample.checks.items()
        if key != "bin" or key in names
    }
    # Exact counts equal their values, and are left out.
    required = ({names.get(key, key) for key in sample.required} | {*lists}) - {"counts"}
    return Shape(checks=checks, required=frozenset(required), agreement=_group_agrees)


def _group_agrees(group: Mapping[str, Any]) -> Fault:
    sizes = {len(group[key]) for key in LISTS if key in group}
    if len(sizes) > 1:
        return Rejected(Reason.INCONSISTENT, "lists of several lengths; expected equal ones")
    if "counts" not in group and not all(_is_count(value) for value in group["values"]):
        return Rejected(Reason.INCONSISTENT, "no counts; expected them where values are no counts")
    if "metrics" in group and len(set(group["metrics"])) < len(group["metrics"]):
        return Rejected(Reason.INCONSISTENT, "metrics: one twice; expected each once")
    bins = group.get("bins", [])
    if any(after <= before for before, after in pairwise(bins)):
        return Rejected(Reason.INCONSISTENT, "bins: not ascending; expected each once, in order")
    for index, sample in enumerate(samples_in(group)):
        fault = _sample_agrees(sample)
        if fault is not None:
            return Rejected(fault.reason, f"[{index}]: {fault.detail}")
    return None


def _is_count(value: float) -> bool:
    return 0 <= value <= MOST_WHOLE and not value % 1


def samples_in(group: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The keys of each sample of a line that holds several."""
    same = {key: value for key, value in group.items() if key not in LISTS}
    lists = {LISTS[key]: values for key, values in group.items() if key in LISTS}
    counts = lists.setdefault("count", [int(value) for value in lists["value"]])
    for place in range(len(counts)):
        yield same | {key: values[place] for key, values in lists.items()}


SHAPES["samples"] = _list_shape("metrics", "values", "counts")
SHAPES["histogram"] = _list_shape("bins", "values", "counts")
