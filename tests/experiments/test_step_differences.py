"""Bottlenecks by halving, and nearness to a reference."""

import pytest

from streamgauge.experiments.figures import FigureKind, Key
from streamgauge.experiments.step_differences import compare_with_reference, rank_gains
from streamgauge.experiments.studies import BottleneckSearch, Fidelity
from streamgauge.experiments.truth import Truth, summarise_step
from tests.experiments.test_truth import MEAN, repetition, window

EMITTED = Key(FigureKind.THROUGHPUT, "all", "emitted_per_second")
SEARCH = BottleneckSearch(base="as-is", halved=(("half-a", "a"), ("half-b", "b"), ("half-c", "c")))


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
