"""``streamgauge predict`` from profiles of jobs that the emulator ran: what happened is known."""

import json

import pytest

from streamgauge.pipeline.estimation.assembly import Extras, profile_of
from streamgauge.pipeline.estimation.subjects import figures_of
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job, profile_to_data, save
from streamgauge.simulation.topology_run import simulate
from tests.engines.emulator.emulations import emulated
from tests.pipeline.estimation.aggregation import link_counts, partials

# Executors share two cores, so that tuples take longer than their CPU and waiting times.
CROWDED = """
streamgauge: 1
topology:
  name: crowded
  acked: true
  operators: {s: {kind: source}, a: {tasks: 3}, b: {tasks: 2}}
  streams:
    - {from: s, to: a, grouping: {custom: [[0.5, 0.3, 0.2]]}}
    - {from: a, to: b, grouping: shuffle}
behaviours:
  s: {service: {cpu_ms: 0.05}}
  a: {service: {cpu_ms: {exponential: 13}}, outputs: {default: 2}}
  b: {service: {cpu_ms: 3, wait_ms: {exponential: 6}}}
configuration: {executors: {s: 1, a: 3, b: 2}, workers: 1}
cluster: {uniform: {nodes: 1, cores: 2}}
workload: [{source: s, per_second: 60}]
"""
# Tuples go from n3 to n1 and on to n2: 20 ms and 4 ms.
SPREAD = """
streamgauge: 1
topology:
  name: spread
  operators: {s: {kind: source}, a: {}, b: {}}
  streams:
    - {from: s, to: a, grouping: shuffle}
    - {from: a, to: b, grouping: shuffle}
behaviours:
  a: {service: {cpu_ms: 1}, outputs: {default: 1}}
  b: {service: {cpu_ms: 1}}
configuration: {workers: 3}
cluster:
  machines: {m1: {cores: 4}, m2: {cores: 4}, m3: {cores: 4}}
  nodes: {n1: {machine: m1, slots: 1}, n2: {machine: m2, slots: 1}, n3: {machine: m3, slots: 1}}
  links:
    - {from: n1, to: n2, latency_ms: 4}
    - {from: n2, to: n3, latency_ms: 8}
    - {from: n1, to: n3, latency_ms: 20}
workload: [{source: s, per_second: 50, shape: regular}]
"""
LINKS = SPREAD[SPREAD.index("  links:") : SPREAD.index("workload:")]
# From n3 to n2 and on to n1: 8 ms and 4 ms.
OTHER_WAY = """
plan:
  task_order: alphabetical
  workers:
    - {node: n1, port: 6700, executors: ["b[2]"]}
    - {node: n2, port: 6700, executors: ["a[1]"]}
    - {node: n3, port: 6700, executors: ["s[3]"]}
"""


def measure(text, folder, **options):
    """The emulated job, and its profile as a file."""
    job = emulated(text, folder / "raw", bucket_seconds=5.0, trace_every=0, **options)
    extras = Extras(links=tuple(link_counts(job.links)))
    profile, _ = profile_of(figures_of(partials(job.samples)), job.plans[0], extras)
    save(profile_to_data(profile), folder / "profile.json")
    return job, profile, folder / "profile.json"


def predicted(run, *arguments):
    shown = run("predict", *arguments, "--json")
    assert shown.code == 0, shown.err
    return json.loads(shown.out)["prediction"]


def test_from_measured_parameters_the_measured_latency_follows(run, tmp_path):
    job, profile, path = measure(CROWDED, tmp_path, seconds=60.0, warmup=5.0)
    found = predicted(run, "--profile", path, "--measured")
    latency, truth = found["latency"], job.result.latency
    assert latency["mean"] == pytest.approx(truth.mean, rel=0.05)
    assert latency["quantiles"]["0.95"] == pytest.approx(truth.quantile(0.95), rel=0.1)
    (source,) = profile.tasks_of("s").values()
    complete_ms = source.outputs["default"].complete.mean_ms.value
    assert found["complete"]["mean"] == pytest.approx(complete_ms / 1e3, rel=0.05)
    executors = {one["name"]: one for one in found["executors"]}
    names = ("a[2]", "a[3]", "a[4]")
    for name, task in zip(names, profile.tasks_of("a").values(), strict=True):
        (seen,) = task.inputs.values()
        assert executors[name]["arrived_per_second"] == pytest.approx(seen.per_second.value)
        assert executors[name]["service_seconds"] == pytest.approx(seen.wall.mean_ms.value / 1e3)


def test_latency_between_nodes_is_what_probes_measured(run, tmp_path):
    """The plan's own file says nothing on links."""
    _, profile, path = measure(SPREAD, tmp_path, seconds=60.0)
    measured = {(one.source, one.target): one.latency.mean_ms.value for one in profile.links}
    between = {("n1", "n2"): 4.0, ("n2", "n3"): 8.0, ("n1", "n3"): 20.0}
    both_ways = between | {(target, source): ms for (source, target), ms in between.items()}
    assert measured == pytest.approx(both_ways)
    proposed = tmp_path / "plan.yaml"
    proposed.write_text(SPREAD.replace(LINKS, "") + OTHER_WAY)
    truth = parse_job(SPREAD + OTHER_WAY)
    for plan, way_seconds in (((), 0.024), (("--plan", proposed), 0.012)):
        found = predicted(run, "--profile", path, *plan)
        # Probes are kept in classes that are 9 % wide.
        assert found["latency"]["parts"]["network"] == pytest.approx(way_seconds, rel=0.05)
    other = place_job(truth).plan
    result = simulate(other, truth.behaviours, truth.workload, seconds=60.0, seed=1)
    assert found["latency"]["mean"] == pytest.approx(result.latency.mean, rel=0.05)
