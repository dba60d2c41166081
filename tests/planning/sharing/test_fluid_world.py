"""The fluid world against closed forms, and laws that hold for any of its jobs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.parameters import find_parameters
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.planning.sharing.fluid_job import FluidJob, FluidOperator
from streamgauge.planning.sharing.fluid_world import FluidWorld
from streamgauge.planning.sharing.slo import Slo, Statistic
from streamgauge.profile.files.jobs import load_job


def operator(name, *, cpu=0.0, wait=0.0, executors=1, source=False, **more):
    return FluidOperator(
        name=name,
        executors=executors,
        tasks=100,
        is_source=source,
        inputs=more.pop("inputs", {}),
        cpu_seconds=cpu,
        wait_seconds=wait,
        **more,
    )


def chain(name="job", **work):
    """A source that takes no time, and one operator."""
    return FluidJob(
        name=name,
        slo=Slo(juice=1.0),
        operators=(
            operator("source", source=True),
            operator("work", inputs={"source": 1.0}, **work),
        ),
        source_shares={"source": 1.0},
    )


def step(job, offered, *, cores=1000.0, seconds=10.0, steps=1, downtime=30.0):
    world = FluidWorld([job], downtime)
    for _ in range(steps):
        (flow,) = world.take_step(seconds, {job.name: offered}, cores)
    return flow


def test_an_executor_that_waits_is_an_m_m_1_queue():
    flow = step(chain(wait=0.01), 50.0)
    # 1 / (μ − λ) = 1 / (100 − 50); exponential, so its median is ln 2 times that.
    assert flow.quality.latency_seconds[Statistic.MEAN] == pytest.approx(0.02)
    assert flow.quality.latency_seconds[Statistic.P50] == pytest.approx(0.02 * math.log(2))
    assert flow.quality.latency_seconds[Statistic.P99] == pytest.approx(0.02 * math.log(100))


def test_what_cannot_be_processed_is_backlog_at_the_source():
    flow = step(chain(wait=0.01), 150.0, steps=6)
    assert flow.processed_per_second == pytest.approx(100.0)
    assert flow.lag == pytest.approx(50.0 * 60.0)
    # The last tuple of the backlog waits for all before it.
    assert flow.quality.latency_seconds[Statistic.MEAN] >= 30.0


def test_backlog_drains_when_load_falls():
    world = FluidWorld([chain(wait=0.01)], 30.0)
    world.take_step(10.0, {"job": 150.0}, 8.0)
    (flow,) = world.take_step(10.0, {"job": 50.0}, 8.0)
    assert flow.processed_per_second == pytest.approx(100.0)
    assert flow.lag == pytest.approx(0.0)


@pytest.mark.parametrize(("cores", "busy"), [(1, 0.5), (2, 0.8), (4, 0.9)])
def test_time_on_cores_is_stretched_as_jobs_of_an_m_m_c_queue_are(cores, busy):
    # Many executors, so that only the cores are scarce.
    job = chain(cpu=0.01, executors=100)
    world = FluidWorld([job], 30.0)
    world.take_step(10.0, {"job": busy * cores * 100.0}, cores)
    assert world.stretch == pytest.approx(1.0 + wait_m_m_c(cores, busy), rel=0.05)


def wait_m_m_c(servers, busy):
    """Mean wait over mean service, by Erlang's formula."""
    load = servers * busy
    below = sum(load**k / math.factorial(k) for k in range(servers))
    last = load**servers / math.factorial(servers) / (1.0 - busy)
    return last / (below + last) / (servers * (1.0 - busy))


def test_jobs_never_use_more_cores_than_there_are():
    jobs = [chain(f"job-{n}", cpu=0.01, executors=10) for n in range(5)]
    world = FluidWorld(jobs, 30.0)
    flows = world.take_step(10.0, {job.name: 1000.0 for job in jobs}, 8.0)
    assert 7.5 < sum(flow.cores.sum() for flow in flows) <= 8.0


def test_a_job_stands_still_while_its_executors_change():
    world = FluidWorld([chain(wait=0.01)], 30.0)
    assert world.apply({"job": {"work": 2}}) == ["job"]
    for _ in range(3):
        (flow,) = world.take_step(10.0, {"job": 50.0}, 8.0)
        assert flow.processed_per_second == 0.0
    (flow,) = world.take_step(10.0, {"job": 50.0}, 8.0)
    assert flow.processed_per_second == pytest.approx(200.0)


def test_a_change_that_changes_nothing_stops_nothing():
    world = FluidWorld([chain(wait=0.01)], 30.0)
    assert world.apply({"job": {"work": 1}}) == []


def test_executors_do_more_by_their_number_to_the_power():
    flow = step(chain(wait=0.01, executors=16, exponent=0.5), 1e6)
    assert flow.limit_per_second == pytest.approx(400.0)


@given(st.lists(st.floats(0.0, 500.0), min_size=1, max_size=30))
def test_tuples_are_processed_or_left_over(loads):
    world = FluidWorld([chain(wait=0.01)], 30.0)
    done = 0.0
    for load in loads:
        (flow,) = world.take_step(10.0, {"job": load}, 8.0)
        done += 10.0 * flow.processed_per_second
    assert done + flow.lag == pytest.approx(10.0 * sum(loads))


def test_a_described_job_keeps_its_rates_and_work():
    job = load_job("examples/henge-diamond.yaml")
    parameters = find_parameters(JobBehaviour.from_job(job), place_job(job).plan, job.workload)
    fluid = FluidJob.of("diamond", Slo(juice=1.0), parameters)
    # Both branches see every tuple; the filter passes half of them on, the other all.
    assert dict(zip([one.name for one in fluid.operators], fluid.gains(), strict=True)) == (
        pytest.approx({"events": 1.0, "filter": 1.0, "transform": 1.0, "aggregate": 1.5})
    )
    assert fluid.visits().sum() == pytest.approx(3.0)
    transform = next(one for one in fluid.operators if one.name == "transform")
    assert transform.cpu_seconds == pytest.approx(1.2e-3)
    assert np.isclose(transform.wait_seconds, 0.0)
