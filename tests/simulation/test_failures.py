"""Time-outs, failures, replays, limits and back-pressure; every root ends exactly once."""

import pytest

from streamgauge.errors import InvalidInput
from tests.simulation.intervals import holds, runs_of
from tests.simulation.jobs import run_text

JOB = """
streamgauge: 1
topology:
  name: t
  acked: true
  operators: {{s: {{kind: source}}, a: {{}}, b: {{}}}}
  streams: [{{from: s, to: a, grouping: shuffle}}, {{from: a, to: b, grouping: shuffle}}]
behaviours:
  s: {{replays: {replays}}}
  a: {{service: {{{service}}}, outputs: {{default: 1}}, fails: {fails}}}
  b: {{}}
configuration: {{workers: {workers}, ackers: 1, settings: {{{settings}}}}}
cluster: {{uniform: {{nodes: {workers}, cores: 4, latency_ms: {latency}}}}}
workload: [{{source: s, {emission}}}]
"""
DEFAULTS = {
    "replays": "false",
    "service": "wait_ms: 1",
    "fails": 0,
    "workers": 1,
    "latency": 0,
    "settings": "",
    "emission": "per_second: 20",
}


def run(seed=1, *, seconds=500.0, warmup=0.0, mechanics=None, **changes):
    text = JOB.format(**{**DEFAULTS, **changes})
    return run_text(text, seconds=seconds, warmup=warmup, seed=seed, **(mechanics or {}))


def every_root_ends_once(result):
    ended = result.roots_acked + result.roots_failed + result.open_roots
    assert result.roots_emitted == ended
    assert result.open_roots >= 0


def test_a_root_fails_between_one_and_two_time_outs():
    """Tuples that take a hundred seconds: none is ever acked in time."""
    given = {"service": "wait_ms: 100000", "settings": "topology.message.timeout.secs: 5"}
    result = run(**given)
    every_root_ends_once(result)
    assert result.roots_acked == 0
    # 20/s at equal gaps, and those of the last 5 to 10 seconds are open.
    opened = [
        run(seconds=300.0 + 0.5 * n, **given, emission="per_second: 20, shape: regular").open_roots
        for n in range(10)
    ]
    assert [round(one / 20, 1) for one in opened] == [5.0 + 0.5 * n for n in range(10)]
    assert result.operators["s"].timed_out_per_second == pytest.approx(20.0, rel=0.1)


def test_failed_roots_are_emitted_again_until_they_succeed():
    # A tenth fails: 20/0.9 are executed a second.
    given = {"replays": "true", "fails": 0.1, "warmup": 10.0}
    found = runs_of(lambda seed: run(seed, **given), lambda r: r.operators["a"].executed_per_second)
    holds(found, 20 / 0.9)
    found = runs_of(lambda seed: run(seed, **given), lambda r: r.operators["s"].replayed_per_second)
    holds(found, 20 / 0.9 - 20, within=0.1)
    result = run(**given)
    every_root_ends_once(result)


def test_without_replays_a_failure_is_the_end():
    result = run(fails=0.1)
    every_root_ends_once(result)
    assert result.roots_failed / result.roots_emitted == pytest.approx(0.1, abs=0.015)
    # A failure reaches the source as soon as an ack would, and no tuple is executed twice.
    assert result.operators["a"].executed_per_second == pytest.approx(20.0, rel=0.05)


def test_a_replay_keeps_the_time_it_was_due():
    slow = run(replays="true", fails=0.5, seconds=1000.0)
    # Half of the roots come again, a quarter twice: two executions for each that succeeds.
    every_root_ends_once(slow)
    assert slow.operators["a"].executed_per_second == pytest.approx(40.0, rel=0.05)
    assert slow.since_due.mean > slow.latency.mean


