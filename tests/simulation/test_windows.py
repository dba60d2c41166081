"""Windows and joins: when they fire, what they hold, and when their tuples are acked."""

import pytest

from tests.simulation.intervals import holds, runs_of
from tests.simulation.jobs import run_text

WINDOW = """
streamgauge: 1
topology:
  name: t
  acked: {acked}
  operators: {{s: {{kind: source}}, w: {{window: {{{window}}}}}, b: {{}}}}
  streams: [{{from: s, to: w, grouping: shuffle}}, {{from: w, to: b, grouping: shuffle}}]
behaviours:
  w: {{window: {{service: {{{service}}}, outputs: {{default: 1}}}}}}
  b: {{}}
configuration: {{settings: {{topology.message.timeout.secs: 600}}}}
cluster: {{uniform: {{nodes: 1, cores: 4}}}}
workload: [{{source: s, per_second: 20{shape}}}]
"""


def runs(figure, *, window, service="", acked="true", seconds=1500.0, shape=""):
    text = WINDOW.format(window=window, service=service, acked=acked, shape=shape)
    return runs_of(lambda seed: run_text(text, seconds=seconds, warmup=100.0, seed=seed), figure)


def test_a_tuple_waits_half_a_count_window_but_for_itself():
    # (C − 1)/(2λ), and C tuples come out of every window with one result.
    holds(runs(lambda r: r.latency.mean, window="length_tuples: 10"), 9 / 40)
    holds(
        runs(lambda r: r.operators["w"].window_tuples, window="length_tuples: 10"), 10, within=1e-9
    )
    holds(runs(lambda r: r.operators["b"].executed_per_second, window="length_tuples: 10"), 2.0)


def test_a_tumbling_windows_tuples_are_acked_at_the_next_trigger():
    # Half a window to its own trigger, then a whole one: (C − 1)/(2λ) + C/λ.
    holds(runs(lambda r: r.seen_by_source.mean, window="length_tuples: 10"), 9 / 40 + 0.5)


def test_tuples_of_long_windows_are_acked_earlier():
    """Storm looks for expired tuples after every hundred, not only at triggers.

    A window of 300 tuples: place n is 300 − n before the trigger. Then every hundred tuples the
    tuples that are more than 300 old expire: those of the first hundred 100 tuples after the
    trigger, the next 200 after, the last 300 after. So a tuple waits between 300 and 400 tuples
    for its ack, (300 + 399)/2 on the mean, and not 449.5.
    """
    window = "length_tuples: 300"
    holds(runs(lambda r: r.seen_by_source.mean, window=window, seconds=4000.0), 349.5 / 20)


def test_a_sliding_count_window_fires_every_slide():
    window = "length_tuples: 20, slide_tuples: 5"
    holds(runs(lambda r: r.operators["b"].executed_per_second, window=window), 4.0)
    holds(runs(lambda r: r.operators["w"].window_tuples, window=window), 20, within=1e-9)
    # Every tuple is in four results: (0…4 places late) + 0, 5, 10, 15 tuples, on the mean 9.5.
    holds(runs(lambda r: r.latency.mean, window=window), 9.5 / 20)
    # It leaves with the fifth trigger after it came: 2 + 20 tuples.
    holds(runs(lambda r: r.seen_by_source.mean, window=window), 22 / 20)


def test_a_time_window_fires_at_its_own_times():
    window = "length_seconds: 2"
    holds(runs(lambda r: r.operators["w"].triggers_per_second, window=window), 0.5, within=1e-3)
    holds(runs(lambda r: r.operators["w"].window_tuples, window=window), 40.0)
    holds(runs(lambda r: r.latency.mean, window=window), 1.0)
    holds(runs(lambda r: r.seen_by_source.mean, window=window), 3.0)


def test_a_sliding_time_window_keeps_what_is_young_enough():
    window = "length_seconds: 3, slide_seconds: 1"
    holds(runs(lambda r: r.operators["w"].window_tuples, window=window), 60.0)
    holds(runs(lambda r: r.latency.mean, window=window), 1.5)
    # Uniform in its slide, then until it is three seconds old at a trigger: 3.5 s.
    holds(runs(lambda r: r.seen_by_source.mean, window=window), 3.5)


@pytest.mark.parametrize(
    ("window", "tuples"),
    [
        ("length_tuples: 30, slide_seconds: 1", 30.0),
        # What came in two seconds, and the tuple that fires it.
        ("length_seconds: 2, slide_tuples: 10", 41.0),
    ],
)
def test_length_and_slide_may_differ_in_kind(window, tuples):
    found = runs(lambda r: r.operators["w"].window_tuples, window=window)
    holds(found, tuples, within=0.05)


def test_a_count_trigger_blocks_the_executor_and_a_time_trigger_does_not():
    # A window function of 200 ms, once in 2 s: four tuples come meanwhile.
    slow = "wait_ms: 200"
    blocked = runs(
        lambda r: r.operators["w"].queue_length, window="length_tuples: 40", service=slow
    )
    # In a tenth of the time a queue builds up to four tuples: 20·0.2²/2 tuple-seconds in 2 s.
    holds(blocked, 20 * 0.2**2 / 2 / 2, within=0.1)
    apart = runs(lambda r: r.operators["w"].queue_length, window="length_seconds: 2", service=slow)
    assert max(apart) == 0.0


def test_an_empty_time_window_does_not_fire():
    """Bursts of one second in ten: the window of a second fires at most twice in ten."""
    shape = ", shape: {burst: {on_seconds: 1, off_seconds: 9}}"
    found = runs(
        lambda r: r.operators["w"].triggers_per_second,
        window="length_seconds: 1",
        shape=shape,
        seconds=1000.0,
    )
    assert 0.15 < sum(found) / len(found) <= 0.2


