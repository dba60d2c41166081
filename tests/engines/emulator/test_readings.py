"""What is read of queues: tuples in them and behind them."""

import pytest

from streamgauge.engines.emulator.readings import take_reading
from streamgauge.engines.emulator.subjects import Rows, Subjects
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.program import compile_job
from streamgauge.simulation.topology_run import initial_state
from streamgauge.transport.engine import load_engine
from tests.engines.emulator.emulations import PRESSED, WINDOWED, emulated


def reading(text, **queue):
    """A reading of a job before it begins, but for its first queue."""
    job = parse_job(text)
    plan = place_job(job).plan
    configuration = plan.logical.configuration
    mechanics = load_engine(configuration.engine).mechanics(configuration.settings)
    compiled = compile_job(plan, job.behaviours, job.workload, mechanics, detailed=True)
    state = initial_state(plan, compiled, 1, trace_every=0)
    for name, value in queue.items():
        state.queue[name][0] = value
    subjects = Subjects(plan, plan_id="p", cluster=None)
    return take_reading(state, compiled, Rows(subjects, compiled))


@pytest.mark.parametrize("length", [5, 15, 21])
def test_behind_a_queue_is_what_came_when_it_was_full(length):
    # The consumer empties the queue, which holds 16, before the overflow.
    assert reading(PRESSED, length=length, overflow=5)["overflow"][0] == 5


def test_a_full_queue_has_nothing_behind_it():
    # A batch may exceed the room.
    assert reading(PRESSED, length=19, overflow=0)["overflow"][0] == 0


def test_behind_a_batched_queue_are_the_batches_that_found_no_room():
    parts = {"taken": 3, "ring_tuples": 4, "batch_tuples": 1}
    assert reading(WINDOWED, length=12, **parts)["overflow"][0] == 4


def test_flush_tuples_are_no_tuples_in_a_queue():
    assert reading(PRESSED, length=10, flushes=4)["length"][0] == 6


def test_what_waits_behind_a_far_queue_is_written(tmp_path):
    """A source on another worker sends on for 20 ms after the queue of 16 is full."""
    far = "nodes: 2, latency_ms: 20"
    text = PRESSED.replace("workers: 1", "workers: 2").replace("nodes: 1", far)
    text = text.replace("tasks: 2", "tasks: 1").replace("{s: 2}", "{s: 1}")
    job = emulated(text, tmp_path, seconds=2.0, bucket_seconds=0.01)
    behind = [one.value for one in job.of("queue_overflow", component="a", queue="receive")]
    inside = [one.value for one in job.of("queue_population", component="a", queue="receive")]
    # It is still there when the queue itself has been emptied.
    assert any(over > 0 and all_of_it < 16 for over, all_of_it in zip(behind, inside, strict=True))
