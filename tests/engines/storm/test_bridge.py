import sys
from pathlib import Path

import pytest

from streamgauge.engines.storm.bridge import Bridge
from streamgauge.errors import InternalError, InvalidInput, SourceUnreachable

FAKE = [sys.executable, str(Path(__file__).with_name("fake_bridge.py"))]


@pytest.fixture
def bridge():
    with Bridge("127.0.0.1", 6627, command=FAKE) as opened:
        yield opened


def test_arguments_go_there_and_the_answer_comes_back(bridge):
    assert bridge.ask("echo", topology="tiny", workers=2) == {"topology": "tiny", "workers": 2}


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("unreachable", SourceUnreachable, "127.0.0.1:6627 does not answer: it is unreachable"),
        ("unknown-topology", InvalidInput, "topology 'tiny'"),
        ("refused", InvalidInput, "it is refused"),
        ("internal", InternalError, "it is internal"),
    ],
)
def test_each_kind_of_trouble_is_an_error_of_its_own(bridge, kind, error, words):
    with pytest.raises(error, match=words):
        bridge.ask(kind, topology="tiny")
    assert bridge.ask("echo", still="there") == {"still": "there"}


def test_a_bridge_that_died_is_unreachable(bridge):
    for _ in range(2):
        with pytest.raises(SourceUnreachable, match="ended by itself"):
            bridge.ask("die")


def test_waiting_is_bounded_and_a_late_answer_is_not_taken_for_the_next(bridge):
    with pytest.raises(SourceUnreachable, match="did not answer 'sleep' within"):
        bridge.ask("sleep", timeout_seconds=0.05)
    assert bridge.ask("late", own=1) == {"own": 1}


def test_an_answer_that_is_no_json_is_a_fault_of_ours(bridge):
    with pytest.raises(InternalError, match="no JSON"):
        bridge.ask("chatter")


def test_leaving_the_context_ends_the_process():
    with Bridge("127.0.0.1", 6627, command=FAKE) as opened:
        process = opened._process
    assert process is not None
    assert process.returncode == 0
