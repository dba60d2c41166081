"""Partial sums by loops over records, in Python's own whole numbers."""

from collections import defaultdict
from dataclasses import fields, replace

from streamgauge.lake.definition import Kind
from streamgauge.lake.metrics import METRICS
from streamgauge.lake.records import Sample
from streamgauge.pipeline.calibrate.wanted import STAND_INS, WANTED

LENGTHS = (30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
SERIES = tuple(field.name for field in fields(Sample))[:15]
SUBJECT = ("cluster", "topology", "plan_id", "component", "task", "executor", "worker", "node")
WORKER = ("cluster", "topology", "plan_id", "worker", "node")
HEARTBEATS = "worker_heartbeats"
COUNTS = ("executed", "emitted", "window_triggers")


def length_us(one):
    return round(one.bucket_seconds * 1e6)


def block_of(one):
    """Start and length of the block of a sample, in microseconds."""
    fitting = [s for s in LENGTHS if s * 1_000_000 >= 5 * length_us(one)]
    block = (fitting or [86400])[0] * 1_000_000
    return one.bucket_start_us // block * block, block


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
        if before is None or one.bucket_start_us - before.bucket_start_us > block_of(one)[1]:
            continue
        if one.value < before.value or one.count < before.count:
            yield one
        else:
            yield replace(one, value=one.value - before.value, count=one.count - before.count)


def placed(samples, stretches):
    """Samples in stretches, under the stretch's topology and plan."""
    for one in samples:
        for stretch in stretches:
            if one.topology is not None:
                mine = one.topology == stretch.topology
            elif one.node is not None:
                mine = one.node in stretch.nodes
            else:
                mine = one.machine in stretch.machines
            inside = (
                stretch.from_us <= one.bucket_start_us
                and one.bucket_start_us + length_us(one) <= stretch.to_us
            )
            if (
                mine
                and inside
                and one.cluster == stretch.cluster
                and one.plan_id in (None, stretch.plan_id)
            ):
                yield replace(one, topology=stretch.topology, plan_id=stretch.plan_id)


def seated(samples, stretches):
    """Heartbeats of workers once more for each task and executor in them, and of nothing."""
    for one in samples:
        if one.metric != HEARTBEATS:
            continue
        for stretch in stretches:
            for who in stretch.executors:
                if (one.cluster, one.topology) != (stretch.cluster, stretch.topology):
                    continue
                if who.worker == one.worker:
                    first, last = who.first_task, who.last_task
                    tasks = f"{first}-{last}" if first < last else first
                    beat = replace(one, component=who.component, value=0.0, count=0)
                    yield replace(beat, executor=f"{who.component}[{tasks}]")
                    for task in range(first, last + 1):
                        yield replace(beat, task=task)


def partial_sums(samples, stretches):
    """By series, other factor and block: buckets, span, observations, total, squares."""
    sums = {}
    known = [*added(list(needed(samples))), *heard(samples)]
    known += list(seated(known, stretches))
    numbers = defaultdict(lambda: defaultdict(int))
    for one in placed(known, stretches):
        metric = METRICS[one.metric]
        value = int(one.value) if metric.whole else one.value
        total = value
        if metric.kind is Kind.GAUGE:
            total = round(value * length_us(one))
        elif metric.kind is Kind.MEAN:
            total = round(value * one.count * 1e6)
        squared = metric.counts_observations and metric.kind in (Kind.DELTA, Kind.CUMULATIVE)
        key = (*(getattr(one, name) for name in SERIES), None, None, None, *block_of(one))
        row = (1, length_us(one), one.count, total, value**2 if squared else None)
        sums[key] = plus(sums.get(key), row)
        for subject, number in factors(one):
            start, length = block_of(one)
            slot = (one.bucket_start_us - start) // (length // 15)
            bucket = (subject, slot, (start, length))
            numbers[bucket][one.metric, one.stream, one.source_component] += number
    for bucket, factors_of in numbers.items():
        subject, _, block = bucket
        for one, other in pairs(factors_of):
            series = dict(zip(SUBJECT, subject, strict=True))
            series |= dict(zip(("metric", "stream", "source_component"), one, strict=True))
            key = (*(series.get(name) for name in SERIES), *other, *block)
            row = (1, 0, 1, factors_of[one] * factors_of[other], None)
            sums[key] = plus(sums.get(key), row)
    return sums


def plus(row, more):
    if row is None:
        return more
    return tuple(None if a is None else a + b for a, b in zip(row, more, strict=True))


def factors(one):
    """What is multiplied, and of whom it is."""
    subject = {name: getattr(one, name) for name in SUBJECT}
    of_executor = tuple((subject | {"task": None}).values())
    if one.metric in COUNTS:
        yield tuple(subject.values()), int(one.value)
        if one.metric != "emitted" and one.executor is not None:
            yield of_executor, int(one.value)
    elif one.metric in ("executor_cpu", "executor_idle"):
        yield of_executor, round(one.value / 1000)


def pairs(known):
    explained = [key for key in known if key[0] in ("emitted", "executor_cpu")]
    explaining = sorted(
        (key for key in known if key not in explained), key=lambda key: [one or "" for one in key]
    )
    for place, one in enumerate(explaining):
        for other in [*explaining[place:], *explained]:
            yield one, other
    for one in explained:
        yield one, one
