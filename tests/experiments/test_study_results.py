"""Regimes of series by hand, bottlenecks by halving, and nearness to a reference."""

import math
from dataclasses import replace

import pytest

from streamgauge.experiments.figures import FigureKind, Key
from streamgauge.experiments.studies import BottleneckSearch, EventRule, Fidelity
from streamgauge.experiments.study_results import (
    Regime,
    classify,
    compare_with_reference,
    find_baseline,
    find_events,
    find_regime,
    rank_gains,
)
from streamgauge.experiments.truth import Course, Truth, summarise_step
from tests.experiments.test_truth import MEAN, repetition, window

RULE = EventRule(enter=5.0, leave=2.0)
EMITTED = Key(FigureKind.THROUGHPUT, "all", "emitted_per_second")
SEARCH = BottleneckSearch(base="as-is", halved=(("half-a", "a"), ("half-b", "b"), ("half-c", "c")))


def events(values, rule=RULE):
    """Events of values in multiples of the baseline, a second each."""
    found = find_events(values, 1.0, enter=rule.enter, leave=rule.leave, rule=rule)
    return [(one.start, one.end) for one in found]


def course(values):
    return Course(
        bucket_seconds=1.0,
        latency_seconds=tuple(values),
        emitted_per_second=(10.0,) * len(values),
        held=(0.0,) * len(values),
    )


def test_an_event_lasts_from_the_upper_threshold_to_the_lower_one():
    assert events([1, 6, 3, 3, 1, 1]) == [(1, 4)]


def test_between_the_thresholds_nothing_begins():
    assert events([1, 4, 3, 4, 1]) == []


def test_a_wave_between_the_thresholds_is_one_event():
    assert events([1, 6, 3, 6, 3, 6, 1]) == [(1, 6)]


def test_a_regime_counts_from_when_tuples_were_due_where_they_were():
    # Held back at its source, a tuple is under way no longer than others.
    held = replace(course([1.0] * 6), since_due_seconds=(1.0, 1.0, 9.0, 9.0, 1.0, 1.0))
    assert find_regime(held, 1.0, RULE).regime is Regime.ALTERNATING
    assert find_regime(course([1.0] * 6), 1.0, RULE).regime is Regime.NORMAL


def test_an_event_that_does_not_end_lasts_to_the_end():
    assert events([1, 1, 9, 9]) == [(2, 4)]


def test_where_nothing_arrives_an_event_goes_on():
    assert events([1, 9, math.nan, math.nan, 9, 1]) == [(1, 5)]
    assert events([1, math.nan, 1]) == []


@pytest.mark.parametrize(("gap", "expected"), [(0, [(0, 1), (2, 3)]), (1, [(0, 3)])])
def test_events_with_a_small_gap_between_them_are_one(gap, expected):
    assert events([9, 1, 9, 1], EventRule(gap_seconds=gap)) == expected


def test_what_is_too_short_is_no_event():
    assert events([9, 1, 9, 9, 1], EventRule(least_seconds=2)) == [(2, 4)]


@pytest.mark.parametrize(
    ("values", "regime"),
    [
        ([1] * 10, Regime.NORMAL),
        ([9, 1] * 5, Regime.ALTERNATING),
        ([1] + [9] * 9, Regime.PERSISTENT),
        ([1] * 8 + [9, 1], Regime.ALTERNATING),
    ],
)
def test_the_regime_follows_from_how_many_events_there_are_and_how_long(values, regime):
    found = find_events(values, 1.0, enter=RULE.enter, leave=RULE.leave, rule=RULE)
    assert classify(found, len(values), RULE) is regime


def test_a_regime_tells_occurrences_durations_and_deviations():
    found = find_regime(course([1.0, 9.0, 9.0, 1.0, 9.0, 1.0]), 1.0, RULE)
    assert [(one.start, one.end) for one in found.events] == [(1, 3), (4, 5)]
    assert (found.total_seconds, found.mean_seconds, found.share) == (3.0, 1.5, 0.5)
    assert (found.throughput_deviation, found.latency_deviation) == (0.0, 4.0)


def test_the_baseline_is_a_median_so_that_a_spike_does_not_move_it():
    one = replace(repetition(1), course=course([1.0, 1.0, 50.0, math.nan]))
    assert find_baseline(summarise_step("step", [one])) == 1.0


def step(name, emitted, latency):
    return summarise_step(name, [repetition(1, window({EMITTED: emitted, MEAN: latency}))])


def truth(*steps):
    return Truth(experiment="x", engine="fake", steps=steps, left=0)


def test_what_raises_throughput_comes_before_what_only_lowers_latency():
    # Pagliari 2021: halving the deserialiser raises throughput, the campaign processor does not.
    found = rank_gains(
        truth(
            step("as-is", 100.0, 50.0),
            step("half-a", 101.0, 20.0),
            step("half-b", 150.0, 40.0),
            step("half-c", 100.0, 50.0),
        ),
        SEARCH,
    )
    assert [one.operator for one in found] == ["b", "a", "c"]
    assert [one.verdict for one in found] == ["limits throughput", "adds latency", "no bottleneck"]
    assert found[0].throughput == pytest.approx(0.5)
    assert found[1].latency == pytest.approx(0.6)


def test_steps_that_are_not_done_are_not_ranked():
    found = rank_gains(truth(step("as-is", 1.0, 1.0), step("half-b", 2.0, 1.0)), SEARCH)
    assert [one.operator for one in found] == ["b"]
    assert rank_gains(truth(step("half-b", 2.0, 1.0)), SEARCH) == []


def test_fidelity_is_the_difference_as_a_part_of_the_reference():
    # Table 5.1 of Pagliari 2021: Storm's 101.66 tuples/ms and 48.39 ms by 106.58 and 50.13.
    both = truth(step("yahoo", 101.66, 48.39), step("namb", 106.58, 50.13))
    found = {
        one.figure: one.part for one in compare_with_reference(both, Fidelity(reference="yahoo"))
    }
    assert found == pytest.approx({"throughput": 0.0484, "latency, mean": 0.0360}, abs=1e-4)


def test_without_the_reference_there_is_nothing_to_say():
    assert (
        list(compare_with_reference(truth(step("namb", 1.0, 1.0)), Fidelity(reference="yahoo")))
        == []
    )
