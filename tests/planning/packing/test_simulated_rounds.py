"""M-01 on simulated instances: what more of a resource brings, and what only more instances do."""

import pytest

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.planning.packing.job_profiling import Grown, profile_job
from streamgauge.planning.packing.simulated_rounds import SimulatedRounds
from streamgauge.profile.files.jobs import parse_job

JOB = """
streamgauge: 1
topology:
  name: pair
  acked: false
  operators: {{in: {{kind: source}}, work: {{}}}}
  streams: [{{from: in, to: work, grouping: shuffle}}]
behaviours: {{in: {{service: {{cpu_ms: 0.01}}}}, work: {{service: {service}}}}}
configuration: {{resources: {{work: {{memory_bytes: 734003200}}}}}}
workload: [{{source: in, per_second: {rate}}}]
"""


def rounds_of(service, *, rate=400, cores=1.0):
    job = parse_job(JOB.format(service=service, rate=rate))
    simulated = SimulatedRounds(
        behaviour=JobBehaviour.from_job(job),
        workload=job.workload,
        configuration=job.configuration,
        seconds=4.0,
    )
    amounts = {Grown.CORES: cores, Grown.MEMORY: 512.0 * 2**20}
    return profile_job({"in": amounts, "work": amounts}, simulated.measure)


def of_work(found, resource=Grown.CORES):
    return [one.allotments["work"].amounts[resource] for one in found.rounds]


def test_z4_m_01_a_second_core_has_no_effect_on_one_thread_and_is_given_back():
    # 400/s · 4 ms are the work of 1.6 threads: one is always busy, two are for 80 % of the time.
    found = rounds_of("{cpu_ms: 4}")
    assert of_work(found) == [1.0, 2.0, 1.0]
    assert [one.allotments["work"].instances for one in found.rounds] == [1, 1, 2]
    assert found.last.readings["work"].used[Grown.CORES] == pytest.approx(0.8, abs=0.05)
    assert found.is_settled


def test_m_01_a_quota_that_is_too_small_is_doubled():
    # 400/s · 1 ms take 0.4 cores.
    found = rounds_of("{cpu_ms: 1}", cores=0.25)
    assert of_work(found) == [0.25, 0.5]
    assert found.last.allotments["work"].instances == 1
    assert found.last.readings["work"].used[Grown.CORES] == pytest.approx(0.8, abs=0.05)


def test_m_01_cores_do_not_help_who_waits():
    found = rounds_of("{wait_ms: 4}")
    assert found.last.allotments["work"].instances == 2
    assert of_work(found)[-1] == 1.0


def test_m_02_memory_is_doubled_until_what_is_declared_fits():
    found = rounds_of("{cpu_ms: 0.1}")
    assert of_work(found, Grown.MEMORY) == [512.0 * 2**20, 1024.0 * 2**20]
    assert found.last.readings["work"].used[Grown.MEMORY] == pytest.approx(700 / 1024)
