"""Samples of two small jobs with one name in two clusters, over midnight: some of everything.

Numbers are drawn; what did not happen is not written. One worker sends no heartbeats, engines count
beside agents, and half of the writers learn late which plan runs.
"""

from random import Random

from streamgauge.lake.records import PlacedExecutor
from streamgauge.pipeline.calibrate.periods import StablePeriod
from tests.pipeline.calibrate.frames import DAY_US, SECOND, sample

BUCKETS = 45
BUCKET = 2
# Seconds before midnight.
BEFORE = 40
SILENT = "n2:6700"
EXECUTORS = tuple(
    PlacedExecutor(
        component=component, first_task=first, last_task=last, worker=worker, node=worker[:2]
    )
    for component, first, last, worker in (
        ("s", 1, 2, "n1:6700"),
        ("a", 3, 4, "n1:6700"),
        ("b", 5, 5, "n2:6700"),
    )
)


def periods():
    """From the middle of a block on one day to the middle of one on the next, for both."""
    return tuple(
        StablePeriod(
            cluster=cluster,
            topology="job",
            plan_id="p",
            from_us=DAY_US + start * SECOND,
            to_us=DAY_US + end * SECOND,
            bucket_us=BUCKET * SECOND,
            nodes=("n1", "n2"),
            machines=("m1",),
            executors=EXECUTORS,
        )
        for cluster, start, end in (("east", -35, 43), (None, -11, 29))
    )


def samples():
    """All samples of both jobs, in no order."""
    random = Random(1)
    found = []
    for cluster in ("east", None):
        engine = {}
        for number in range(BUCKETS):
            second = number * BUCKET - BEFORE
            for one in _bucket(random, engine, number):
                metric, value, count, keys = one
                plan = {"plan_id": "p"} if _knows_plan(keys, metric, number) else {}
                whole = {"cluster": cluster, **plan, **keys}
                found.append(sample(metric, second, value, count, seconds=float(BUCKET), **whole))
        # The engine also says something every ten seconds.
        for second in range(-BEFORE, BEFORE, 10):
            keys = {"worker": "n1:6700", "node": "n1", "cluster": cluster}
            found.append(sample("heap_used", second, random.random() * 1e9, 1, **keys))
    random.shuffle(found)
    return found


def _knows_plan(keys, metric, number):
    if "topology" in keys:
        return False
    return metric != "worker_cpu" and (metric != "emitted" or number > BUCKETS // 2)


def _bucket(random, engine, number):
    """Metric, value, count and keys of what is written of one bucket."""
    for placed in EXECUTORS:
        label = f"{placed.component}[{placed.first_task}"
        label += f"-{placed.last_task}]" if placed.last_task > placed.first_task else "]"
        executor = {
            "component": placed.component,
            "executor": label,
            "worker": placed.worker,
            "node": placed.node,
        }
        yield "executor_cpu", random.randrange(2 * 10**9), 1, executor
        yield "executor_idle", random.randrange(2 * 10**9), 1, executor
        yield "queue_population", random.random() * 20, 1, {**executor, "queue": "receive"}
        for task in range(placed.first_task, placed.last_task + 1):
            yield from _task(random, engine, number, {**executor, "task": task})
    for worker in ("n1:6700", SILENT):
        keys = {"worker": worker, "node": worker[:2]}
        yield "worker_cpu", random.randrange(10**9), 1, keys
        if worker != SILENT:
            yield "worker_heartbeats", 1, 1, keys
    for node in ("n1", "n2", "n3"):
        host = {"topology": None, "node": node, "machine": "m1"}
        yield "node_cpu", random.randrange(10**10), 1, host
    yield "machine_cores", 8, 1, {"topology": None, "machine": "m1"}


def _task(random, engine, number, task):
    outputs = {"s": ("default", "extra"), "a": ("default",), "b": ()}[task["component"]]
    inputs = {"s": (), "a": (("s", "default"), ("s", "extra")), "b": (("a", "default"),)}
    for stream in outputs:
        if emitted := random.randrange(50):
            yield "emitted", emitted, emitted, {**task, "stream": stream}
    for source, stream in inputs[task["component"]]:
        keys = {**task, "stream": stream, "source_component": source}
        if not (executed := random.randrange(60)):
            continue
        yield "executed", executed, executed, keys
        if task["component"] == "a":
            yield "acked", executed, executed, keys
        yield "execute_latency_sum", random.randrange(10**12), executed, keys
        yield "execute_latency_squares", random.randrange(10**26), executed, keys
        yield "execute_latency_bin", executed, executed, {**keys, "bin": random.randrange(99)}
        yield "execute_latency_mean", random.random(), 1 + executed // 20, keys
        yield "transferred", executed, executed, {**keys, "source_task": 1}
        yield "received", executed, executed, {**keys, "source_task": 1}
        # The engine's counter, which a restart of the process puts back.
        seen = 0 if number == 23 else engine.get((task["task"], stream), 0)
        engine[task["task"], stream] = seen + executed // 20 + 1
        counted = engine[task["task"], stream]
        yield "executed_total", 20 * counted, counted, keys
    if task["component"] == "b":
        late = random.randrange(-(10**9), 10**9)
        yield "end_to_end_latency_sum", late, 3, {**task, "source_component": "s"}
        if triggers := random.randrange(3):
            yield "window_triggers", triggers, triggers, task
