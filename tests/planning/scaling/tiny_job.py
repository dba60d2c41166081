"""A job of three operators and a graph of two components, small enough to scale on paper."""

# 400 a second come; one executor of `work` does 100, one of `out` 200.
JOB = """\
streamgauge: 1
topology:
  name: tiny
  operators:
    in: {kind: source, tasks: 2}
    work: {tasks: 6}
    out: {tasks: 4}
  streams:
    - {from: in, to: work, grouping: shuffle}
    - {from: work, to: out, grouping: shuffle}
behaviours:
  work: {service: {cpu_ms: 10}, outputs: {default: 1}}
  out: {service: {cpu_ms: 5}}
workload: [{source: in, per_second: 400}]
configuration: {executors: {work: 1, out: 1}, workers: 2}
cluster: {uniform: {nodes: 2, slots: 2, cores: 4}}
steps:
  wide: {executors: {work: 4, out: 2}}
"""

# A spout of 100 a second, a bolt that does 40 a unit.
COMPONENTS = {
    "name": "two",
    "freeResources": 2,
    "components": [
        {"id": "s", "type": "spout", "outputRate": 100, "childOutputRatio": {"b": 1}},
        {"id": "b", "type": "bolt", "maxProcessingRate": 40, "outInRatio": 1},
    ],
}
