"""Costs of phases, from figures that planted costs make."""

import numpy as np
import pytest

from streamgauge.errors import NotEnoughData
from streamgauge.models.phase_fit import (
    DESERIALISE,
    DESERIALISE_BYTE,
    GROUPING,
    HAND_OVER,
    READ,
    RECEIVE,
    SEND,
    SERIALISE,
    SERIALISE_BYTE,
    fit_phases,
    see,
)

PLANTED = {
    READ: 6e-6,
    GROUPING + "shuffle": 2e-6,
    GROUPING + "all": 5e-6,
    SERIALISE: 4e-6,
    SERIALISE_BYTE: 2e-9,
}


def figure(made_of, costs=PLANTED, factor=1.0):
    return see(factor * sum(costs[name] * n for name, n in made_of.items()), made_of)


def steps(costs=PLANTED, odd=1.0):
    """Two operators that differ in grouping and size, in one worker or two, at three rates."""
    found = {}
    for step, (rate, leaving) in enumerate([(100, 0.0), (400, 0.5), (900, 0.5), (500, 0.75)]):
        found[f"step {step}"] = [
            figure(
                {
                    READ: rate,
                    GROUPING + kind: outputs * rate,
                    SERIALISE: outputs * leaving * rate,
                    SERIALISE_BYTE: outputs * leaving * rate * size,
                },
                costs,
                odd if step == 2 else 1.0,
            )
            for kind, outputs, size in (("shuffle", 1.0, 100), ("all", 3.0, 2000))
        ] + [figure({READ: rate}, costs)]
    return found


def test_costs_that_were_planted_come_back():
    found = fit_phases(steps())
    assert dict(zip(found.names, found.values, strict=True)) == pytest.approx(PLANTED)
    assert found.median_error == pytest.approx(0.0, abs=1e-9)
    assert found.errors == pytest.approx(np.zeros(5), abs=1e-12)


def test_no_cost_is_below_zero():
    """Less serialising than nothing would explain figures that fall where more leaves."""
    found = fit_phases(steps({**PLANTED, SERIALISE: -1e-6, SERIALISE_BYTE: -1e-10}))
    assert found.value(SERIALISE) == 0.0
    assert (found.values >= 0.0).all()


def test_each_step_is_predicted_from_the_others():
    found = fit_phases(steps())
    assert [one.step for one in found.left_out] == ["step 0", "step 1", "step 2", "step 3"]
    assert [one.error for one in found.left_out] == pytest.approx([0.0] * 4, abs=1e-9)


def test_a_step_that_is_unlike_the_others_shows_where_it_is_left_out():
    """It uses half as much again: the others, which do not know it, say two thirds of that."""
    off = {one.step: one.error for one in fit_phases(steps(odd=1.5)).left_out}
    # The row of an operator without outputs is like the others.
    assert off["step 2"] == pytest.approx(-1 / 3, abs=0.04)
    assert min(off, key=off.get) == "step 2"


def test_steps_in_which_everything_grows_together_are_refused():
    one = [figure({READ: n, SERIALISE: n}) for n in (100, 200, 300)]
    with pytest.raises(NotEnoughData, match="do not tell 2 costs apart"):
        fit_phases({"a": one, "b": one})


def test_a_step_without_which_a_cost_is_not_known_is_named():
    local = [figure({READ: n}) for n in (100, 300)]
    remote = [figure({READ: n, SERIALISE: n / 2}) for n in (100, 300)]
    found = fit_phases({"local": local, "more": local, "remote": [*local, *remote]})
    assert found.needed == ("remote",)
    assert found.value(SERIALISE) == pytest.approx(4e-6)


def test_constants_for_the_cost_models_have_what_moves_a_message():
    """As many batches as messages are half: 5 + (7 + 3)/2 µs."""
    costs = {
        SEND: 7e-6,
        RECEIVE: 3e-6,
        HAND_OVER: 5e-6,
        DESERIALISE: 9e-6,
        DESERIALISE_BYTE: 3e-9,
    }
    rows = [
        figure({SEND: s, RECEIVE: r, DESERIALISE: n, DESERIALISE_BYTE: b}, costs)
        for s, r, n, b in [
            *((100, 20, 50, 500), (50, 300, 500, 90_000)),
            *((250, 70, 100, 5_000), (0, 10, 70, 9_000)),
        ]
    ]
    rows += [figure({HAND_OVER: n}, costs) for n in (500, 300)]
    found = fit_phases({"a": rows, "b": rows})
    constants = found.constants
    assert found.batches == pytest.approx(0.5)
    assert constants.transport == pytest.approx((0.0, 10e-6, 10e-6))
    assert constants.any_type.deserialise == pytest.approx(9e-6)
    assert constants.any_type.deserialise_per_byte == pytest.approx(3e-9)
