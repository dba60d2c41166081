"""Small jobs of every kind, emulated, and what was written of them."""

import gzip
from collections import Counter
from dataclasses import dataclass
from functools import partial

from streamgauge.engines.emulator import emulate
from streamgauge.lake.raw import Event, Link, Plan, Rejected, Sample, Trace, decode
from streamgauge.lake.records import ungroup
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.results import SimulationResult
from streamgauge.simulation.topology_run import simulate
from streamgauge.topology.physical_plan import PhysicalPlan

# Acked on two workers: keys, failures and replays, sizes, costs, jitter, background load, polling.
# Nothing is due after eight seconds, so that all tuples have come to an end after sixteen.
ACKED = """
streamgauge: 1
topology:
  name: acked
  acked: true
  operators: {s: {kind: source, tasks: 2}, a: {tasks: 3}, b: {}}
  streams:
    - {from: s, to: a, grouping: {fields: [k]}}
    - {from: a, to: b, grouping: shuffle}
behaviours:
  s: {service: {cpu_ms: 0.1}, keys: {default: {zipf: {count: 20}}}, bytes: {default: 80},
      replays: true, costs: {serialise_ms: 0.05, deserialise_ms: 0.05}}
  a: {service: {cpu_ms: {exponential: 2}, wait_ms: 1}, outputs: {default: 1.5}, fails: 0.02}
  b: {service: {cpu_ms: {exponential: 1}}}
configuration: {executors: {s: 2, a: 2}, workers: 2}
cluster:
  machines: {m1: {cores: 2, background_cores: 0.5}, m2: {cores: 2}}
  nodes: {n1: {machine: m1, slots: 1}, n2: {machine: m2, slots: 1}}
  links: [{from: n1, to: n2, latency_ms: 2, jitter_ms: 0.5}]
workload: [{source: s, per_second: 50, shape: {burst: {on_seconds: 8, off_seconds: 8}}}]
"""
# A source that emits, and a sink that takes no time to speak of.
PACED = """
streamgauge: 1
topology:
  name: paced
  operators: {s: {kind: source}, b: {}}
  streams: [{from: s, to: b, grouping: shuffle}]
behaviours: {s: {service: {cpu_ms: 0.1}}, b: {service: {cpu_ms: 0.1}}}
cluster: {uniform: {nodes: 1, cores: 8}}
workload: [{source: s, per_second: 100}]
"""
# Storm 1.x with a window by count and one by time; a copy to each task; several tasks a thread.
WINDOWED = """
streamgauge: 1
topology:
  name: windowed
  acked: true
  operators:
    s: {kind: source, tasks: 2}
    count: {tasks: 4, window: {length_tuples: 5}}
    time: {tasks: 2, window: {length_seconds: 1, slide_seconds: 0.5}}
    out: {tasks: 3}
  streams:
    - {from: s, to: count, grouping: shuffle}
    - {from: s, to: time, grouping: all}
    - {from: count, to: out, grouping: all}
    - {from: time, to: out, grouping: shuffle}
behaviours:
  s: {service: {cpu_ms: 0.1}}
  count: {service: {cpu_ms: 0.5}, window: {service: {cpu_ms: 2}, outputs: {default: 1}}}
  time: {service: {cpu_ms: 0.5}, window: {service: {cpu_ms: 4}, per_tuple_ms: 0.1,
         outputs: {default: 2}}}
  out: {service: {wait_ms: {exponential: 2}}}
configuration: {engine: storm-1, executors: {count: 2, time: 2}, workers: 2}
cluster: {uniform: {nodes: 2, cores: 2, latency_ms: 1}}
workload: [{source: s, per_second: 100}]
"""
# Nobody tracks tuples; two streams are joined by key.
JOINED = """
streamgauge: 1
topology:
  name: joined
  operators: {l: {kind: source}, r: {kind: source}, j: {tasks: 2}, out: {}}
  streams:
    - {from: l, to: j, grouping: {fields: [k]}}
    - {from: r, to: j, grouping: {fields: [k]}}
    - {from: j, to: out, grouping: global}
behaviours:
  l: {keys: {default: {uniform: {count: 5}}}}
  r: {keys: {default: {uniform: {count: 5}}}}
  j: {service: {cpu_ms: 1}, join: {on-key: {within_seconds: 2}}, outputs: {default: 1}}
  out: {service: {cpu_ms: {exponential: 2}}}
configuration: {workers: 2}
cluster: {uniform: {nodes: 2, cores: 1, latency_ms: 3}}
workload: [{source: l, per_second: 20}, {source: r, per_second: 20}]
"""
# A small queue between workers: senders are held back.
PRESSED = """
streamgauge: 1
topology:
  name: pressed
  operators: {s: {kind: source, tasks: 2}, a: {}}
  streams: [{from: s, to: a, grouping: shuffle}]
behaviours:
  s: {service: {cpu_ms: 0.1}}
  a: {service: {wait_ms: 5}}
configuration:
  executors: {s: 2}
  workers: 1
  settings: {topology.executor.receive.buffer.size: 16}
cluster: {uniform: {nodes: 1, cores: 4}}
workload: [{source: s, per_second: 400}]
"""


@dataclass(frozen=True)
class Emulated:
    plan: PhysicalPlan
    result: SimulationResult
    samples: tuple[Sample, ...]
    traces: tuple[Trace, ...]
    links: tuple[Link, ...]
    plans: tuple[Plan, ...]
    events: tuple[Event, ...]

    def of(self, metric, **keys):
        return [
            one
            for one in self.samples
            if one.metric == metric and all(getattr(one, key) == keys[key] for key in keys)
        ]

    def total(self, metric, **keys):
        return sum(one.value for one in self.of(metric, **keys))

    def count(self, metric, **keys):
        return sum(one.count for one in self.of(metric, **keys))

    def by(self, metric, *columns):
        """Sums of the metric's values by those columns."""
        sums = Counter()
        for one in self.of(metric):
            sums[tuple(getattr(one, column) for column in columns)] += one.value
        return sums

    def last(self, metric, *columns):
        """The metric's values in its last bucket by those columns."""
        return {tuple(getattr(one, column) for column in columns): one for one in self.of(metric)}

    def executed(self, operator):
        """Tuples, by the simulation's own account."""
        return round(self.result.operators[operator].executed_per_second * self.result.seconds)


def run(text, folder, *, seconds, warmup=0.0, progress=None, seed=1, **options):
    """Emulate a job; the plan and the result."""
    job = parse_job(text)
    plan = place_job(job).plan
    simulation = partial(
        simulate,
        plan,
        job.behaviours,
        job.workload,
        seconds=seconds,
        warmup=warmup,
        progress=progress,
    )
    return plan, emulate(job, plan, simulation, folder=folder, seed=seed, **options)


def emulated(text, folder, *, seconds, **options):
    """Emulate a job and read everything back."""
    plan, result = run(text, folder, seconds=seconds, **options)
    return Emulated(
        plan,
        result,
        *(
            tuple(record for path in sorted(folder.glob(names)) for record in records(path))
            for names in ("samples-*", "traces*", "links*", "plans*", "events*")
        ),
    )


def lines(path):
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).splitlines()


def records(path):
    found = [decode(line) for line in lines(path)]
    assert not [one for one in found if isinstance(one, Rejected)]
    return list(ungroup(found))
