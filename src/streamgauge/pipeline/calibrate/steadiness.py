"""Which part of a period was steady: a backlog that drains, and a load that drifts, are cut off.

A period is looked at by blocks. In a steady one each third executes tuples at the rate of the
whole, tuples wait in queues as long as in the whole, and queues take up or give back next to
nothing of what is executed. Waiting times follow from populations by Little's law (1961),
W = L/λ. A third may differ by as much as is allowed in any case, or by as much
as chance explains. What chance does is told by neighbouring blocks, whose differences neither a
drift nor a few jumps change much: for normal values the median of |x_{i+1} − x_i| is 0.954 standard
deviations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.pipeline.calibrate.inventory import Load
from streamgauge.pipeline.estimation.blocks import MICROSECONDS
from streamgauge.profile.figures import PeriodState

# A third of a steady period may execute this part more or less than the whole does,
MOST_DRIFT = 0.1
# its tuples may wait by this part of the mean longer or shorter, and always by that much,
MOST_WAIT_CHANGE = 0.5
LEAST_WAIT_SECONDS = 0.05
# queues may grow or shrink by this part of what is executed,
MOST_IMBALANCE = 0.01
# and all may differ by that many standard errors.
MOST_STANDARD_ERRORS = 4.0
# The median difference of two normal values, in standard deviations: 0.6745·√2.
MEDIAN_DIFFERENCE = 0.954
# Fewer blocks have no thirds to speak of.
LEAST_LOADS = 6

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyPart:
    """What is steady of a period.

    Attributes:
        start_us: When it begins, in microseconds since 1970.
        end_us: When it ends.
        state: What the part is like; steady where one that is long enough was found.
        notes: What was cut off, or why the whole was kept, in words.
    """

    start_us: int
    end_us: int
    state: PeriodState
    notes: tuple[str, ...] = ()


def find_steady_part(
    loads: Sequence[Load], start_us: int, end_us: int, is_enough: Callable[[int, int], bool]
) -> SteadyPart:
    """The last steady part of a period that is long enough, as long as it gets; else the whole.

    Args:
        loads: What the topology did in each block, in order of time; others than the period's too.
        start_us: When the period begins, in microseconds since 1970.
        end_us: When it ends.
        is_enough: Whether a time from one moment to another is long enough.
    """
    within = _loads_within(loads, start_us, end_us)
    number = len(within)
    state = _tell_state_of(within)
    if state is PeriodState.STEADY:
        return SteadyPart(start_us=start_us, end_us=end_us, state=state)
    blocks = _Blocks.of(within)
    for begin, end in _parts(number):
        # What is not cut off keeps the period's own ends, which lie between blocks.
        from_us = start_us if begin == 0 else within[begin].start_us
        to_us = end_us if end == number else within[end - 1].end_us
        if is_enough(from_us, to_us) and blocks.is_steady(begin, end):
            return SteadyPart(
                start_us=from_us,
                end_us=to_us,
                state=PeriodState.STEADY,
                notes=tuple(_say_what_was_cut(blocks, begin, end)),
            )
    note = f"no part of the period is steady and long enough: {TOLD[state]}"
    return SteadyPart(start_us=start_us, end_us=end_us, state=state, notes=(note,))


def tell_state(loads: Sequence[Load], start_us: int, end_us: int) -> PeriodState:
    """What a topology did in a period; steady where there are too few blocks to tell."""
    return _tell_state_of(_loads_within(loads, start_us, end_us))


TOLD = {
    PeriodState.DRAINING: "a backlog drained",
    PeriodState.FILLING: "a backlog grew",
    PeriodState.DRIFTING: "the load changed",
}


def _loads_within(loads: Sequence[Load], start_us: int, end_us: int) -> list[Load]:
    return [one for one in loads if start_us <= one.start_us and one.end_us <= end_us]


def _tell_state_of(loads: Sequence[Load]) -> PeriodState:
    if len(loads) < LEAST_LOADS:
        return PeriodState.STEADY
    blocks = _Blocks.of(loads)
    if blocks.is_steady(0, len(loads)):
        return PeriodState.STEADY
    first, *_, last = _thirds(0, len(loads))
    before, after = blocks.wait(first), blocks.wait(last)
    most = max(LEAST_WAIT_SECONDS, MOST_WAIT_CHANGE * (before + after) / 2.0)
    if abs(before - after) <= most:
        return PeriodState.DRIFTING
    return PeriodState.DRAINING if before > after else PeriodState.FILLING


def _parts(number: int) -> Iterator[tuple[int, int]]:
    """All parts of so many blocks: the last first, of those that end together the longest."""
    for end in range(number, LEAST_LOADS - 1, -1):
        for begin in range(end - LEAST_LOADS + 1):
            yield begin, end


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Blocks:
    """What a topology did in blocks that follow each other; all but deviations summed up.

    Attributes:
        seconds: How long they are.
        executed: Tuples executed.
        queued: Tuples in queues, times how long they were there.
        rate_deviation: By how much chance changes the rate of a block.
        wait_deviation: By how much it changes waiting times.
        queue_deviation: By how much it changes the tuples in queues.
    """

    seconds: Floats
    executed: Floats
    queued: Floats
    rate_deviation: float
    wait_deviation: float
    queue_deviation: float

    @classmethod
    def of(cls, loads: Sequence[Load]) -> _Blocks:
        seconds = np.asarray([(one.end_us - one.start_us) / MICROSECONDS for one in loads])
        # A topology of sources alone executes nothing.
        done = np.asarray([one.executed or one.emitted for one in loads])
        queued = np.asarray([one.queued_us / MICROSECONDS for one in loads])
        wait = np.divide(queued, done, out=np.zeros_like(queued), where=done > 0.0)
        return cls(
            seconds=_sum_up(seconds),
            executed=_sum_up(done),
            queued=_sum_up(queued),
            rate_deviation=_deviation(done / seconds),
            wait_deviation=_deviation(wait),
            queue_deviation=_deviation(queued / seconds),
        )

    def rate(self, part: slice) -> float:
        """Tuples executed in a second."""
        return _between(self.executed, part) / _between(self.seconds, part)

    def wait(self, part: slice) -> float:
        """Seconds that a tuple waits in queues."""
        executed = _between(self.executed, part)
        return _between(self.queued, part) / executed if executed > 0.0 else 0.0

    def is_steady(self, begin: int, end: int) -> bool:
        """Whether all thirds of a part are like the whole of it."""
        whole = slice(begin, end)
        rate, wait = self.rate(whole), self.wait(whole)
        most_wait = max(LEAST_WAIT_SECONDS, MOST_WAIT_CHANGE * wait)
        for third in _thirds(begin, end):
            # The mean of a part scatters about that of the whole, which has it in itself.
            blocks = third.stop - third.start
            chance = MOST_STANDARD_ERRORS * math.sqrt(1.0 / blocks - 1.0 / (end - begin))
            if abs(self.rate(third) - rate) > max(MOST_DRIFT * rate, chance * self.rate_deviation):
                return False
            if abs(self.wait(third) - wait) > max(most_wait, chance * self.wait_deviation):
                return False
        return self._is_balanced(begin, end)

    def _is_balanced(self, begin: int, end: int) -> bool:
        """Whether queues hold at the end what they held at the start."""
        first, middle, last = _thirds(begin, end)
        change = self._queue_length(last) - self._queue_length(first)
        # From the middle of the first third to that of the last one.
        executed = _between(self.executed, middle) + sum(
            _between(self.executed, third) / 2.0 for third in (first, last)
        )
        blocks = first.stop - first.start
        chance = MOST_STANDARD_ERRORS * self.queue_deviation * math.sqrt(2.0 / blocks)
        return abs(change) <= max(MOST_IMBALANCE * executed, chance)

    def _queue_length(self, part: slice) -> float:
        return _between(self.queued, part) / _between(self.seconds, part)


def _say_what_was_cut(blocks: _Blocks, begin: int, end: int) -> Iterator[str]:
    """``25 s at the start left out: a backlog drained (tuples waited 17 s, then 0.02 s)``."""
    kept = slice(begin, end)
    rate, wait = blocks.rate(kept), blocks.wait(kept)
    cuts = (
        (slice(0, begin), "start", "drained", "then"),
        (slice(end, len(blocks.seconds) - 1), "end", "grew", "before"),
    )
    for cut, where, changed, otherwise in cuts:
        if cut.start == cut.stop:
            continue
        head = f"{_between(blocks.seconds, cut):.3g} s at the {where} of the period left out:"
        waited = blocks.wait(cut)
        if waited - wait > max(LEAST_WAIT_SECONDS, MOST_WAIT_CHANGE * wait):
            times = f"tuples waited {waited:.2g} s in queues, {otherwise} {wait:.2g} s"
            yield f"{head} a backlog {changed} ({times})"
        else:
            rates = f"{blocks.rate(cut):.3g} tuples/s were executed, {otherwise} {rate:.3g}"
            yield f"{head} the load was another ({rates})"


def _thirds(begin: int, end: int) -> list[slice]:
    first, second = begin + (end - begin) // 3, begin + 2 * (end - begin) // 3
    return [slice(begin, first), slice(first, second), slice(second, end)]


def _sum_up(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])


def _between(sums: Floats, part: slice) -> float:
    return float(sums[part.stop] - sums[part.start])


def _deviation(values: Floats) -> float:
    """Standard deviation by the differences of neighbours."""
    return float(np.median(np.abs(np.diff(values)))) / MEDIAN_DIFFERENCE
