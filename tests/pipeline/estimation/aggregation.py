"""Partial sums of samples by the plainest means: loops over dictionaries."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa

from streamgauge.lake.definition import Kind
from streamgauge.lake.metrics import METRICS
from streamgauge.pipeline.estimation.blocks import common_block_seconds
from streamgauge.pipeline.estimation.schemas import SUBJECT_PARTIALS

LENGTHS = (30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
SERIES = SUBJECT_PARTIALS.names[: SUBJECT_PARTIALS.names.index("other_metric")]
TASK = ("cluster", "topology", "plan_id", "component", "task", "executor", "worker", "node")
EXECUTOR = tuple(name for name in TASK if name != "task")
WORKER = ("cluster", "topology", "plan_id", "worker", "node")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def block_of(sample, seconds=None):
    """Start in µs and length in s of the block that a sample's bucket starts in."""
    wanted = 5 * sample.bucket_seconds
    length = seconds or next((one for one in LENGTHS if one >= wanted), LENGTHS[-1])
    return sample.bucket_start_us // (length * 1_000_000) * length * 1_000_000, float(length)


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


def partials(samples, *, seconds=None, heartbeats=True):
    """Rows of partial sums with the columns of SUBJECT_PARTIALS.

    Args:
        samples: Records of the raw format.
        seconds: A block length instead of the rule's.
        heartbeats: Whether every task and executor gets its worker's heartbeats as rows.
    """
    sums = defaultdict(lambda: [0, 0, 0, 0, 0])
    counts = defaultdict(dict)
    for one, value, count in deltas(samples):
        metric = METRICS[one.metric]
        us = round(one.bucket_seconds * 1e6)
        start, length = block_of(one, seconds)
        row = sums[(*(getattr(one, name) for name in SERIES), None, None, None, start, length)]
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
        _factors(counts, one, value, start, length)
    _products(sums, counts)
    _rows_of_heartbeats(sums, samples, seconds, heartbeats)
    return _table(sums)


def _factors(counts, one, value, start, length):
    """Remember what is multiplied: by subject, block and bucket."""
    bucket = (start, length, one.bucket_start_us)
    key = (one.metric, one.stream, one.source_component)
    task = tuple((name, getattr(one, name)) for name in TASK)
    executor = tuple((name, getattr(one, name)) for name in EXECUTOR)
    if one.metric in ("executed", "emitted", "window_triggers"):
        counts[task, bucket][key] = int(value)
    if one.metric in ("executed", "window_triggers"):
        of_executor = counts[executor, bucket]
        of_executor[key] = of_executor.get(key, 0) + int(value)
    if one.metric in ("executor_cpu", "executor_idle"):
        counts[executor, bucket][key] = round(value / 1000)


def _products(sums, counts):
    explained = {"emitted", "executor_cpu"}
    for (subject, (start, length, _)), values in counts.items():
        owner = dict(subject)
        wanted = "emitted" if "task" in owner else "executor_cpu"
        for key, value in values.items():
            for other, factor in values.items():
                if not _is_wanted(key, other, explained, wanted):
                    continue
                series = [owner.get(name) for name in SERIES]
                for name, part in zip(("metric", "stream", "source_component"), key, strict=True):
                    series[SERIES.index(name)] = part
                row = sums[(*series, *other, start, length)]
                row[0] += 1
                row[3] += value * factor
                row[4] = None


def _is_wanted(key, other, explained, wanted):
    own, its = key[0] in explained, other[0] in explained
    if own:
        return key == other and key[0] == wanted
    if its:
        return other[0] == wanted
    return tuple(map(str, key)) <= tuple(map(str, other))


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
            row = sums[(*series, None, None, None, start, length)]
            row[0] += 1
            row[1] += round(beat.bucket_seconds * 1e6)
            row[2] += beat.count
            row[3] += int(beat.value)


def _table(sums):
    rows = []
    starts = [key[-2] for key in sums]
    longest = max(key[-1] for key in sums)
    common = common_block_seconds(longest, min(starts), max(starts))
    alive = defaultdict(int)
    for key, row in sums.items():
        named = dict(zip(SERIES, key, strict=False))
        if named["metric"] == "worker_heartbeats":
            place = (named["worker"], key[-2])
            alive[place] = max(alive[place], row[1])
    for key, (buckets, span, observations, total, squares) in sums.items():
        row = dict(zip(SERIES, key, strict=False))
        others = zip(("other_metric", "other_stream", "other_component"), key[-5:-2], strict=True)
        row |= dict(others)
        row |= {
            "block_start": EPOCH + timedelta(microseconds=key[-2]),
            "block_seconds": key[-1],
            "buckets": buckets,
            "span_us": span,
            "observations": observations,
            "total": Decimal(total),
            "squares": None if squares is None else Decimal(squares),
            "alive_us": alive.get((row["worker"], key[-2])),
            "common_block_seconds": common,
        }
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=SUBJECT_PARTIALS)
