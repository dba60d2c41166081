"""Windows: by count or time, tumbling, sliding, mixed."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.topology import Window


def test_a_window_without_a_slide_tumbles():
    assert Window(length_tuples=10) == Window(length_tuples=10, slide_tuples=10)


def test_a_slide_equal_to_the_length_tumbles():
    assert Window(length_seconds=5, slide_seconds=5.0).is_tumbling


@pytest.mark.parametrize(
    ("given", "tumbling", "text"),
    [
        ({"length_tuples": 10}, True, "10 tuples"),
        ({"length_seconds": 5}, True, "5 s"),
        ({"length_seconds": 10, "slide_seconds": 5}, False, "10 s every 5 s"),
        ({"length_tuples": 10, "slide_tuples": 2}, False, "10 tuples every 2 tuples"),
        ({"length_tuples": 10, "slide_seconds": 10}, False, "10 tuples every 10 s"),
        ({"length_seconds": 10, "slide_tuples": 10}, False, "10 s every 10 tuples"),
    ],
)
def test_a_window_knows_its_kind(given, tumbling, text):
    window = Window(**given)
    assert (window.is_tumbling, window.describe()) == (tumbling, text)


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({}, "neither tuples nor seconds"),
        ({"length_tuples": 1, "length_seconds": 1}, "both tuples and seconds"),
        ({"length_tuples": 1, "slide_tuples": 1, "slide_seconds": 1}, "both tuples and seconds"),
        ({"slide_tuples": 1}, "neither tuples nor seconds"),
        ({"length_tuples": 0}, "length_tuples: 0"),
        ({"length_tuples": 1.5}, "length_tuples: 1.5"),
        ({"length_seconds": 0}, "length_seconds: 0"),
        ({"length_seconds": float("inf")}, "length_seconds: inf"),
        ({"length_tuples": 1, "slide_tuples": -1}, "slide_tuples: -1"),
        ({"length_tuples": 1, "slide_seconds": 0.0}, "slide_seconds: 0.0"),
    ],
)
def test_a_window_that_cannot_be_is_refused(given, seen):
    with pytest.raises(InvalidInput, match=seen):
        Window(**given)
