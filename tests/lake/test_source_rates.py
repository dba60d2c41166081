"""Rates of sources from the lake: who is a source, what is summed, what is masked."""

import pytest

from streamgauge.errors import NotEnoughData
from streamgauge.lake.source_rates import RateQuestion, SplitBy, choose_window, source_rates
from tests.lake.small_lakes import after, lake_of, sample


def emitted(second, value, component="sentences", stream="default", **others):
    named = {"component": component, "stream": stream, "source_component": None}
    return sample("emitted", second, value, **named, **others)


def rates(lake, **options):
    found = source_rates(lake, RateQuestion(topology="words", window_seconds=10.0, **options))
    return {one.name: one.per_second for one in found}


@pytest.fixture
def lake(tmp_path):
    """A source of two tasks and two streams, a splitter behind it, and the engine's own stream."""
    rows = [emitted(10 * n, 100 + n, task=1) for n in range(6)]
    rows += [emitted(10 * n, 50, task=2) for n in range(6)]
    rows += [emitted(10 * n, 10, stream="late", task=1) for n in range(6)]
    rows += [emitted(10 * n, 7, stream="__ack_init", task=1) for n in range(6)]
    rows += [emitted(10 * n, 900, component="splitter", task=3) for n in range(6)]
    rows += [sample("executed", 10 * n, 100, component="splitter", task=3) for n in range(6)]
    rows += [sample("backpressure_caused", 20, 5_000_000, component="splitter", task=3)]
    return lake_of(tmp_path, *rows)


def test_a_source_emits_what_its_tasks_and_streams_do(lake):
    assert rates(lake) == {"sentences": tuple((160 + n) / 10 for n in range(6))}


def test_rates_can_be_split_by_stream_or_task(lake):
    by_stream = rates(lake, by=SplitBy.STREAM)
    assert by_stream["sentences/late"] == (1.0,) * 6
    assert set(by_stream) == {"sentences/default", "sentences/late"}
    assert rates(lake, by=SplitBy.TASK)["sentences/2"] == (5.0,) * 6


def test_windows_in_which_somebody_held_others_back_are_marked(lake):
    (found,) = source_rates(lake, RateQuestion(topology="words", window_seconds=10.0))
    assert found.pressed == (False, False, True, False, False, False)
    assert found.starts[2] == after(20)


def test_a_topology_without_samples_is_not_enough_data(lake):
    with pytest.raises(NotEnoughData, match="no emitted tuples of topology 'ads'"):
        source_rates(lake, RateQuestion(topology="ads"))


def test_a_topology_in_which_all_who_emit_execute_has_no_source(tmp_path):
    rows = [emitted(0, 9, component="loop"), sample("executed", 0, 9, component="loop")]
    with pytest.raises(NotEnoughData, match="has no source that emits"):
        source_rates(lake_of(tmp_path, *rows), RateQuestion(topology="words"))


@pytest.mark.parametrize(
    ("hours", "seconds"),
    [(1, 10), (24, 60), (168, 60), (21 * 24, 300), (80 * 24, 900), (9999, 3600)],
)
def test_windows_are_longer_where_there_is_more_history(hours, seconds):
    assert choose_window(hours * 3600.0) == seconds
