"""Partial sums of samples and counts of probes by the plainest means: loops over dictionaries."""

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta

from streamgauge.lake.definition import Kind
from streamgauge.lake.histogram import bin_of
from streamgauge.lake.metrics import METRICS
from streamgauge.lake.records import LinkKind
from streamgauge.lake.schemas import SAMPLES
from streamgauge.pipeline.estimation.assembly import LinkCounts
from tests.pipeline.estimation.rows import table

SERIES = SAMPLES.schema.names[: SAMPLES.schema.names.index("bucket_start")]
FACTORS = {"executed": 1, "emitted": 1, "window_triggers": 1}
FACTORS |= {"executor_cpu": 1000, "executor_idle": 1000}
TASK = ("cluster", "topology", "plan_id", "component", "task", "executor", "worker", "node")
EXECUTOR = tuple(name for name in TASK if name != "task")
WORKER = ("cluster", "topology", "plan_id", "worker", "node")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def block_of(sample, seconds):
    """Start in µs and length in s of the block that a sample's bucket starts in."""
    return sample.bucket_start_us // (seconds * 1_000_000) * seconds * 1_000_000, float(seconds)


def deltas(samples):
    """Samples whose cumulative values have become deltas; the first of a series has none."""
    before = {}
    for one in sorted(samples, key=lambda s: s.bucket_start_us):
        value, count = one.value, one.count
        if METRICS[one.metric].kind is Kind.CUMULATIVE:
            key = tuple(getattr(one, name) for name in SERIES)
            last = before.get(key)
            before[key] = (value, count)
            if last is None:
                continue
            if value >= last[0]:
                value, count = value - last[0], count - last[1]
        yield one, value, count


def partials(samples, *, buckets=5, heartbeats=True):
    """Sums with the columns of SERIES_SUMS, a series for each block.

    Args:
        samples: Records of the raw format.
        buckets: How many make a block.
        heartbeats: Whether every task and executor gets its worker's heartbeats as rows.
    """
    bucket = max(one.bucket_seconds for one in samples)
    seconds = round(buckets * bucket)
    sums = defaultdict(lambda: [0, 0, 0, 0, 0])
    slots = defaultdict(lambda: [None] * buckets)
    for one, value, count in deltas(samples):
        metric = METRICS[one.metric]
        us = round(one.bucket_seconds * 1e6)
        start, length = block_of(one, seconds)
        key = (*(getattr(one, name) for name in SERIES), start, length)
        row = sums[key]
        row[0] += 1
        row[1] += us
        row[2] += count
        if metric.kind is Kind.GAUGE:
            row[3] += round(value * us)
        elif metric.kind is Kind.MEAN:
            row[3] += round(value * count * 1e6)
        else:
            row[3] += int(value)
        squared = metric.counts_observations and metric.kind in (Kind.DELTA, Kind.CUMULATIVE)
        row[4] = row[4] + int(value) ** 2 if squared else None
        if one.metric in FACTORS:
            slot = int((one.bucket_start_us - start) // (bucket * 1e6))
            slots[key][slot] = (slots[key][slot] or 0) + round(value / FACTORS[one.metric])
    _rows_of_heartbeats(sums, samples, seconds, heartbeats)
    return _table(sums, slots, bucket)


def _rows_of_heartbeats(sums, samples, seconds, heartbeats):
    """How long each worker was alive by block; and for whom it ran."""
    if not heartbeats:
        return
    beats = [one for one in samples if one.metric == "worker_heartbeats"]
    members = defaultdict(set)
    for one in samples:
        if one.executor is not None and one.queue is None and one.source_task is None:
            names = TASK if one.task is not None else EXECUTOR
            members[one.worker].add(tuple((name, getattr(one, name)) for name in names))
    for beat in beats:
        start, length = block_of(beat, seconds)
        for member in members[beat.worker]:
            owner = dict(member) | {"metric": "worker_heartbeats"}
            series = tuple(owner.get(name) for name in SERIES)
            row = sums[(*series, start, length)]
            row[0] += 1
            row[1] += round(beat.bucket_seconds * 1e6)
            row[2] += beat.count
            row[3] += int(beat.value)


def _table(sums, slots, bucket):
    rows = []
    for key, (buckets, span, observations, total, squares) in sums.items():
        row = dict(zip(SERIES, key, strict=False))
        row |= {
            "block_start": EPOCH + timedelta(microseconds=key[-2]),
            "block_seconds": key[-1],
            "bucket_seconds": bucket,
            "buckets": buckets,
            "span_us": span,
            "observations": observations,
            "total": total,
            "squares": squares,
            "slots": slots.get(key),
        }
        rows.append(row)
        if row["metric"] in ("executed", "window_triggers") and row["executor"] is not None:
            rows.append(row | {"task": None, "source_task": row["task"]})
    return table(rows)


def link_counts(links):
    """Probes by the nodes at both ends, as if each had taken its record's mean time."""
    pairs = defaultdict(list)
    for one in links:
        pairs[one.source_node, one.target_node, one.kind].append(one)
    for (source, target, kind), records in pairs.items():
        bins = Counter()
        for one in records:
            bins[bin_of(one.mean_ns)] += one.received
        yield LinkCounts(
            source=source,
            target=target,
            kind=LinkKind(kind),
            total_ns=sum(one.mean_ns * one.received for one in records),
            probes=sum(one.received for one in records),
            measurements=len(records),
            bins=bins,
        )
