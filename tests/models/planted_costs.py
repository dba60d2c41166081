"""An emulated job, and its samples with what an engine would add to them."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np

# Three workers that send, receive and execute unlike amounts; threads without work sleep at once.
JOB = """
streamgauge: 1
topology:
  name: t
  operators: {s: {kind: source, tasks: 2}, a: {tasks: 2}, b: {tasks: 2}}
  streams:
    - {from: s, to: a, grouping: {fields: [k]}}
    - {from: a, to: b, grouping: {fields: [k]}}
behaviours:
  s: {service: {cpu_ms: 0.02}, keys: {default: {uniform: {count: 40}}}}
  a: {service: {cpu_ms: 0.1}, outputs: {default: 3}, keys: {default: {uniform: {count: 40}}}}
  b: {service: {cpu_ms: 0.02}}
configuration:
  executors: {s: 2, a: 2, b: 2}
  workers: 3
  settings:
    topology.bolt.wait.progressive.level2.count: 0
    topology.disable.loadaware.messaging: true
cluster: {uniform: {nodes: 3, cores: 4}}
workload: [{source: s, per_second: 4000}]
"""
PLANTED = {
    "network_cores": 0.06,
    "worker_cores": 0.05,
    "sent_seconds": 9e-6,
    "received_seconds": 6e-6,
    "executed_seconds": 0.4e-6,
}
HANDLED = {"s": 8e-6, "a": 12e-6, "b": 3e-6}
# Cores of a thread that sleeps alone; together they use this power of their number as much.
WAKING, TOGETHER = 0.017, 0.7
NANO = 1e9


def count(bare):
    """What came to workers from others, and what they executed; what executors handled."""
    home = {task: one.worker for one in bare.plans[0].executors for task in tasks_of(one)}
    received, executed, handled = Counter(), Counter(), Counter()
    for one in bare.samples:
        place = one.bucket_start_us
        if one.metric == "transferred" and home[one.task] != one.worker:
            received[place, home[one.task]] += one.value
        if one.metric == "executed":
            executed[place, one.worker] += one.value
        if one.metric == ("emitted" if one.component == "s" else "executed"):
            handled[place, one.executor] += one.value
    return received, executed, handled


def planted(bare, *, noise, groups):
    """The samples with what an engine would add to them, counted by the samples themselves."""
    draw = np.random.default_rng(3)
    received, executed, handled = count(bare)
    sent = {
        (one.bucket_start_us, one.worker): one.value for one in bare.of("network_messages_sent")
    }
    parts = defaultdict(dict)
    for one in bare.of("worker_cpu"):
        key = (one.bucket_start_us, one.worker)
        moved = (
            PLANTED["network_cores"] * one.bucket_seconds
            + PLANTED["sent_seconds"] * sent.get(key, 0.0)
            + PLANTED["received_seconds"] * received[key]
        )
        parts[key] = {
            "network_threads_cpu": moved * draw.normal(1.0, noise),
            "gc_cpu": PLANTED["executed_seconds"] * executed[key] * draw.normal(1.0, noise),
            "rest": PLANTED["worker_cores"] * one.bucket_seconds * draw.normal(1.0, noise),
        }
    more, waking = Counter(), Counter()
    idle = {
        (one.bucket_start_us, one.executor): one.value / NANO for one in bare.of("executor_idle")
    }
    asleep = Counter()
    for one in bare.of("executor_idle"):
        asleep[one.bucket_start_us, one.worker] += one.value / NANO / one.bucket_seconds
    for one in bare.of("executor_cpu"):
        key = (one.bucket_start_us, one.executor)
        crowd = asleep[one.bucket_start_us, one.worker] ** (TOGETHER - 1.0)
        waking[key] = WAKING * idle[key] * crowd * draw.normal(1.0, noise)
        more[key] = HANDLED[one.component] * handled[key] + waking[key]
        parts[one.bucket_start_us, one.worker][one.executor] = more[key]
    for one in bare.samples:
        key = (one.bucket_start_us, one.worker)
        if one.metric == "executor_cpu":
            yield replace(one, value=round(one.value + NANO * more[key[0], one.executor]))
        elif one.metric == "executor_idle_cpu":
            if groups:
                yield replace(one, value=round(one.value + NANO * waking[key[0], one.executor]))
        elif one.metric == "worker_cpu":
            yield replace(one, value=round(one.value + NANO * sum(parts[key].values())))
            for metric in ("network_threads_cpu", "gc_cpu") if groups else ():
                yield replace(one, metric=metric, value=round(NANO * parts[key][metric]))
        elif not groups or one.metric != "network_threads_cpu":
            yield one


def tasks_of(executor):
    return range(executor.first_task, executor.last_task + 1)
