"""The Caladrius model: measured curves, the linear rule, and what it does not know."""

import math
import re

import pytest

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.caladrius import CaladriusModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.prediction import Verdict
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Emission, Workload
from tests.models.observed_jobs import ALPHA, observed, profile_of
from tests.models.test_contract import job as declared_job


def plan_of(profile):
    """All executors in one worker."""
    logical = LogicalPlan.of(profile.topology, profile.configuration)
    slots, places = profile.cluster.slots, [0] * len(logical.executors)
    return PhysicalPlan.from_slots(logical, profile.cluster, slots, places)


def ask(profile, rate):
    workload = Workload(emissions=[Emission(source="spout", stream="default", per_second=rate)])
    behaviour = JobBehaviour.from_profile(profile)
    return CaladriusModel().predict(behaviour, plan_of(profile), workload)


@pytest.mark.parametrize("splitters", [2, 3, 4, 6])
def test_the_measured_curve_scales_with_executors(splitters):
    """Service times say 1,000 a second; observations say 200."""
    found = ask(profile_of(observed(3), splitter=splitters), 100.0)
    assert found.limit.per_second == pytest.approx(200.0 * splitters, rel=0.01)
    assert found.limit.by.startswith("splitter[")
    assert found.verdict is Verdict.FITS


def test_never_saturated_operators_have_their_service_time_and_a_note():
    found = ask(profile_of(observed(3, loads=(0.2, 0.4))), 100.0)
    # Four counters of 10,000 words a second, four words a sentence; three splitters of 1,000.
    assert found.limit.per_second == pytest.approx(3000.0, rel=0.01)
    assert any(
        "stands in for the saturation point: splitter, counter" in one for one in found.notes
    )


def test_an_overloaded_plan_says_what_sinks_would_process():
    found = ask(profile_of(observed(3)), 1200.0)
    assert found.verdict is Verdict.OVERLOADED
    assert found.limit.factor == pytest.approx(0.5, rel=0.01)
    (note,) = (one for one in found.notes if "held back" in one)
    delivered = float(re.search(r"process ([\d,.]+) tuples", note)[1].replace(",", ""))
    assert delivered == pytest.approx(ALPHA * 600.0, rel=0.01)


def test_latency_is_not_known():
    found = ask(profile_of(observed(3)), 100.0)
    assert math.isnan(found.latency.mean)
    assert all(math.isnan(one.delay_seconds) for one in found.executors)


def test_cpu_is_psi_times_output_and_stays_on_the_plateau():
    profile = profile_of(observed(3))
    few, many = (ask(profile, rate) for rate in (300.0, 6000.0))
    # Splitters: 0.001·1,200 and twice that on the plateau; counters: 0.1 ms a word, likewise.
    assert many.workers[0].cores - few.workers[0].cores == pytest.approx(1.2 + 0.12, rel=0.02)


def test_shuffle_is_even_whatever_the_engine_does():
    """Storm 2.x, load-aware, keeps to the worker's own; Caladrius does not know it, and says so."""
    job = declared_job(engine="storm-2")
    behaviour, plan = JobBehaviour.from_job(job), place_job(job).plan
    found = CaladriusModel().predict(behaviour, plan, job.workload)
    split = [one.arrived_per_second for one in found.executors if one.operator == "split"]
    assert split == pytest.approx([25.0, 25.0])
    assert any("prefers near tasks" in one for one in found.notes)


def test_keys_go_where_their_hash_says():
    job = declared_job(engine="storm-2")
    case = (JobBehaviour.from_job(job), place_job(job).plan, job.workload)
    mine, other = (
        [
            one.arrived_per_second
            for one in model.predict(*case).executors
            if one.operator == "count"
        ]
        for model in (CaladriusModel(), AnalyticModel())
    )
    assert mine == pytest.approx(other)
    assert mine[0] != pytest.approx(mine[1])


def test_without_back_pressure_branches_go_on_on_their_own():
    job = parse_job(
        """
streamgauge: 1
topology:
  name: t
  acked: false
  operators: {s: {kind: source}, slow: {}, fast: {}}
  streams:
    - {from: s, to: slow, grouping: shuffle}
    - {from: s, to: fast, grouping: shuffle}
behaviours:
  s: {service: {cpu_ms: 0.01}}
  slow: {service: {cpu_ms: 10}}
  fast: {service: {cpu_ms: 1}}
configuration: {engine: storm-1}
cluster: {uniform: {nodes: 1, cores: 8}}
workload: [{source: s, per_second: 400}]
"""
    )
    found = CaladriusModel().predict(JobBehaviour.from_job(job), place_job(job).plan, job.workload)
    assert found.limit.per_second == pytest.approx(100.0)
    (note,) = (one for one in found.notes if "held back" in one)
    assert "sinks would process 200 tuples/s" in note
    assert note.endswith("by its own curve, 500")
