"""Which part of a period was steady."""

import numpy as np
import pytest

from streamgauge.pipeline.calibrate.inventory import Load
from streamgauge.pipeline.calibrate.steadiness import find_steady_part, tell_state
from streamgauge.profile.figures import PeriodState

SECOND = 1_000_000
BLOCK = 5


def loads(rates, waits):
    """Blocks of five seconds; by Little's law a queue holds rate × wait."""
    return [
        Load(
            start_us=place * BLOCK * SECOND,
            end_us=(place + 1) * BLOCK * SECOND,
            emitted=rate * BLOCK,
            executed=rate * BLOCK,
            queued_us=rate * wait * BLOCK * SECOND,
        )
        for place, (rate, wait) in enumerate(zip(rates, waits, strict=True))
    ]


def steady_part(rates, waits, least_seconds=60):
    made = loads(rates, waits)
    return find_steady_part(
        made, 0, made[-1].end_us, lambda start, end: end - start >= least_seconds * SECOND
    )


def test_a_steady_period_is_kept_whole():
    part = steady_part([100.0] * 30, [0.01] * 30)
    assert (part.start_us, part.end_us, part.notes) == (0, 150 * SECOND, ())
    assert part.state is PeriodState.STEADY


def test_a_backlog_that_drains_is_cut_off_with_the_blocks_it_took():
    waits = [17.0, 13.0, 9.0, 5.0, 1.0] + [0.02] * 25
    part = steady_part([170.0] * 5 + [100.0] * 25, waits)
    assert (part.start_us, part.end_us) == (25 * SECOND, 150 * SECOND)
    assert part.state is PeriodState.STEADY
    (note,) = part.notes
    assert note.startswith("25 s at the start of the period left out: a backlog drained")


def test_a_backlog_that_grows_at_the_end_is_cut_off():
    part = steady_part([100.0] * 30, [0.02] * 24 + [1.0, 2.0, 4.0, 6.0, 8.0, 10.0])
    assert part.end_us <= 24 * BLOCK * SECOND
    assert "a backlog grew" in part.notes[0]


def test_of_two_loads_the_last_one_is_taken():
    part = steady_part([100.0] * 15 + [150.0] * 15, [0.01] * 30)
    # A block or two of the other load change no third by a tenth.
    assert 12 * BLOCK * SECOND < part.start_us <= 15 * BLOCK * SECOND
    assert part.end_us == 150 * SECOND
    assert "the load was another" in part.notes[0]


@pytest.mark.parametrize(
    ("rates", "waits", "state"),
    [
        ([170.0 - 2 * k for k in range(30)], [15.0 - k / 2 for k in range(30)], "draining"),
        ([100.0] * 30, [0.1 + k / 2 for k in range(30)], "filling"),
        ([100.0 + 5 * k for k in range(30)], [0.01] * 30, "drifting"),
    ],
)
def test_what_is_never_steady_for_long_enough_is_kept_and_named(rates, waits, state):
    part = steady_part(rates, waits, least_seconds=120)
    assert (part.start_us, part.end_us, part.state) == (0, 150 * SECOND, PeriodState(state))
    assert "no part of the period is steady" in part.notes[0]


def test_chance_alone_cuts_off_nothing():
    # Five tuples a second: a block of five seconds has 25 ± 5.
    random = np.random.default_rng(3)
    cut = sum(
        bool(steady_part(random.poisson(25, 36) / BLOCK, random.exponential(0.02, 36)).notes)
        for _ in range(200)
    )
    assert cut <= 2


def test_a_few_blocks_say_nothing():
    made = loads([1.0, 100.0, 1.0], [0.0, 9.0, 0.0])
    assert tell_state(made, 0, made[-1].end_us) is PeriodState.STEADY


def test_blocks_of_other_times_do_not_count():
    made = loads([100.0] * 30, [20.0] * 10 + [0.02] * 20)
    assert tell_state(made, 50 * SECOND, 150 * SECOND) is PeriodState.STEADY
    assert tell_state(made, 0, 150 * SECOND) is PeriodState.DRAINING
