"""Caladrius' own experiment, simulated: three splitters tell what two and four of them do."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from streamgauge.engines.emulator import emulate
from streamgauge.lake.tables import Lake
from streamgauge.models.capacity_fit import relative_error
from streamgauge.models.measured_capacity import Basis, fit_operators
from streamgauge.pipeline.calibrate.job import calibrate
from streamgauge.pipeline.ingest.job import ingest_files
from streamgauge.pipeline.ingest.listing import find_files
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job, parse_profile
from streamgauge.simulation.topology_run import simulate

# Splitters take 5 ms for a sentence and make 7.638 words of it; counters are fast enough.
JOB = """
streamgauge: 1
topology:
  name: wc
  acked: false
  operators: {spout: {kind: source, tasks: 4}, splitter: {tasks: 12}, counter: {tasks: 12}}
  streams:
    - {from: spout, stream: sentences, to: splitter, grouping: shuffle}
    - {from: splitter, stream: words, to: counter, grouping: {fields: [word]}}
behaviours:
  spout: {service: {cpu_ms: 0.02}}
  splitter:
    service: {cpu_ms: {exponential: 5}}
    outputs: {words: 7.638}
    keys: {words: {zipf: {count: 6000, exponent: 0.9, prefix: word}}}
  counter: {service: {cpu_ms: 0.1}}
configuration:
  engine: storm-2
  executors: {spout: 4, splitter: 3, counter: 4}
  workers: 2
  settings: {topology.disable.loadaware.messaging: true, SETTING}
cluster: {uniform: {nodes: 2, cores: 16, latency_ms: 0.1}}
workload: [{source: spout, stream: sentences, per_second: 600}]
steps:
  p2: {executors: {splitter: 2}}
  p3: {executors: {splitter: 3}}
  p4: {executors: {splitter: 4}}
"""
# Queues that fill up within seconds hold senders back; with Storm's own size, tuples just wait.
SHORT = "topology.executor.receive.buffer.size: 1024"
LONG = "topology.executor.receive.buffer.size: 32768"
PARTS = (0.4, 0.7, 1.3)
SECONDS = 300.0
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def observe(spark, folder, job, steps):
    """The profile of a job that was watched for five minutes at each load, plan by plan."""
    lake = Lake(folder / "lake")
    for number, (step, part) in enumerate((one, part) for one in steps for part in PARTS):
        mine = job.at_step(step)
        full = 200.0 * mine.configuration.executors_of("splitter")
        workload = mine.workload.times(part * full / 600.0)
        plan = place_job(mine).plan
        run = partial(simulate, plan, mine.behaviours, workload, seconds=SECONDS, warmup=0.0)
        emulate(
            replace(mine, workload=workload),
            plan,
            run,
            folder=folder / str(number),
            seed=number,
            started_at=BEGAN + number * timedelta(minutes=20),
        )
    raw = [str(folder / str(number)) for number in range(len(PARTS) * len(steps))]
    ingest_files(spark, lake, find_files(raw, received_at=BEGAN + timedelta(days=9)))
    (made,) = calibrate(spark, lake, "wc")
    return parse_profile(made.profile)


def saturated_words(job, step):
    """What the splitters emit when twice as much comes as they can do."""
    mine = job.at_step(step)
    plan = place_job(mine).plan
    run = simulate(
        plan, mine.behaviours, mine.workload.times(3.0), seconds=120, warmup=20.0, seed=77
    )
    return run.operators["splitter"].emitted_per_second


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "basis"), [(SHORT, Basis.PRESSURE), (LONG, Basis.KNEE)])
def test_three_splitters_predict_two_and_four_within_three_per_cent(
    spark, tmp_path, setting, basis
):
    job = parse_job(JOB.replace("SETTING", setting))
    fit = fit_operators(observe(spark, tmp_path, job, ["p3"]))["splitter"]
    (curve,) = fit.curves
    assert curve.basis is basis
    for executors, step in ((2, "p2"), (4, "p4")):
        capacity = fit.capacities(executors)
        predicted = capacity.linear.value * curve.amplification.value
        assert relative_error(predicted, saturated_words(job, step)) < 0.03


@pytest.mark.slow
def test_two_and_three_splitters_teach_that_they_do_not_slow_each_other_down(spark, tmp_path):
    """Cores abound in this job, so that the true exponent is one."""
    profile = observe(spark, tmp_path, parse_job(JOB.replace("SETTING", SHORT)), ["p2", "p3"])
    scaling = profile.scaling["splitter"]
    assert scaling.executors == (2, 3)
    assert scaling.exponent == pytest.approx(1.0, abs=0.05)
