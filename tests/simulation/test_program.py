"""A job in arrays says what the job says."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.program import compile_job
from streamgauge.simulation.records import (
    BY_KEY,
    BY_KEY_OF_TWO,
    BY_SHARE,
    EVERY,
    IN_TURN,
    NEAR_AND_FREE,
    NONE,
    PROCESSOR,
    SOURCE,
    TRACKER,
)
from streamgauge.transport.engine import load_engine
from streamgauge.transport.hashing import task_index, two_choices

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


def made(text):
    job = parse_job(text)
    plan = place_job(job).plan
    configuration = plan.logical.configuration
    mechanics = load_engine(configuration.engine).mechanics(configuration.settings)
    return compile_job(plan, job.behaviours, job.workload, mechanics)


def compiled(grouping="shuffle", settings="", **replaced):
    text = JOB.replace("GROUPING", grouping).replace("SETTINGS", settings)
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    return made(text)


def route(program, executor, subscription):
    return executor * program.at.subscriptions + subscription


def targets(found, executor, subscription):
    row = found.routes.route[route(found.program, executor, subscription)]
    return (found.program.target[row["first"] : row["last"]] + 1).tolist()


def sizes(found, executor, subscription):
    row = found.routes.route[route(found.program, executor, subscription)]
    return [int(row[name]) for name in ("worker_size", "host_size", "rack_size")]


def test_executors_keep_their_kind_worker_and_machine():
    program = compiled().program
    kinds = program.operator["kind"][program.task["operator"]]
    assert kinds.tolist() == [TRACKER] * 2 + [SOURCE] * 2 + [PROCESSOR] * 5
    assert program.worker.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert (program.at.acker_first, program.at.ackers) == (0, 2)


def test_times_are_seconds():
    found = compiled()
    operator = 1
    service = found.program.service[operator * (found.program.at.subscriptions + 1)]
    cpu, wait = (found.draws.law["first"][service[name]] for name in ("cpu", "wait"))
    assert (cpu, wait) == pytest.approx((0.002, 0.004))
    assert found.program.latency.tolist() == [[0.0, 0.003], [0.003, 0.0]]
    assert found.program.operator["ack"][operator] == pytest.approx(0.0005)
    assert found.program.operator["serialise"][operator] == pytest.approx(0.00025)


def test_storm_2_shuffles_over_the_nearest_first():
    found = compiled()
    assert found.program.subscription["rule"][0] == NEAR_AND_FREE
    assert targets(found, 2, 0) == [5, 7, 6, 8]
    assert targets(found, 3, 0) == [6, 8, 5, 7]
    # Two in the own worker, which is all of its host; one rack has everything.
    assert sizes(found, 2, 0) == [2, 2, 4]


def test_an_empty_worker_has_an_empty_scope():
    # c[9] is in the first worker only; b[6] and b[8] must send there.
    found = compiled(**{"{fields: [k]}": "shuffle"})
    assert targets(found, 5, 1) == [9]
    assert sizes(found, 5, 1) == [0, 0, 1]


def test_without_load_awareness_shuffle_takes_all_tasks():
    found = compiled(settings="topology.disable.loadaware.messaging: true")
    assert found.program.subscription["rule"][0] == IN_TURN
    assert targets(found, 2, 0) == [5, 6, 7, 8]


@pytest.mark.parametrize(
    ("grouping", "rule", "tasks"),
    [
        ("local-or-shuffle", IN_TURN, [5, 7]),
        ("global", IN_TURN, [5]),
        ("all", EVERY, [5, 6, 7, 8]),
        ("direct", BY_SHARE, [5, 6, 7, 8]),
        ("{fields: [k]}", BY_KEY, [5, 6, 7, 8]),
        ("{partial-key: [k]}", BY_KEY_OF_TWO, [5, 6, 7, 8]),
    ],
)
def test_groupings_choose_as_they_say(grouping, rule, tasks):
    found = compiled(grouping)
    assert found.program.subscription["rule"][0] == rule
    assert targets(found, 2, 0) == tasks


def test_keys_go_to_the_tasks_that_java_hashes_them_to():
    found = compiled("{fields: [k]}").program
    assert (found.key_task + 1).tolist() == [5 + task_index([name], 4) for name in ("x", "y")]


def test_partial_keys_have_two_tasks_each():
    found = compiled("{partial-key: [k]}").program
    wanted = [5 + task for name in ("x", "y") for task in two_choices([name], 4)]
    assert (found.key_task + 1).tolist() == wanted


def test_fields_without_known_keys_are_spread_at_random():
    assert compiled().program.subscription["rule"][1] == BY_SHARE


def test_custom_shares_are_cumulative():
    found = compiled("{custom: [[0.1, 0.2, 0.3, 0.4]]}")
    row = found.routes.route[route(found.program, 2, 0)]
    shares = found.program.target_share[row["first"] : row["last"]]
    assert shares == pytest.approx([0.1, 0.3, 0.6, 1.0])


def test_rates_are_shared_as_the_workload_says():
    found = compiled()
    assert found.emissions.rate == pytest.approx([27.0, 3.0])
    assert found.program.process["executor"].tolist() == [2, 3]


def test_outputs_and_sinks_and_slow_tasks_are_kept():
    program = compiled().program
    row = 1 * (program.at.subscriptions + 1) + 0
    places = range(program.output_first[row], program.output_first[row + 1])
    assert [program.output["stream"][n] for n in places] == [1]
    assert program.operator["sink"].tolist() == [0, 0, 1, 0]
    assert program.task["factor"].tolist() == [1, 1, 1, 1, 1, 1, 1, 3, 1]


def test_a_limit_on_open_roots_is_one_for_each_task():
    limited = compiled(settings="topology.max.spout.pending: 7").program
    assert limited.max_pending[2] == 7
    both = compiled(settings="topology.max.spout.pending: 7", **{"{a: 2, b": "{a: 1, b"})
    assert both.program.max_pending[2] == 14
    assert compiled().program.max_pending.min() == 2**31 - 1


def test_an_unlimited_source_has_no_process():
    shape = "{source: a, shape: unlimited}"
    found = compiled(**{"{source: a, per_second: 30, shares: [0.9, 0.1]}": shape})
    assert len(found.program.process) == 0
    assert found.unlimited[2] != NONE
    assert (found.unlimited[4:] == NONE).all()


def test_ways_run_from_every_source_to_every_sink():
    found = compiled()
    assert found.ways.rows == (("a", "b", "c"),)


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("  c: {service: {cpu_ms: 1}}\n", "", "no behaviour of 'c'"),
        (
            "c: {service: {cpu_ms: 1}}",
            "c: {service: {cpu_ms: 1}, join: {on-key: {within_seconds: 1}}}",
            "a join on keys of b/out, which has none",
        ),
        ("per_second: 30, shares: [0.9, 0.1]", "shape: unlimited", "takes? no time"),
        ("{source: a, per_second: 30, shares: [0.9, 0.1]}", "", "no emission"),
        (
            "{source: a, per_second: 30, shares: [0.9, 0.1]}",
            "{source: a, shape: unlimited}, {source: a, stream: more, shape: unlimited}",
            "several unlimited streams of 'a'",
        ),
        ("settings: {}", "settings: {topology.max.spout.pending: 0}", "max_pending"),
        ("settings: {}", "settings: {topology.message.timeout.secs: x}", "'x'"),
    ],
)
def test_what_cannot_be_simulated_is_said(old, new, seen):
    text = JOB.replace("GROUPING", "shuffle").replace("SETTINGS", "")
    assert old in text
    text = text.replace(old, new)
    if "more" in new:
        text = text.replace(
            "  streams:\n", "  streams:\n    - {from: a, to: c, stream: more, grouping: all}\n"
        )
    elif "unlimited" in new:
        text = text.replace("a: {service: {cpu_ms: 1}, keys", "a: {keys")
    with pytest.raises(InvalidInput, match=seen):
        made(text)


def test_event_time_is_refused():
    text = JOB.replace("GROUPING", "shuffle").replace("SETTINGS", "")
    text = text.replace(
        "c: {tasks: 1}}", "c: {tasks: 1, window: {length_seconds: 2, event_time: true}}}"
    )
    text = text.replace("c: {service: {cpu_ms: 1}}", "c: {window: {}}")
    with pytest.raises(InvalidInput, match="event time"):
        made(text)


def test_arrays_have_no_gaps():
    found = compiled()
    used = found.routes.route[found.routes.route["last"] > 0]
    assert used["first"][0] == 0
    assert (used["first"][1:] == used["last"][:-1]).all()
    assert used["last"][-1] == len(found.program.target) == len(found.program.target_share)
