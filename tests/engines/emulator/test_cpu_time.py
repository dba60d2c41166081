"""CPU time is counted once, on every level the same; and threads that wait are seen."""

import pytest

from tests.engines.emulator.emulations import ACKED, PRESSED, emulated


def seconds(job, metric, **keys):
    return 1e-9 * job.total(metric, **keys)


def test_a_machine_is_as_busy_as_in_the_result(any_job):
    for machine in any_job.result.machines:
        busy = machine.busy + machine.polling + machine.background
        spent = seconds(any_job, "machine_cpu", machine=machine.name)
        assert spent == pytest.approx(busy * any_job.result.seconds, abs=1e-7)


def test_threads_workers_nodes_and_machines_have_the_same_sum(any_job):
    cluster, result = any_job.plan.cluster, any_job.result
    background = sum(one.background_cores for one in cluster.machines) * result.seconds
    machines = seconds(any_job, "machine_cpu")
    assert seconds(any_job, "worker_cpu") == pytest.approx(machines - background, abs=1e-6)
    assert seconds(any_job, "node_cpu") == pytest.approx(machines - background, abs=1e-6)
    parts = ("executor_cpu", "transfer_thread_cpu", "network_threads_cpu", "window_thread_cpu")
    threads = sum(seconds(any_job, part) for part in parts)
    assert threads == pytest.approx(machines - background, abs=1e-6)


def test_an_executor_has_spent_what_its_services_asked_for(windowed):
    for one in windowed.result.executors:
        spent = seconds(windowed, "executor_cpu", executor=one.name)
        assert spent == pytest.approx(one.cores * windowed.result.seconds, abs=1e-6)


def test_an_executor_is_idle_where_it_neither_works_nor_is_blocked(any_job):
    result = any_job.result
    for one in result.executors:
        idle = seconds(any_job, "executor_idle", executor=one.name)
        rest = (1.0 - one.utilisation - one.blocked) * result.seconds
        assert idle == pytest.approx(rest, abs=1e-6)


def test_no_thread_spends_more_than_a_bucket(any_job):
    for one in any_job.of("executor_cpu"):
        assert one.value <= 1e9 * one.bucket_seconds + 1


def test_senders_are_held_back_by_a_full_queue(pressed):
    result = pressed.result
    for one in result.executors:
        held = seconds(pressed, "backpressure_held", executor=one.name)
        assert held == pytest.approx(one.blocked * result.seconds, abs=1e-6)
    # Two senders before one queue that is full from the first moments on.
    assert seconds(pressed, "backpressure_held") > 10.0
    caused = pressed.of("backpressure_caused")
    assert {one.component for one in caused} == {"a"}
    assert 5.0 < seconds(pressed, "backpressure_caused") <= 6.0


def test_one_sender_is_held_back_as_long_as_the_queue_holds_it_back(tmp_path):
    text = PRESSED.replace("tasks: 2", "tasks: 1").replace("{s: 2}", "{s: 1}")
    job = emulated(text, tmp_path, seconds=3.0, bucket_seconds=1.003)
    held = [one.value for one in job.of("backpressure_held")]
    assert held == [one.value for one in job.of("backpressure_caused")]
    assert len(held) == 3


def test_storm_s_capacity_is_the_share_of_time_in_execute(pressed):
    (*_, last) = pressed.of("executor_capacity", component="a")
    assert last.value == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("balance_ms", [0, 0.5, 50])
def test_threads_are_charged_for_what_they_got_however_they_share_cores(tmp_path, balance_ms):
    busy = ACKED.replace("per_second: 50", "per_second: 200")
    busy = busy.replace("{cores: 2", f"{{balance_ms: {balance_ms}, cores: 2")
    job = emulated(busy, tmp_path, seconds=3.0, bucket_seconds=0.5)
    for machine in job.result.machines:
        spent = seconds(job, "machine_cpu", machine=machine.name) / job.result.seconds
        parts = machine.busy + machine.polling + machine.background
        assert spent == pytest.approx(parts, abs=1e-6)


# Both bolts begin at the same moment, and share the one core until both are done.
CROWDED = """
streamgauge: 1
topology:
  name: crowded
  operators: {s: {kind: source}, a: {}, b: {}}
  streams: [{from: s, to: a, grouping: shuffle}, {from: s, to: b, grouping: shuffle}]
behaviours:
  a: {service: {cpu_ms: 10}}
  b: {service: {cpu_ms: 10, wait_ms: 30}}
configuration:
  workers: 1
  settings:
    topology.bolt.wait.progressive.level2.count: 0
    topology.bolt.wait.progressive.level3.sleep.millis: 0
cluster: {uniform: {nodes: 1, cores: 1}}
workload: [{source: s, per_second: 10, shape: regular}]
"""


def test_two_that_share_a_core_are_delayed_as_long_as_they_work(tmp_path):
    job = emulated(CROWDED, tmp_path, seconds=10.0, bucket_seconds=0.513)
    for operator in ("a", "b"):
        work = seconds(job, "executor_cpu", component=operator)
        assert work == pytest.approx(1.0, rel=0.02)
        assert seconds(job, "executor_run_delay", component=operator) == pytest.approx(
            work, abs=0.0101
        )
        # A bucket ends in the middle of services and waits: none has more than its part.
        for one in job.of("executor_run_delay", component=operator):
            assert 0.0 <= one.value <= 1e9 * one.bucket_seconds * 0.12
    assert seconds(job, "worker_run_delay") == pytest.approx(
        seconds(job, "executor_run_delay"), abs=1e-6
    )


def test_a_worker_executed_what_its_tasks_did(any_job):
    for worker in any_job.plan.workers:
        tasks = any_job.total("executed", worker=str(worker))
        assert any_job.total("worker_executed", worker=str(worker)) == tasks


def test_idle_cpu_is_what_polling_burnt(any_job):
    polled = sum(one.polling for one in any_job.result.machines) * any_job.result.seconds
    assert seconds(any_job, "executor_idle_cpu") == pytest.approx(polled, abs=1e-6)
