"""The highest load that fits: transfer queues, by hand and against a simulation of every tuple."""

import pytest

import streamgauge as sg
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.prediction import Verdict
from streamgauge.models.simulated import SimulationModel
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.transport import storm2

# Everything goes from one worker to another; neither operator is busy.
JOB = """
streamgauge: 1
topology:
  name: t
  operators: {{s: {{kind: source, tasks: 1}}, a: {{tasks: 1}}}}
  streams: [{{from: s, to: a, grouping: shuffle}}]
behaviours:
  s: {{service: {{cpu_ms: 0.001}}}}
  a: {{service: {{cpu_ms: 0.001}}}}
configuration:
  executors: {{s: 1, a: 1}}
  workers: 2
  settings: {{topology.transfer.buffer.size: 32}}
cluster: {{uniform: {{nodes: 2, cores: 8, latency_ms: 0.1}}}}
workload: [{{source: s, per_second: {rate}}}]
"""
SENDER = "n2:6700"
# 32 places, emptied once in a sleep: 29,358 tuples a second.
HIGHEST = 32 / storm2.DEFAULTS.transfer_sleep


def predicted(model, rate):
    job = parse_job(JOB.format(rate=rate))
    return model.predict(JobBehaviour.from_job(job), place_job(job).plan, job.workload)


def test_a_worker_sends_no_more_than_its_transfer_queue_holds_while_its_thread_sleeps():
    found = predicted(AnalyticModel(), 0.9 * HIGHEST)
    assert found.verdict is Verdict.FITS
    assert found.limit.per_second == pytest.approx(HIGHEST, rel=2e-3)
    assert found.limit.by == f"the transfer queue of {SENDER}"


def test_a_report_says_what_helps_a_transfer_queue():
    text = sg.predict(parse_job(JOB.format(rate=0.9 * HIGHEST))).to_text(200)
    assert "topology.transfer.buffer.size enlarges it" in text


def test_beyond_that_it_is_overloaded_and_tuples_wait_without_end():
    found = predicted(AnalyticModel(), 1.2 * HIGHEST)
    assert found.verdict is Verdict.OVERLOADED
    assert found.overloaded == {f"the transfer queue of {SENDER}": pytest.approx(1.2)}
    assert found.latency.mean == float("inf")
    assert found.since_due.mean == float("inf")


@pytest.mark.parametrize(("part", "emitted"), [(0.8, 0.8), (1.5, 1.0)])
def test_a_simulation_sends_as_much(part, emitted):
    found = predicted(SimulationModel(seconds=3.0, replications=2), part * HIGHEST)
    sent = {one.name: one.sent_per_second for one in found.workers}
    assert sent[SENDER] == pytest.approx(emitted * HIGHEST, rel=0.05)
