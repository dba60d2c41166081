"""Storm's sampler: one in each window of twenty, wherever in it."""

import numpy as np

from streamgauge.engines.emulator.task_samples import EvenSampler


def sampler(counters=1, seed=1):
    return EvenSampler(np.random.default_rng(seed), counters)


def test_one_in_each_window_is_taken():
    one = sampler()
    taken = [int(one.taken(np.asarray([count]))[0]) for count in range(401)]
    assert taken[::20] == list(range(21))
    assert sorted(set(np.diff(taken))) == [0, 1]


def test_the_total_is_never_further_than_a_window_from_the_truth():
    many, random = sampler(50), np.random.default_rng(2)
    counts = np.zeros(50, dtype=np.int64)
    for _ in range(100):
        counts += random.integers(0, 70, 50)
        assert (abs(20 * many.taken(counts) - counts) < 20).all()


def test_places_are_drawn_anew_for_each_window():
    # In the middle of a window half of the samplers have taken theirs.
    many = sampler(4000)
    first = many.taken(np.full(4000, 10))
    second = many.taken(np.full(4000, 30)) - 1
    assert abs(first.mean() - 0.5) < 0.05
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05


def test_looking_often_changes_nothing_about_a_window():
    often = sampler()
    looked = [int(often.taken(np.asarray([7]))[0]) for _ in range(50)]
    assert len(set(looked)) == 1
