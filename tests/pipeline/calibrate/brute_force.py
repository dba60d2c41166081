"""Partial sums by loops over records, in Python's own whole numbers."""

from collections import defaultdict
from dataclasses import fields, replace

from streamgauge.lake.definition import Kind
from streamgauge.lake.metrics import METRICS
from streamgauge.lake.records import Sample
from streamgauge.pipeline.calibrate.lake_parts import STAND_INS, WANTED

SERIES = tuple(field.name for field in fields(Sample))[:15]
WORKER = ("cluster", "topology", "plan_id", "worker", "node")
HEARTBEATS = "worker_heartbeats"
DIVISORS = {"executed": 1, "emitted": 1, "window_triggers": 1}
DIVISORS |= {"executor_cpu": 1000, "executor_idle": 1000}


def length_us(one):
    return round(one.bucket_seconds * 1e6)


def needed(samples):
    """Without what nobody wants, and what exact metrics of that operator and day make useless."""

    def place(one):
        return one.cluster, one.topology, one.component, one.bucket_start_us // (86400 * 10**6)

    exact = defaultdict(set)
    for one in samples:
        exact[place(one)].add(one.metric)
    for one in samples:
        better = {metric.label for metric in STAND_INS.get(METRICS[one.metric], ())}
        if one.metric in WANTED and not (better and better <= exact[place(one)]):
            yield one


def heard(samples):
    """Heartbeats of zero for every bucket of workers that send none."""
    beating = {(s.cluster, s.topology, s.worker) for s in samples if s.metric == HEARTBEATS}
    found = {}
    for one in samples:
        if one.worker is not None and (one.cluster, one.topology, one.worker) not in beating:
            blank = {name: None for name in SERIES if name not in WORKER}
            beat = replace(one, **blank | {"metric": HEARTBEATS}, value=0.0, count=0)
            key = (beat.cluster, beat.topology, beat.worker, beat.bucket_start_us)
            found[key] = beat if beat.plan_id is not None else found.get(key, beat)
    return list(found.values())


def added(samples):
    """Counters as what was added in each bucket."""
    last = {}
    for one in sorted(samples, key=lambda s: s.bucket_start_us):
        if METRICS[one.metric].kind is not Kind.CUMULATIVE:
            yield one
            continue
        counter = tuple(getattr(one, name) for name in SERIES if name != "plan_id")
        before = last.get(counter)
        last[counter] = one
        longest = max(30_000_000, 6 * length_us(one))
        if before is None or one.bucket_start_us - before.bucket_start_us > longest:
            continue
        if one.value < before.value or one.count < before.count:
            yield one
        else:
            yield replace(one, value=one.value - before.value, count=one.count - before.count)


def placed(samples, periods):
    """Samples in periods, under the period's topology and plan."""
    for one in samples:
        for period in periods:
            if one.topology is not None:
                mine = one.topology == period.topology
            elif one.node is not None:
                mine = one.node in period.nodes
            else:
                mine = one.machine in period.machines
            inside = (
                period.from_us <= one.bucket_start_us
                and one.bucket_start_us + length_us(one) <= period.to_us
            )
            if (
                mine
                and inside
                and one.cluster == period.cluster
                and one.plan_id in (None, period.plan_id)
            ):
                yield replace(one, topology=period.topology, plan_id=period.plan_id), period


def seated(samples, periods):
    """Heartbeats of workers once more for each task and executor in them, and of nothing."""
    for one in samples:
        if one.metric != HEARTBEATS:
            continue
        for period in periods:
            for who in period.executors:
                if (one.cluster, one.topology) != (period.cluster, period.topology):
                    continue
                if who.worker == one.worker:
                    first, last = who.first_task, who.last_task
                    tasks = f"{first}-{last}" if first < last else first
                    beat = replace(one, component=who.component, value=0.0, count=0)
                    yield replace(beat, executor=f"{who.component}[{tasks}]")
                    for task in range(first, last + 1):
                        yield replace(beat, task=task)


def partial_sums(samples, periods):
    """By series and block: buckets, span, observations, total, squares, slots."""
    sums = {}
    known = [*added(list(needed(samples))), *heard(samples)]
    known += list(seated(known, periods))
    for one, period in placed(known, periods):
        metric = METRICS[one.metric]
        value = int(one.value) if metric.whole else one.value
        total = value
        if metric.kind is Kind.GAUGE:
            total = round(value * length_us(one))
        elif metric.kind is Kind.MEAN:
            total = round(value * one.count * 1e6)
        squared = metric.counts_observations and metric.kind in (Kind.DELTA, Kind.CUMULATIVE)
        start = one.bucket_start_us // period.block_us * period.block_us
        key = (*(getattr(one, name) for name in SERIES), start, period.block_us)
        squares = value**2 if squared else None
        row = (1, length_us(one), one.count, total, squares, slots(one, period))
        sums[key] = plus(sums.get(key), row)
    return {key: rounded(row) for key, row in sums.items()}


def rounded(row):
    """A row whose sums are rounded as far as a double surely has their digits."""
    buckets, span, observations, total, squares, slots_of = row
    numbers = (None if one is None else float(f"{float(one):.14g}") for one in (total, squares))
    return (buckets, span, observations, *numbers, slots_of)


def slots(one, period):
    """What is multiplied, by bucket."""
    if one.metric not in DIVISORS:
        return None
    slot = one.bucket_start_us // period.bucket_us
    return {slot: round(one.value / DIVISORS[one.metric])}


def plus(row, more):
    if row is None:
        return more
    return tuple(_added(a, b) for a, b in zip(row, more, strict=True))


def _added(one, other):
    if one is None:
        return None
    if isinstance(one, dict):
        slots = sorted({*one, *other})
        return {slot: one.get(slot, 0) + other.get(slot, 0) for slot in slots}
    return one + other
