"""Models of the textbooks and of dashboards, against closed forms, figures and the simulator."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from streamgauge.models import transforms
from streamgauge.models.baselines import (
    BusyTimeModel,
    ErlangModel,
    JacksonModel,
    KingmanModel,
    allen_cunneen_wait,
    erlang_c,
    mmc_wait,
)
from streamgauge.models.delays import Part
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.prediction import Verdict
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.behaviour import Behaviour, Service
from streamgauge.profile.distribution import Exponential, Fixed
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    OutputFigures,
    Shares,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.files.jobs import parse_job
from streamgauge.profile.profile import Profile
from streamgauge.simulation.topology_run import simulate
from streamgauge.topology.topology import StreamKey

MODELS = [JacksonModel(), ErlangModel(), KingmanModel(), BusyTimeModel()]

# Threads never sleep, so that what a source emits comes at random.
JOB = """
streamgauge: 1
topology:
  name: t
  acked: {acked}
  operators:
    s: {{kind: source}}
    a: {{tasks: 4, {window}}}
    b: {{tasks: 4}}
  streams:
    - {{from: s, to: a, grouping: {grouping}}}
    - {{from: a, to: b, grouping: shuffle}}
configuration:
  engine: {engine}
  executors: {{a: {executors}, b: 1}}
  workers: {workers}
  settings:
    topology.bolt.wait.progressive.level3.sleep.millis: 0
    topology.spout.wait.progressive.level3.sleep.millis: 0
    topology.sleep.spout.wait.strategy.time.ms: 0
