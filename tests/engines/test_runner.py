"""Runners: found by name, whoever brings them."""

import pytest

from streamgauge.engines.runner import load_runner, runner_names
from streamgauge.errors import InvalidInput
from streamgauge.transport.engine import Engine


def test_there_is_the_emulator_and_what_installed_engines_bring():
    assert runner_names() == ("emulator", "storm")


@pytest.mark.parametrize("name", runner_names())
def test_every_runner_knows_its_name_and_opens_sessions(name):
    runner = load_runner(name)
    assert runner.name == name
    assert runner.simulates is (name == "emulator")
    assert callable(runner.session)


def test_an_unknown_runner_is_refused_with_a_guess():
    with pytest.raises(InvalidInput, match=r"one of emulator, storm \(did you mean 'emulator'\?\)"):
        load_runner("emulatr")


def test_a_runner_is_found_through_the_record_of_its_engine(monkeypatch):
    record = Engine(name="mine", transport="", runners={"mine": "fractions:Fraction"})
    monkeypatch.setattr("streamgauge.engines.runner.engine_names", lambda: ("mine",))
    monkeypatch.setattr("streamgauge.engines.runner.load_engine", lambda name: record)
    assert runner_names() == ("emulator", "mine")
    assert type(load_runner("mine")).__name__ == "Fraction"
