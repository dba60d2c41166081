"""Files written by hand that tests read, and damage."""

JOB = """\
streamgauge: 1
topology:
  name: words
  operators:
    lines: {kind: source, tasks: 2}
    split: {tasks: 4}
    count: {tasks: 2, window: {length_tuples: 10}}
  streams:
  - {from: lines, to: split, grouping: shuffle}
  - {from: split, to: count, stream: words, grouping: {fields: [word]}}
behaviours:
  split:
    service: {cpu_ms: 2}
    outputs: {words: 7.6}
configuration:
  executors: {split: 2}
  workers: 2
cluster:
  machines: {m: {cores: 4}}
  nodes:
    n: {machine: m, slots: 2}
workload:
- {source: lines, per_second: 100}
plan:
  workers:
  - {node: n, port: 6700, executors: ['lines[1-2]', 'split[3-4]']}
  - {node: n, port: 6701, executors: ['split[5-6]', 'count[7-8]']}
steps:
  wide: {executors: {split: 4}}
"""

FIGURES = """\
streamgauge: 1
topology:
  name: pair
  operators: {s: {kind: source}, a: {tasks: 2}}
  streams:
  - {from: s, to: a, grouping: shuffle}
profile:
  operators:
    s:
      0: {outputs: {default: {per_second: 10, shares: {a: [0.5, 0.5]}}}}
    a:
      each:
        inputs: {s: {default: {wall: {mean_ms: 2, quantiles_ms: {0.5: 1, 0.9: 4}}}}}
  keys: {s: {default: {uniform: {count: 2}}}}
  executors: {'a[2]': {capacity: 0.5, receive: {length: 3}}}
  workers: {'n:6700': {cores: 1.5}}
  sources: {s: {default: {start: t, step_seconds: 60, per_second: [10, null]}}}
  saturation:
    a:
    - {plan_id: p, executors: 2, minutes: 10, input_per_second: 9, output_per_second: 0,
       backpressure: 0.5}
  juice: {topology: 0.875, operators: {a: 0.9}}
  replicas: {count: 0, blocks: 5, block_seconds: 30}
  placement: {'s[1]': 'n:6700', 'a[2]': 'n:6700'}
"""
