"""A job in arrays says what the job says."""

import numpy as np
import pytest

from streamgauge.errors import InvalidInput
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.program import (
    BY_KEY,
    BY_SHARE,
    EVERY,
    IN_TURN,
    NONE,
    PROCESSOR,
    SOURCE,
    TRACKER,
    compile_job,
)
from streamgauge.transport.hashing import task_index

# Tasks by name: __acker 1-2, a 3-4 (sources), b 5-8, c 9. Dealt in turn over w1, w2:
# w1 has __acker[1], a[3], b[5], b[7], c[9]; w2 has __acker[2], a[4], b[6], b[8].
JOB = """
streamgauge: 1
topology:
  name: t
  acked: true
  operators: {a: {kind: source, tasks: 2}, b: {tasks: 4}, c: {tasks: 1}}
  streams:
    - {from: a, to: b, grouping: GROUPING}
    - {from: b, to: c, stream: out, grouping: {fields: [k]}}
behaviours:
  a: {service: {cpu_ms: 1}, keys: {default: {given: {weights: {x: 1, y: 3}}}}}
  b:
    service: {cpu_ms: 2, wait_ms: 4}
    outputs: {out: 2}
    relative_service: [1, 1, 1, 3]
    costs: {ack_ms: 0.5, serialise_ms: 0.25}
  c: {service: {cpu_ms: 1}}
configuration: {executors: {a: 2, b: 4}, workers: 2, settings: {SETTINGS}}
cluster: {uniform: {nodes: 2, cores: 4, latency_ms: 3}}
workload: [{source: a, per_second: 30, shares: [0.9, 0.1]}]
"""


def compiled(grouping="shuffle", settings="", **replaced):
    text = JOB.replace("GROUPING", grouping).replace("SETTINGS", settings)
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    job = parse_job(text)
    return compile_job(place_job(job).plan, job.behaviours, job.workload)


def targets(program, executor, subscription):
    row = executor * len(program.rule) + subscription
    return (program.target[program.target_first[row] : program.target_first[row + 1]] + 1).tolist()


def test_executors_keep_their_kind_worker_and_machine():
    program = compiled().program
    assert program.kind.tolist() == [TRACKER] * 2 + [SOURCE] * 2 + [PROCESSOR] * 5
    # The last two threads are the workers' transfer threads.
    assert program.worker.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1]
    assert program.machine.tolist() == program.worker.tolist()
    assert (program.acker_first, program.ackers) == (0, 2)


def test_times_are_seconds():
    made = compiled()
    operator = 1
    cpu = made.draws.parameters[made.program.cpu[operator, 0], 0]
    wait = made.draws.parameters[made.program.wait[operator, 0], 0]
    assert (cpu, wait) == pytest.approx((0.002, 0.004))
    assert made.program.latency.tolist() == [[0.0, 0.003], [0.003, 0.0]]
    assert made.program.ack[operator] == pytest.approx(0.0005)
    assert made.program.serialise[operator] == pytest.approx(0.00025)


def test_storm_2_shuffles_within_the_own_worker():
    program = compiled().program
    assert targets(program, 2, 0) == [5, 7]
    assert targets(program, 3, 0) == [6, 8]


def test_an_empty_worker_widens_the_scope_to_everything():
    # c[9] is in the first worker only; b[6] and b[8] must send there.
    program = compiled(**{"{fields: [k]}": "shuffle"}).program
    assert targets(program, 5, 1) == [9]


def test_without_load_awareness_shuffle_takes_all_tasks():
    program = compiled(settings="topology.disable.loadaware.messaging: true").program
    assert targets(program, 2, 0) == [5, 6, 7, 8]


@pytest.mark.parametrize(
    ("grouping", "rule", "tasks"),
    [
        ("local-or-shuffle", IN_TURN, [5, 7]),
        ("global", IN_TURN, [5]),
        ("all", EVERY, [5, 6, 7, 8]),
        ("direct", BY_SHARE, [5, 6, 7, 8]),
        ("{fields: [k]}", BY_KEY, [5, 6, 7, 8]),
    ],
)
def test_groupings_choose_as_they_say(grouping, rule, tasks):
    program = compiled(grouping).program
    assert program.rule[0] == rule
    assert targets(program, 2, 0) == tasks


def test_keys_go_to_the_tasks_that_java_hashes_them_to():
    program = compiled("{fields: [k]}").program
    found = program.key_task[program.key_first[0] : program.key_first[1]] + 1
    assert found.tolist() == [5 + task_index([name], 4) for name in ("x", "y")]


def test_fields_without_known_keys_are_spread_at_random():
    assert compiled().program.rule[1] == BY_SHARE


def test_custom_shares_are_cumulative():
    program = compiled("{custom: [[0.1, 0.2, 0.3, 0.4]]}").program
    row = 2 * len(program.rule)
    first, last = program.target_first[row], program.target_first[row + 1]
    assert program.target_share[first:last] == pytest.approx([0.1, 0.3, 0.6, 1.0])


def test_rates_are_shared_as_the_workload_says():
    made = compiled()
    assert made.emissions.rate == pytest.approx([27.0, 3.0])
    assert made.program.process_executor.tolist() == [2, 3]


def test_outputs_and_sinks_and_slow_tasks_are_kept():
    made = compiled()
    row = 1 * len(made.program.rule) + 0
    places = range(made.program.output_first[row], made.program.output_first[row + 1])
    assert [made.program.output_stream[n] for n in places] == [1]
    assert made.program.is_sink.tolist() == [0, 0, 1, 0]
    assert made.program.factor.tolist() == [1, 1, 1, 1, 1, 1, 1, 3, 1]


def test_a_limit_on_open_roots_is_read_from_the_settings():
    assert compiled(settings="topology.max.spout.pending: 7").program.max_pending == 7
    assert compiled().program.max_pending > 10**18


def test_an_unlimited_source_has_no_process():
    shape = "{source: a, shape: unlimited}"
    made = compiled(**{"{source: a, per_second: 30, shares: [0.9, 0.1]}": shape})
    assert len(made.program.process_executor) == 0
    assert made.program.unlimited[2] != NONE
    assert (made.program.unlimited[4:] == NONE).all()


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("  c: {service: {cpu_ms: 1}}\n", "", "nothing on 'c'"),
        ("c: {tasks: 1}}", "c: {tasks: 1, window: {length_tuples: 2}}}", "window"),
        ("{workers", "{workers", "storm-1"),
    ],
)
def test_what_cannot_be_simulated_is_said(old, new, seen):
    text = JOB.replace("GROUPING", "shuffle").replace("SETTINGS", "").replace(old, new)
    if seen == "storm-1":
        text = text.replace("workers: 2", "workers: 2, engine: storm-1")
    if seen == "window":
        text = text.replace("c: {service: {cpu_ms: 1}}", "c: {window: {}}")
    job = parse_job(text)
    with pytest.raises(InvalidInput, match=seen):
        compile_job(place_job(job).plan, job.behaviours, job.workload)


def test_arrays_have_no_gaps():
    program = compiled().program
    assert (np.diff(program.target_first) >= 0).all()
    assert program.target_first[-1] == len(program.target) == len(program.target_share)