JOIN = """
streamgauge: 1
topology:
  name: t
  acked: true
  operators: {{l: {{kind: source}}, r: {{kind: source}}, j: {{tasks: 2}}, b: {{}}}}
  streams:
    - {{from: l, to: j, grouping: {{fields: [k]}}}}
    - {{from: r, to: j, grouping: {{fields: [k]}}}}
    - {{from: j, to: b, grouping: shuffle}}
behaviours:
  l: {{keys: {{default: {{uniform: {{count: {keys}}}}}}}}}
  r: {{keys: {{default: {{uniform: {{count: {keys}}}}}}}}}
  j: {{join: {{on-key: {{within_seconds: {within}}}}}, outputs: {{default: 1}}}}
  b: {{}}
configuration: {{executors: {{j: 2}}, settings: {{topology.message.timeout.secs: 100000}}}}
workload: [{{source: l, per_second: 10}}, {{source: r, per_second: {rate}}}]
"""


def joined(figure, **given):
    text = JOIN.format(**{"keys": 5, "within": 1000, "rate": 10, **given})
    return runs_of(lambda seed: run_text(text, seconds=2000.0, warmup=50.0, seed=seed), figure)


def test_a_join_gives_as_many_pairs_as_the_rarer_side_has():
    # The left comes twice as often: every tuple of the right finds a partner at once.
    holds(joined(lambda r: r.operators["b"].executed_per_second, rate=5), 5.0)


def test_a_tuple_without_a_partner_in_time_is_dropped_and_acked():
    # One key, partners within a tenth of a second. Of the right (1/s) a tuple finds a partner if a
    # left one is waiting, or comes in time. Nothing stays open for longer.
    result = joined(lambda r: r.open_roots, keys=1, within=0.1, rate=1)
    assert max(result) < 30
    pairs = joined(lambda r: r.operators["b"].executed_per_second, keys=1, within=0.1, rate=1)
    # At least the chance that one of the left comes within 0.1 s after, at most one each.
    assert 0.63 < sum(pairs) / len(pairs) < 1.0


def test_a_joined_result_is_as_old_as_each_of_its_tuples():
    """One key, ten of the left a second, which wait for a second, and very rare ones of the right.

    The partner is the oldest that waits: the first to come in the last second, 1 − 1/10 s ago.
    """
    given = {"keys": 1, "rate": 0.05, "within": 1}
    holds(joined(lambda r: r.by_source["l"].mean, **given), 0.9)
    assert max(joined(lambda r: r.by_source["r"].mean, **given)) < 1e-6


PARITY = """
streamgauge: 1
topology:
  name: t
  operators: {s: {kind: source}, w: {window: {length_tuples: 7}}, x: {}, y: {}}
  streams:
    - {from: s, to: w, stream: one, grouping: shuffle}
    - {from: s, to: w, stream: two, grouping: shuffle}
    - {from: w, to: x, stream: equal, grouping: shuffle}
    - {from: w, to: y, stream: other, grouping: shuffle}
behaviours:
  w: {join: {by-parity: {equal: equal, different: other}}, window: {}}
  x: {}
  y: {}
workload: [{source: s, stream: one, per_second: 70}, {source: s, stream: two, per_second: 70}]
"""


def test_a_join_by_parity_goes_one_way_or_the_other():
    # Seven tuples of two streams: one count is odd and the other even, always.
    result = run_text(PARITY, seconds=200.0)
    assert result.operators["x"].executed_per_second == 0.0
    assert result.operators["y"].executed_per_second == pytest.approx(20.0, rel=0.05)
    # Eight tuples: both odd or both even, always.
    result = run_text(PARITY.replace("length_tuples: 7", "length_tuples: 8"), seconds=200.0)
    assert result.operators["y"].executed_per_second == 0.0
    assert result.operators["x"].executed_per_second == pytest.approx(17.5, rel=0.05)


SIBLINGS = """
streamgauge: 1
topology:
  name: t
  acked: true
  operators: {s: {kind: source}, m: {}, w: {tasks: 4, window: {length_tuples: 10}}, b: {}}
  streams:
    - {from: s, to: m, grouping: shuffle}
    - {from: m, to: w, grouping: shuffle}
    - {from: w, to: b, grouping: shuffle}
behaviours:
  m: {outputs: {default: 6}}
  w: {window: {outputs: {default: 1}}}
  b: {}
configuration:
  executors: {w: 4}
  settings: {topology.disable.loadaware.messaging: true, topology.message.timeout.secs: 1000}
workload: [{source: s, per_second: 10}]
"""


def test_a_root_is_complete_with_its_last_sibling():
    """Why means of windows say nothing on complete latency: its last sibling's ack counts."""
    result = run_text(SIBLINGS, seconds=2000.0, warmup=50.0)
    # 15 tuples a second and window: 0.3 s in its own window, acked 0.667 s later.
    assert result.latency.mean == pytest.approx(9 / 2 / 15, rel=0.05)
    assert result.complete.mean > 9 / 2 / 15 + 10 / 15 + 0.02
    # Everything but what is in the windows has ended.
    assert result.roots_failed == 0
    assert result.open_roots < 40


def test_a_windowed_operator_fails_tuples_when_they_leave():
    text = WINDOW.format(window="length_tuples: 10", service="", acked="true", shape="")
    text = text.replace("\n  w: {window: {", "\n  w: {fails: 0.2, window: {")
    result = run_text(text, seconds=1000.0)
    ended = result.roots_acked + result.roots_failed
    # A root has one tuple in the window and is anchored to its result, which is never failed.
    assert result.roots_failed / ended == pytest.approx(0.2, abs=0.02)
    assert result.roots_emitted == ended + result.open_roots