def test_a_full_queue_blocks_the_emitter_of_the_same_worker():
    """A source that emits whenever asked into a server of 10 ms behind room for four."""
    text = JOB.format(**{**DEFAULTS, "service": "wait_ms: 10", "emission": "shape: unlimited"})
    text = text.replace("s: {replays: false}", "s: {service: {cpu_ms: 0.01}}")
    result = run_text(text, seconds=100.0, warmup=5.0, receive_limit=4)
    every_root_ends_once(result)
    assert result.operators["a"].executed_per_second == pytest.approx(100.0, rel=0.01)
    # The source is blocked nearly always, and a's queue is why.
    assert result.operators["s"].blocked > 0.99
    assert result.operators["a"].blocking == pytest.approx(result.operators["s"].blocked, rel=0.02)
    peaks = [one.receive.peak for one in result.executors if one.operator == "a"]
    assert peaks == [4]
    # One at the source, four in the queue, one in service: six services of 10 ms.
    assert result.latency.mean == pytest.approx(0.06, rel=0.01)


FAR = {
    **DEFAULTS,
    "workers": 2,
    "latency": 1,
    "service": "wait_ms: 10",
    "emission": "per_second: 400",
}


def far(**mechanics):
    # Dealt in turn over two workers: __acker[1] and b[3], then a[2] and s[4]; b is far from a.
    text = JOB.format(**FAR).replace("a: {service: {wait_ms: 10}", "a: {service: {wait_ms: 1}")
    text = text.replace("  b: {}\nconf", "  b: {service: {wait_ms: 10}}\nconf")
    return run_text(text, seconds=60.0, warmup=10.0, **mechanics)


def test_a_far_queue_overflows_and_then_holds_others_back():
    result = far(receive_limit=16)
    every_root_ends_once(result)
    # b serves 100 of the 400 that come.
    assert result.operators["b"].executed_per_second == pytest.approx(100.0, rel=0.02)
    assert result.operators["a"].blocked > 0.5
    assert result.operators["b"].blocking > 0.5
    assert result.operators["b"].dropped_per_second == 0.0
    # Until the news arrives more comes than there is room for; looked at every 50 ms.
    peak = max(one.receive.peak for one in result.executors if one.operator == "b")
    assert 16 < peak < 16 + 64


def test_beyond_the_overflow_tuples_are_dropped():
    """A tuple comes every millisecond, and word of the overflow takes another one to a.

    So two come behind the full queue, each half second, and there is room for one of them.
    """
    result = far(receive_limit=16, overflow_limit=1, pressure_seconds=0.5)
    b = result.operators["b"]
    assert b.dropped_per_second == pytest.approx(2.0, rel=0.05)
    # What a sent was served, dropped, or is one of the few that are under way.
    sent = result.operators["a"].emitted_per_second
    gone = b.executed_per_second + b.dropped_per_second
    assert sent == pytest.approx(gone, abs=100 / result.seconds)
    peak = max(one.receive.peak for one in result.executors if one.operator == "b")
    assert peak == 17


def test_storm_1_stops_its_sources_at_the_high_water_mark():
    text = JOB.format(
        **{
            **DEFAULTS,
            "service": "wait_ms: 10",
            "emission": "per_second: 300",
            "settings": "topology.backpressure.enable: true",
        }
    ).replace("configuration: {", "configuration: {engine: storm-1, ")
    # A source that takes no time would emit all that has become due at one moment.
    text = text.replace("s: {replays: false}", "s: {service: {cpu_ms: 0.1}}")
    result = run_text(text, seconds=100.0, warmup=20.0)
    every_root_ends_once(result)
    assert result.operators["a"].executed_per_second == pytest.approx(100.0, rel=0.01)
    assert result.operators["s"].throttled > 0.5
    peaks = [one.receive.peak for one in result.executors if one.operator == "a"]
    # 0.9 of 1,024 lists, and what was on its way.
    assert 922 <= max(peaks) < 1100
    # Without it the queue grows without end.
    free = run_text(text.replace("enable: true", "enable: false"), seconds=100.0, warmup=20.0)
    assert free.operators["s"].throttled == 0.0
    assert free.saturated == ("a",)


