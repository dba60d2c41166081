import numpy as np
from numba import njit

from streamgauge.simulation.random_streams import exponential, make_streams, next_word, uniform


@njit
def draw_words(state, count):
    result = np.empty(count, dtype=np.uint64)
    for index in range(count):
        result[index] = next_word(state, 0)
    return result


@njit
def draw_floats(state, count):
    result = np.empty((2, count))
    for index in range(count):
        result[0, index] = uniform(state, 0)
        result[1, index] = exponential(state, 0)
    return result


def reference(state, count):
    """xoshiro256++ in Python's whole numbers."""
    mask = 2**64 - 1

    def rotated(x, k):
        return ((x << k) | (x >> (64 - k))) & mask

    s = [int(word) for word in state]
    for _ in range(count):
        yield (rotated((s[0] + s[3]) & mask, 23) + s[0]) & mask
        t = (s[1] << 17) & mask
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotated(s[3], 45)


def test_words_are_those_of_the_published_generator():
    state = np.asarray([1, 2, 3, 4], dtype=np.uint64)
    expected = list(reference(state, 50))
    # First outputs for the state 1, 2, 3, 4, by hand: rotl(1 + 4, 23) + 1.
    assert expected[0] == (5 << 23) + 1
    assert draw_words(state, 50).tolist() == expected


def test_numbers_have_the_moments_of_their_distributions():
    count = 200_000
    flat, waits = draw_floats(make_streams(7, 1), count)
    assert 0.0 <= flat.min() < flat.max() < 1.0
    # Four standard errors: σ = 1/√12 and 1.
    assert abs(flat.mean() - 0.5) < 4 / np.sqrt(12 * count)
    assert abs(waits.mean() - 1.0) < 4 / np.sqrt(count)
    assert abs((waits > 1.0).mean() - np.exp(-1.0)) < 4 * np.sqrt(0.2325 / count)


def test_streams_are_independent_and_repeatable():
    streams = make_streams(1, 3)
    assert (make_streams(1, 3) == streams).all()
    assert len({tuple(row) for row in streams.reshape(3, 4).tolist()}) == 3
    assert (make_streams(2, 3) != streams).any()
