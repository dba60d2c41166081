"""What a run promises whatever the job: verdicts, seeds, refusals, alternatives."""

import pytest

from streamgauge.errors import InvalidInput
from tests.simulation.jobs import DEFAULTS, LINE, run_text


def run(seconds=4000.0, warmup=20.0, seed=1, mechanics=None, **changes):
    text = LINE.format(**{**DEFAULTS, **changes})
    return run_text(text, seconds=seconds, warmup=warmup, seed=seed, **(mechanics or {}))


def test_every_root_ends_or_is_still_open():
    result = run(acked="true", seconds=500.0, warmup=0.0, outputs=3)
    emitted = round(result.operators["s"].emitted_per_second * 500.0)
    # Counted exactly: no root ends twice, none is lost.
    assert result.seen_by_source.count + result.open_roots == emitted
    assert result.seen_by_source.count <= result.complete.count <= emitted
    # Both clocks stop with the last message; without a network they differ by nothing.
    assert result.complete.mean == pytest.approx(result.seen_by_source.mean, rel=1e-6)


def test_the_same_seed_gives_the_same_answer_and_another_does_not():
    first, again, other = (run(seconds=50.0, seed=seed) for seed in (3, 3, 4))
    assert first.operators["b"].latency.mean == again.operators["b"].latency.mean
    assert first.operators["b"].latency.mean != other.operators["b"].latency.mean


def test_an_overloaded_job_ends_with_a_verdict_and_bounded_memory():
    result = run(emission="per_second: 1e6", seconds=1000.0)
    assert result.overloaded
    assert result.seconds < 1000.0
    assert result.operators["a"].utilisation == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("given", [{"seconds": 0.0}, {"seconds": -1.0}, {"warmup": -1.0}])
def test_times_that_cannot_be_are_refused(given):
    with pytest.raises(InvalidInput):
        run(**given)


ALTERNATIVES = """
streamgauge: 1
topology:
  name: t
  operators: {s: {kind: source}, a: {}, x: {}, y: {}}
  streams:
    - {from: s, to: a, grouping: shuffle}
    - {from: a, to: x, stream: left, grouping: shuffle}
    - {from: a, to: y, stream: right, grouping: shuffle}
behaviours:
  a: {outputs: {left: 0.3, right: 0.7}, exclusive: true}
  x: {}
  y: {}
workload: [{source: s, per_second: 100}]
"""


def test_alternatives_exclude_each_other():
    found = run_text(ALTERNATIVES, seconds=200, seed=2).operators
    # Every tuple goes one way, so the two ways add up to the tuple.
    both = found["x"].executed_per_second + found["y"].executed_per_second
    assert both == pytest.approx(found["a"].executed_per_second, abs=1e-9)
    assert found["x"].executed_per_second / both == pytest.approx(0.3, abs=0.02)


def test_quantiles_lie_between_the_smallest_and_the_largest_latency():
    latency = run(seconds=100.0).operators["b"].latency
    quantiles = [latency.quantile(p) for p in (0.0, 0.01, 0.5, 0.99, 1.0)]
    assert quantiles == sorted(quantiles)
    assert 0.0 < quantiles[0] < latency.mean < quantiles[-1] < 10.0


ACKERS = """
streamgauge: 1
topology:
  name: t
  acked: true
  operators: {s: {kind: source}, a: {}}
  streams: [{from: s, to: a, grouping: shuffle}]
behaviours: {a: {service: {cpu_ms: 0.1}}}
configuration: {ackers: 4}
workload: [{source: s, per_second: 20}]
"""


def test_every_acker_gets_its_part_of_the_roots_however_few_are_open():
    """Root ids are random: 2 messages for each of 20,000 roots, a quarter to each of four."""
    result = run_text(ACKERS, seconds=1000.0)
    found = [one.executed_per_second for one in result.executors if one.operator == "__acker"]
    # Five standard deviations of a quarter of the roots, each heard of twice.
    assert found == pytest.approx([10.0] * 4, abs=5 * 2 * (20_000 * 0.25 * 0.75) ** 0.5 / 1000.0)
