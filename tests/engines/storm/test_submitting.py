import json
import sys
from pathlib import Path
from urllib.parse import unquote_plus

import pytest

from streamgauge.engines.storm import submitting
from streamgauge.engines.storm.layout import Layout
from streamgauge.engines.storm.submitting import submit_command, submit_jar
from streamgauge.errors import InvalidInput, UnreadableFile


def test_settings_reach_the_program_as_storms_own_client_writes_them(monkeypatch, tmp_path):
    monkeypatch.setattr(submitting, "java_command", lambda: "java")
    wanted = {"topology.workers": 2, "a.list": [{"class": "x, y=z"}], "text": "ü & 50 %"}
    command = submit_command(Layout(tmp_path), tmp_path / "a.jar", "Main", wanted)
    (options,) = (word for word in command if word.startswith("-Dstorm.options="))
    pairs = map(unquote_plus, options.removeprefix("-Dstorm.options=").split(","))
    found = dict(pair.split("=", 1) for pair in pairs)
    assert {name: json.loads(value) for name, value in found.items()} == wanted


def test_the_jar_that_workers_get_is_the_one_that_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(submitting, "java_command", lambda: "java")
    command = submit_command(Layout(tmp_path), tmp_path / "a.jar", "Main", {})
    assert f"-Dstorm.jar={tmp_path / 'a.jar'}" in command
    assert command[command.index("-cp") + 1].startswith(f"{tmp_path / 'a.jar'}:")
    assert command[-1] == "Main"


def test_a_jar_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UnreadableFile, match=r"none\.jar: no such file"):
        submit_jar(None, tmp_path / "none.jar", "Main")


def test_what_a_failing_program_said_last_is_told():
    said = "import sys; [print('line', n) for n in range(9)]; sys.exit(3)"
    with pytest.raises(InvalidInput, match=r"Main ended with code 3") as raised:
        submitting._run([sys.executable, "-c", said], "Main")
    assert "line 8" in str(raised.value)
    assert "line 2" not in str(raised.value)


def test_a_program_that_does_not_end_is_given_up(monkeypatch):
    monkeypatch.setattr(submitting, "_SUBMIT_SECONDS", 0.2)
    with pytest.raises(InvalidInput, match=r"Main still runs after 0\.2 s"):
        submitting._run([sys.executable, "-c", "import time; time.sleep(60)"], "Main")


def test_the_example_that_knows_nothing_of_us_imports_nothing_of_us():
    example = Path(__file__).parents[3] / "examples" / "storm" / "Words.java"
    assert "streamgauge" not in example.read_text().lower().replace("nothing of streamgauge", "")