cluster: {{uniform: {{nodes: {workers}, slots: 1, cores: {cores}, latency_ms: 0.3}}}}
workload: [{{source: s, per_second: {rate}}}]
"""
FROM_S, FROM_A = StreamKey("s", "default"), StreamKey("a", "default")


def job_of(rate=20, **more):
    usual = {"acked": "false", "window": "", "grouping": "shuffle", "engine": "storm-2"}
    usual |= {"executors": 1, "workers": 1, "cores": 16, "rate": rate}
    return parse_job(JOB.format_map(usual | more))


def times(mean_ms, scv):
    return TimeFigures(mean_ms=Figure(value=mean_ms), scv=Figure(value=scv))


def profile_of(job, *, a=20.0, b=20.0, scv=1.0, outputs=1.0, parts=(0.25,) * 4, **window):
    """Milliseconds on a core for a tuple of a, or of each of its tasks, and of b.

    A tuple gives a so many outputs. Where keys decide, its tasks get those parts of what comes.
    """
    emitted = OutputFigures(shares={"a": Shares(parts=parts)})
    tasks = {TaskId("s", 0): TaskProfile(outputs={"default": emitted})}
    for place in range(4):
        out = OutputFigures(coefficients={FROM_S: Figure(value=outputs)})
        if window:
            out = OutputFigures(per_trigger=Figure(value=outputs))
        own = np.broadcast_to(a, 4)[place]
        for name, key, mean in (("a", FROM_S, own), ("b", FROM_A, b)):
            figures = InputFigures(
                share=Figure(value=parts[place]), wall=times(mean, scv), cpu=times(mean, scv)
            )
            tasks[TaskId(name, place)] = TaskProfile(
                inputs={key: figures},
                outputs={"default": out} if name == "a" else {},
                **(window if name == "a" else {}),
            )
    return Profile(topology=job.topology, configuration=job.configuration, tasks=tasks)


def predicted(model, job, **figures):
    return model.predict(
        JobBehaviour.from_profile(profile_of(job, **figures)), place_job(job).plan, job.workload
    )


def test_a_tandem_of_exponential_servers_is_a_jackson_network():
    """Sojourns are exponential with rates 50 − 20 and 100 − 20."""
    found = predicted(JacksonModel(), job_of(20), a=20.0, b=10.0)
    assert found.latency.mean == pytest.approx(1 / 30 + 1 / 80)
    assert found.latency.variance == pytest.approx(1 / 30**2 + 1 / 80**2)
    for probability, t in found.latency.quantiles.items():
        beyond = (80 * math.exp(-30 * t) - 30 * math.exp(-80 * t)) / 50
        assert beyond == pytest.approx(1 - probability, rel=0.01)
    a, b, _ = found.executors
    assert [a.utilisation, b.utilisation] == pytest.approx([0.4, 0.2])
    assert [a.queue_length, b.queue_length] == pytest.approx([0.16 / 0.6, 0.04 / 0.8])
    assert found.limit.per_second == pytest.approx(50)
    assert found.limit.by == a.name


def test_two_equal_queues_in_a_row_take_as_long_as_an_erlang_of_two_stages():
    quantiles = predicted(JacksonModel(), job_of(20)).latency.quantiles
    for probability, value in quantiles.items():
        assert value == pytest.approx(special.gammaincinv(2, probability) / 30, rel=2e-3)


def test_jackson_is_what_a_chain_of_exponential_servers_simulates_to():
    job = job_of(20)
    service = {
        name: Behaviour(service=Service(cpu_ms=Exponential(mean=mean)), outputs=outputs)
        for name, mean, outputs in (("a", 20.0, {"default": Fixed(mean=1)}), ("b", 30.0, {}))
    }
    behaviours = {**job.behaviours, **service}
    truth = simulate(
        place_job(job).plan, behaviours, job.workload, seconds=3000.0, warmup=20.0, seed=5
    ).latency
    found = predicted(JacksonModel(), job, a=20.0, b=30.0).latency
    assert found.mean == pytest.approx(truth.mean, rel=0.03)
    for probability in (0.5, 0.9, 0.99):
        assert found.quantiles[probability] == pytest.approx(truth.quantile(probability), rel=0.05)


def test_executors_of_an_operator_serve_one_queue():
    """Two servers at a load of one wait for a third of a service (Erlang C)."""
    found = predicted(ErlangModel(), job_of(50, executors=2), b=0.0)
    assert found.latency.mean == pytest.approx(0.020 * 4 / 3)
    for probability, t in found.latency.quantiles.items():
        beyond = math.exp(-50 * t) * (1 + 50 * t / 3)
        assert beyond == pytest.approx(1 - probability, rel=0.01)
    assert found.limit.per_second == pytest.approx(100)


def test_one_queue_for_all_does_not_see_that_keys_crowd_one_executor():
    """Of 70 tuples/s of 20 ms, four fifths go to the first of two executors."""
    job = job_of(70, executors=2, grouping="{fields: [k]}")
    parts = (0.5, 0.3, 0.1, 0.1)
    single = predicted(JacksonModel(), job, b=1.0, parts=parts)
    assert single.overloaded == pytest.approx({"a[1-2]": 0.8 * 70 * 0.02})
    assert math.isinf(single.latency.mean)
    pooled = predicted(ErlangModel(), job, b=1.0, parts=parts)
    assert pooled.verdict is Verdict.FITS
    assert pooled.operators["a"].busiest == pytest.approx(0.7)
    assert predicted(BusyTimeModel(), job, b=1.0, parts=parts).overloaded == single.overloaded


@pytest.mark.parametrize(("scv", "part"), [(1.0, 1.0), (0.0, 0.5), (3.0, 2.0)])
def test_kingman_waits_by_how_much_service_varies(scv, part):
    """Random arrivals to one server: what M/M/1 waits, times (1 + c²)/2 (Pollaczek, Khinchine)."""
    found = predicted(KingmanModel(), job_of(20), b=0.0, scv=scv)
    assert found.latency.parts[Part.QUEUEING] == pytest.approx(part * 0.4 / 0.6 * 0.020)
    assert found.latency.parts[Part.SERVICE] == pytest.approx(0.020)


def test_kingman_waits_longer_where_tuples_come_together():
    """Three outputs at once: the number that comes has three times its mean as variance."""
    found = predicted(KingmanModel(), job_of(20), a=0.0, b=10.0, outputs=3.0, scv=0.5)
    expected = 0.6 / 0.4 * 0.010 * (3.0 + 0.5) / 2
    assert found.latency.parts[Part.QUEUEING] == pytest.approx(expected)


def test_servers_of_a_common_queue_that_differ_make_service_vary():
    """Half of the tuples take 10 ms, half 30 ms: c² = 1/4, and two servers at a load of one."""
    job = job_of(50, executors=2, grouping="{fields: [k]}")
    found = predicted(KingmanModel(), job, a=(10.0, 10.0, 30.0, 30.0), b=0.0, scv=0.0)
    assert found.operators["a"].busiest == pytest.approx(0.5)
    expected = 0.020 / 3 * (1 + 1 / 4) / 2
    assert found.latency.parts[Part.QUEUEING] == pytest.approx(expected)
    assert found.latency.parts[Part.SERVICE] == pytest.approx(0.020)


def test_busy_time_follows_rate_and_parallelism_and_nobody_waits():
    def busiest(rate, executors):
        found = predicted(BusyTimeModel(), job_of(rate, executors=executors), b=5.0)
        assert found.latency.mean == pytest.approx(0.025)
        assert found.latency.parts[Part.QUEUEING] == 0.0
        return found.operators["a"].busiest

    assert [busiest(20, 1), busiest(40, 1), busiest(40, 4)] == pytest.approx([0.4, 0.8, 0.2])


@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.name)
class TestEveryBaseline:
    def test_says_all_that_a_model_says(self, model):
        """Both engines, with ackers and two nodes."""
        for engine in ("storm-1", "storm-2"):
            job = job_of(20, acked="true", engine=engine, executors=4, workers=2)
            plan = place_job(job).plan
            found = predicted(model, job, b=10.0)
            assert found.model == model.name
            assert found.verdict is Verdict.FITS
            assert [one.name for one in found.executors] == [
                one.label for one in plan.logical.executors
            ]
            assert set(found.operators) == {"s", "a", "b", "__acker"}
            assert [one.name for one in found.workers] == [str(one) for one in plan.workers]
            assert sum(one.busy for one in found.machines) == pytest.approx(20 * 0.030)
            assert sum(one.cores for one in found.workers) == pytest.approx(20 * 0.030)
            assert all(one.stretch == 1.0 for one in found.executors)
            assert set(found.latency.quantiles) == {0.5, 0.9, 0.95, 0.99}
            assert found.by_source["s"] == found.latency
            # From node to node, as measured or declared.
            assert 0.0 < found.latency.parts[Part.NETWORK] <= 2 * 0.0003
            assert not any(
                found.latency.parts[part]
                for part in (Part.BATCHING, Part.TRANSFER, Part.WAKE_UP, Part.WINDOW)
            )
            assert "leaves out" in found.notes[-1]
        assert "\n" not in model.describe()

    def test_is_overloaded_from_its_limit_on(self, model):
        job = job_of(20, executors=2)
        plan, profile = place_job(job).plan, profile_of(job, a=30.0, b=20.0)

        def at(rate):
            emission = replace(job.workload.emissions[0], per_second=rate)
            return model.predict(
                JobBehaviour.from_profile(profile),
                plan,
                replace(job.workload, emissions=(emission,)),
            )

        limit = at(20).limit
        assert limit.per_second == pytest.approx(50)
        assert limit.by == "b[5-8]"
        below, beyond = at(0.999 * limit.per_second), at(1.001 * limit.per_second)
        assert below.verdict is Verdict.FITS
        assert math.isfinite(below.latency.mean)
        assert beyond.verdict is Verdict.OVERLOADED
        assert beyond.overloaded == pytest.approx({"b[5-8]": 1.001})
        assert math.isinf(beyond.latency.mean)
        assert math.isinf(beyond.executors[2].delay_seconds)
        assert beyond.limit.factor == pytest.approx(1 / 1.001)
        # One executor can do no more than keep one core busy.
        assert beyond.machines[0].busy == pytest.approx(50.05 * 0.030 + 1.0)
        assert at(1000).limit.per_second == pytest.approx(50)

    def test_a_machine_has_so_many_cores(self, model):
        """0.6 and 0.6 of one core."""
        found = predicted(model, job_of(30, cores=1))
        assert found.overloaded == pytest.approx({"m1": 1.2})
        assert found.machines[0].overloaded
        assert found.machines[0].busy == pytest.approx(1.0)
        assert math.isinf(found.latency.mean)
        assert found.limit.factor == pytest.approx(1 / 1.2)
        assert found.limit.by == "m1"

    def test_nothing_to_do_has_no_limit(self, model):
        found = predicted(model, job_of(20), a=0.0, b=0.0)
        assert math.isinf(found.limit.factor)
        assert found.latency.mean == 0.0

    def test_what_fires_by_count_keeps_its_executor_busy_and_nobody_waits_for_it(self, model):
        """10 tuples/s of 20 ms, and every tenth fires for 100 ms; by the clock 4 tasks a second."""
        window = {"window": times(100.0, 0.0), "window_cpu": times(100.0, 0.0)}
        job = job_of(10, window="window: {length_tuples: 10}")
        found = predicted(model, job, b=1.0, **window)
        assert found.operators["a"].busiest == pytest.approx(0.3)
        assert found.latency.parts[Part.WINDOW] == 0.0
        assert found.latency.parts[Part.SERVICE] == pytest.approx(0.030 + 0.001)
        job = job_of(10, window="window: {length_seconds: 1}", engine="storm-1", cores=0.5)
        found = predicted(model, job, b=1.0, outputs=0.0, **window)
        assert found.operators["a"].busiest == pytest.approx(0.2)
        assert found.overloaded == pytest.approx({"m1": 0.6 / 0.5})
        # 0.4 of a core whatever the rate: 0.1 are left for the 0.2 that grow with it.
        assert found.limit.factor == pytest.approx(0.5)


def test_an_executor_that_gets_nothing_is_a_server_to_a_common_queue():
    """Storm 2.x keeps tuples on the node while it can: the other executor is idle."""
    job = job_of(20, executors=2, workers=2)
    found = predicted(ErlangModel(), job, b=1.0)
    assert found.operators["a"].idle == 1
    assert np.ptp([one.utilisation for one in found.executors if one.operator == "a"]) == 0.0
    assert found.operators["a"].utilisation == pytest.approx(0.2)


LEVELS = (0.5, 0.9, 0.99)


def test_erlang_c_by_hand_and_for_hundreds_of_servers():
    # Two servers, load 1: 1/3. One server: its utilisation.
    assert erlang_c([1.0, 0.7], [2, 1]) == pytest.approx([1.0 / 3.0, 0.7])
    loss = 1.0
    for servers in range(1, 801):
        loss = 780.0 * loss / (servers + 780.0 * loss)
    expected = loss / (1.0 - 780.0 / 800.0 * (1.0 - loss))
    assert erlang_c(780.0, 800) == pytest.approx(expected)


def test_the_call_centre_of_the_tables():
    """200 calls an hour of three minutes and 14 agents: 17.4 % wait, 7.8 s on the mean.

    11.2 % wait for more than 20 seconds.
    """
    found = mmc_wait(200 / 3600, 180.0, 14)
    assert found.chance == pytest.approx(0.174, abs=5e-4)
    assert found.mean == pytest.approx(7.8, abs=0.05)
    assert transforms.tail(found.transform, [20.0]) == pytest.approx(0.112, abs=5e-4)


def test_mean_waits():
    assert mmc_wait(0.5, 1.0, 1).mean == pytest.approx(1.0)
    assert mmc_wait(1.0, 1.0, 2).mean == pytest.approx(1.0 / 3.0)
    # Kingman, at variabilities that add up to those of M/M/1; M/D/1; half of M/M/2.
    assert allen_cunneen_wait(0.5, 1.0, 1, 0.5, 1.5).mean == pytest.approx(1.0)
    assert allen_cunneen_wait(0.8, 1.0, 1, 1.0, 0.0).mean == pytest.approx(2.0)
    assert allen_cunneen_wait(1.0, 1.0, 2, 0.0, 1.0).mean == pytest.approx(1.0 / 6.0)


def test_overload_waits_for_ever_and_leaves_its_neighbours_alone():
    constant = allen_cunneen_wait([1.0, 2.0, 5.0], 1.0, 2, 0.0, 0.0)
    assert constant.mean == pytest.approx([0.0, np.inf, np.inf])
    found = mmc_wait([1.0, 2.0], 1.0, 2)
    assert found.variance == pytest.approx([5.0 / 9.0, np.inf])
    value = found.transform(np.array([[1.0 + 2.0j]]))
    assert value[0, 1] == 0.0
    assert value[0, 0] == pytest.approx(mmc_wait(1.0, 1.0, 2).transform(np.array([1.0 + 2.0j]))[0])


def test_quantiles_of_sojourns():
    """One server: exponential of mean 2. Two at load 1: P(T > t) = e^(−t)·(1 + t/3)."""

    def quantiles(rate, servers):
        waiting = mmc_wait(rate, 1.0, servers)
        return transforms.quantiles(
            lambda s: waiting.transform(s) * transforms.exponential(s, 1.0),
            LEVELS,
            waiting.mean + 1.0,
            np.sqrt(waiting.variance + 1.0),
        )

    assert quantiles(0.5, 1) == pytest.approx(-2.0 * np.log1p(-np.array(LEVELS)), rel=1e-3)
    t = quantiles(1.0, 2)
    assert np.exp(-t) * (1.0 + t / 3.0) == pytest.approx(1.0 - np.array(LEVELS), rel=5e-3)


@given(load=st.floats(0.01, 0.98), servers=st.integers(1, 60))
def test_more_servers_for_the_same_utilisation_wait_less(load, servers):
    few = mmc_wait(load * servers, 1.0, servers).mean
    assert mmc_wait(load * (servers + 1), 1.0, servers + 1).mean <= few * (1.0 + 1e-9)
