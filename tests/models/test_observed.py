"""Who is overloaded, from what executors were seen to do: a source, then two processors."""

import numpy as np
import pytest

from streamgauge.models.observed import Observed, overload_of

BOLTS = np.asarray([False, True, True])
NOBODY = np.zeros(3, dtype=bool)


def observed(**changes):
    """100 tuples a second for 1,000 s, half of the time each."""
    figures = dict.fromkeys(("executed", "emitted", "cores", "length"), np.zeros(3))
    figures |= {"held": np.zeros(3), "utilisation": np.full(3, 0.5)}
    figures |= {"arrived": np.asarray([0.0, 100.0, 100.0]), "due": np.asarray([100.0, 0.0, 0.0])}
    figures |= {"executed": figures["arrived"], "emitted": np.full(3, 100.0)}
    figures |= {name: np.asarray(values, dtype=float) for name, values in changes.items()}
    return Observed(seconds=1000.0, by_operator={}, **figures)


def loads(bounded=NOBODY, outgrown=False, **changes):
    return dict(overload_of(observed(**changes), BOLTS, bounded=bounded, outgrown=outgrown).loads)


def test_who_keeps_up_is_not_overloaded():
    assert loads() == {}
    # One in a thousand more may come than is served, and busy is not too busy.
    assert loads(utilisation=[0.5, 0.99, 0.5], executed=[0, 99.9, 100]) == {}


def test_a_queue_that_grows_has_the_load_of_what_comes_over_what_is_served():
    grows = {"utilisation": [0.5, 1.0, 0.5], "executed": [0, 80, 100]}
    assert loads(**grows) == pytest.approx({1: 1.25})
    assert loads(bounded=np.asarray([False, True, False]), **grows) == {}


def test_who_works_all_the_time_while_sources_are_held_back_is_to_blame():
    late = {"emitted": [80, 80, 0], "arrived": [0, 80, 80], "executed": [0, 80, 80]}
    late |= {"held": [0.4, 0, 0]}
    assert loads(utilisation=[0.5, 0.5, 1.0], **late) == pytest.approx({2: 1.25})
    # Nobody does: roots are limited, and it is the source that cannot.
    assert loads(**late) == pytest.approx({0: 1.25})


def test_a_source_that_takes_too_long_itself_is_overloaded():
    assert loads(utilisation=[1.0, 0.4, 0.4], emitted=[80, 80, 0]) == pytest.approx({0: 1.25})


def test_a_source_that_emits_less_by_chance_or_shape_is_not_late():
    assert loads(emitted=[80, 80, 0]) == {}


def test_when_more_waits_than_can_be_simulated_it_is_where_most_wait():
    assert loads(outgrown=True, length=[0, 10, 1e6]) == {2: 1.0}
