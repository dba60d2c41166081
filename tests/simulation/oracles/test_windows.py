"""The window oracle against closed forms: fixed seeds, intervals of 99.9 %."""

import pytest

from tests.simulation.oracles.intervals import agree
from tests.simulation.oracles.parts import NO_TIME, constant, exponential
from tests.simulation.oracles.windows import Buffer, Window, simulate_window

RATE = 2.0


@pytest.mark.parametrize("slide", [None, 5.0, 2.5])
def test_time_windows_wait_half_a_slide_and_ack_a_length_later(slide: float | None) -> None:
    window = Window(10.0, slide, by="time")
    result = simulate_window(window, rate=RATE, cpu=NO_TIME, seconds=10_000, warmup=50)
    agree(result.waits, window.step / 2)
    agree(result.ack_delays, 10 + window.step / 2)  # tumbling: 1.5 windows
    agree(result.sizes, RATE * 10)


@pytest.mark.parametrize("slide", [None, 10, 4])
def test_count_windows_wait_half_a_slide_less_one_and_ack_a_length_later(slide: int | None) -> None:
    window = Window(20, slide)
    result = simulate_window(window, rate=RATE, cpu=NO_TIME, seconds=10_000, warmup=50)
    agree(result.waits, (window.step - 1) / (2 * RATE))
    agree(result.ack_delays, (20 + (window.step - 1) / 2) / RATE)
    assert set(result.sizes) == {20}


def test_a_count_trigger_blocks_the_executor() -> None:
    """A service of 0.1 and, at every tenth tuple, of 2 more."""
    result = simulate_window(
        Window(10, cpu=constant(2.0)), rate=RATE, cpu=constant(0.1), seconds=15_000, warmup=100
    )
    assert result.utilisation == pytest.approx(RATE * (0.1 + 2 / 10), rel=0.02)
    assert result.trigger_utilisation == 0
    assert max(result.sojourns) > 2


def test_a_time_trigger_does_not_block_the_executor() -> None:
    result = simulate_window(
        Window(10.0, by="time", cpu=constant(6.0)),
        **{"rate": RATE, "cpu": exponential(0.25), "seconds": 20_000, "warmup": 100},
    )
    agree(result.sojourns, 1 / (1 / 0.25 - RATE))  # M/M/1 all the same
    assert result.utilisation == pytest.approx(RATE * 0.25, rel=0.03)
    assert result.trigger_utilisation == pytest.approx(0.6, rel=0.01)
    agree(result.window_delays, 5 + 6)


def test_a_time_trigger_competes_for_the_core() -> None:
    result = simulate_window(
        Window(10.0, by="time", cpu=constant(2.0)),
        **{"rate": RATE, "cpu": exponential(0.25), "seconds": 5_000, "warmup": 100, "cores": 1},
    )
    assert sum(result.sojourns) / len(result.sojourns) > 0.55


def test_tuples_of_a_sliding_window_by_hand() -> None:
    buffer = Buffer(Window(4, 2))
    fired = [buffer.add(number, 0.0) and buffer.trigger(0.0) for number in range(1, 9)]
    assert [firing for firing in fired if firing] == [
        ([], [1, 2]),
        ([], [1, 2, 3, 4]),
        ([1, 2], [3, 4, 5, 6]),
        ([3, 4], [5, 6, 7, 8]),
    ]


def test_what_expires_between_triggers_is_acked_earlier() -> None:
    """Storm 2.x looks through the window after every 100 tuples without a trigger."""
    plain = simulate_window(Window(1000), rate=100, cpu=NO_TIME, seconds=400, warmup=50)
    agree(plain.ack_delays, (1000 + 999 / 2) / 100)
    compacting = Window(1000, compact_every=100)
    swept = simulate_window(compacting, rate=100, cpu=NO_TIME, seconds=400, warmup=50)
    assert sum(swept.ack_delays) / len(swept.ack_delays) == pytest.approx(10.5, rel=0.03)
