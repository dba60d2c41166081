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
