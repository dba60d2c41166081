"""Studies on the emulator find what was built into their jobs."""

import pytest

from streamgauge.engines.emulator.session import EmulatorRunner
from streamgauge.experiments.controller import run_experiment
from streamgauge.experiments.files.experiment_file import load_experiment
from streamgauge.experiments.observing import observe
from streamgauge.experiments.study_results import Regime, find_regimes, rank_gains
from tests.experiments.small import write_experiment

# One executor of 5 ms serves 200 tuples a second; of 20 ms, 50.
QUEUE = """\
streamgauge: 1
topology:
  name: queue
  acked: true
  operators: {source: {kind: source}, task: {}}
  streams: [{from: source, to: task, grouping: shuffle}]
behaviours:
  task: {service: {cpu_ms: 5}}
configuration: {workers: 1, settings: {topology.max.spout.pending: 50}}
cluster: {uniform: {nodes: 1, slots: 1, cores: 4}}
workload: [{source: source, per_second: 100}]
"""
SWEEP = """\
streamgauge: 1
experiment: sweep
job: {file: job.yaml}
study: {sweep: {operator: task, factors: [1, 4], events: {enter: 15, leave: 8}}}
warm_up: {seconds: 3}
windows: 1
window_seconds: 8
repetitions: 2
"""
# The source emits as fast as 20 open tuples allow. Of three executors `middle` serves least, 250 a
# second; were it twice as fast, `last` would limit to 400.
LINE = """\
streamgauge: 1
topology:
  name: line
  acked: true
  operators: {source: {kind: source}, first: {}, middle: {}, last: {}}
  streams:
    - {from: source, to: first, grouping: shuffle}
    - {from: first, to: middle, grouping: shuffle}
    - {from: middle, to: last, grouping: shuffle}
behaviours:
  source: {service: {cpu_ms: 0.05}}
  first: {service: {cpu_ms: 1}, outputs: {default: 1}}
  middle: {service: {cpu_ms: 4}, outputs: {default: 1}}
  last: {service: {cpu_ms: 2.5}}
configuration: {workers: 1, settings: {topology.max.spout.pending: 20}}
cluster: {uniform: {nodes: 1, slots: 1, cores: 8}}
workload: [{source: source, shape: unlimited}]
"""
HALVING = """\
streamgauge: 1
experiment: halving
job: {file: job.yaml}
study: {halving: {}}
warm_up: {seconds: 1}
windows: 1
window_seconds: 5
repetitions: 1
"""


def run(folder, text, job):
    """An experiment on the emulator, and its truth."""
    experiment = load_experiment(write_experiment(folder, text, job))
    journal = run_experiment(experiment, EmulatorRunner(), folder / "out", lambda reached: None)
    return experiment, observe(journal, folder / "out")


def test_a_load_beyond_capacity_is_persistent_and_one_below_is_normal(tmp_path):
    experiment, truth = run(tmp_path, SWEEP, QUEUE)
    found = find_regimes(truth, experiment.study)
    assert {name: {one.regime for one in each} for name, each in found.items()} == {
        "task-x1": {Regime.NORMAL},
        "task-x4": {Regime.PERSISTENT},
    }
    # The one event fills all of the time, and 50 tuples open at 50 a second take a second each.
    assert [one.share for one in found["task-x4"]] == [1.0, 1.0]
    overloaded = truth.step("task-x4")
    assert overloaded.figure("latency", "all", "mean").value == pytest.approx(1.0, rel=0.05)
    emitted = overloaded.figure("throughput", "all", "emitted_per_second").value
    assert emitted == pytest.approx(50.0, rel=0.05)


def test_halving_names_the_operator_that_limits_throughput(tmp_path):
    experiment, truth = run(tmp_path, HALVING, LINE)
    found = rank_gains(truth, experiment.study)
    assert {one.operator: one.verdict for one in found} == {
        "middle": "limits throughput",
        "first": "no bottleneck",
        "last": "no bottleneck",
    }
    assert found[0].throughput == pytest.approx(400 / 250 - 1, abs=0.02)
    # By Little's law 20 open tuples take 20/250 s before and 20/400 s after.
    assert found[0].latency == pytest.approx(1 - 250 / 400, abs=0.02)