def with_water_marks(high, low, size=1000):
    """Tuples of so many bytes, 300 a second for an operator that serves 100."""
    text = (
        JOB.format(**{**DEFAULTS, "service": "wait_ms: 10", "emission": "per_second: 300"})
        .replace("configuration: {", "configuration: {engine: storm-1, ")
        .replace(
            "s: {replays: false}", f"s: {{service: {{cpu_ms: 0.1}}, bytes: {{default: {size}}}}}"
        )
        .replace("fails: 0}", f"fails: 0, bytes: {{default: {size}}}}}")
    )
    return run_text(text, seconds=100.0, warmup=20.0, watermark_bytes=(high, low))


def test_sources_stop_at_a_high_mark_in_bytes_and_go_on_below_the_low_one():
    """Between the marks they stay as they are: the queue swings, and is never empty."""
    result = with_water_marks(400e3, 200e3)
    (queue,) = (one.receive for one in result.executors if one.operator == "a")
    assert result.operators["a"].executed_per_second == pytest.approx(100.0, rel=0.01)
    assert 400 <= queue.peak < 450
    # It empties at 100 a second from 400 to 200; the source then has 600 due, and fills it at once.
    assert queue.length == pytest.approx(300.0, rel=0.05)


def test_marks_close_together_keep_a_queue_near_them():
    result = with_water_marks(400e3, 396e3)
    (queue,) = (one.receive for one in result.executors if one.operator == "a")
    assert queue.length == pytest.approx(400.0, rel=0.05)


def test_marks_in_bytes_ask_for_sizes():
    with pytest.raises(InvalidInput, match="sizes of all streams"):
        run(mechanics={"watermark_bytes": (100e6, 50e6), "send_threads": True})


FULL = """
streamgauge: 1
topology:
  name: t
  operators: {s: {kind: source}, a: {}}
  streams: [{from: s, to: a, grouping: shuffle}]
behaviours: {a: {service: {wait_ms: 9.7}}}
configuration: {settings: {topology.producer.batch.size: BATCH}}
workload: [{source: s, per_second: 100, shape: regular}]
"""


@pytest.mark.parametrize("batch", [1, 10])
def test_flush_tuples_are_no_load_of_their_own(batch):
    """97 % busy and never behind: full, but not saturated.

    With 10.5 ms, 20,000 tuples come in 200 s and 952 of them stay, more than 5·√20,000 = 707.
    """
    text = FULL.replace("BATCH", str(batch))
    full = run_text(text, seconds=60.0, warmup=5.0)
    one, queue = full.operators["a"], full.executors[0].receive
    assert one.utilisation == pytest.approx(0.97, abs=0.005)
    assert one.arrived_per_second == pytest.approx(100.0, abs=1.0)
    assert not one.saturated
    # Every tuple finds the server free; flush tuples wait behind it, and nobody counts them.
    assert one.queue_length == one.wait_seconds == queue.wait_seconds == 0.0
    assert queue.peak == 1
    over = run_text(text.replace("9.7", "10.5"), seconds=200.0, warmup=5.0)
    assert over.operators["a"].saturated
    # Of all that has come a 21st waits: at half time, after 105 s, 500 tuples and for 5 s.
    assert over.operators["a"].queue_length == pytest.approx(500.0, rel=0.01)
    assert over.executors[0].receive.wait_seconds == pytest.approx(5.0, rel=0.01)


def test_a_blocked_source_with_batches_still_hears_the_ackers():
    """Queues of four, batches of three, and more to emit than fits: nothing stands still."""
    text = JOB.format(
        **{
            **DEFAULTS,
            "service": "wait_ms: 5",
            "emission": "shape: unlimited",
            "settings": "topology.producer.batch.size: 3",
        }
    ).replace("s: {replays: false}", "s: {service: {cpu_ms: 0.01}}")
    result = run_text(text, seconds=60.0, warmup=5.0, receive_limit=4, transfer_limit=4)
    every_root_ends_once(result)
    assert result.operators["a"].executed_per_second == pytest.approx(200.0, rel=0.05)
    assert result.roots_acked > 0.9 * result.roots_emitted
