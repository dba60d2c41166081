"""Judging from raw lines alone: ingested, calibrated and predicted; also after a kill."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.experiments.judged import EXPERIMENT, run_small

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "streamgauge", "experiment", "judge"]
LONGER = EXPERIMENT.replace("  flood: {rate: 700, executors: {work: 1}}\n", "").replace(
    "window_seconds: 5", "window_seconds: 30"
)
PATIENCE_SECONDS = 600.0


def judge(folder):
    shown = subprocess.run(
        [*COMMAND, str(folder), "--json", "--master", "local[2]"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(shown.stdout), shown.stderr


def kill_after_first_profile(folder):
    """Begin to judge, and end it without warning as soon as one of two profiles is made."""
    profiles = folder / "judge" / "profiles"
    process = subprocess.Popen(
        [*COMMAND, str(folder), "--master", "local[2]"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not any("is_begun" not in note.read_text() for note in profiles.glob("*.made.json")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def test_a_killed_judgement_goes_on_and_comes_near(tmp_path):
    folder = run_small(tmp_path, LONGER)
    kill_after_first_profile(folder)
    (first,) = (folder / "judge" / "profiles").glob("1-slow.json")
    assert not (folder / "judge" / "profiles" / "2-fast.json").exists()
    made = first.stat().st_mtime_ns
    document, said = judge(folder)
    assert first.stat().st_mtime_ns == made
    assert "making the profile of fast" in said
    assert "making the profile of slow" not in said
    assert [step["no_source"] for step in document["steps"]] == [None, None]
    summaries = {one["quantity"]: one for one in document["summaries"]}
    # What is declared is known exactly; what is left are counts of a minute.
    assert summaries["service times, CPU"]["worst"] < 0.01
    assert summaries["routing shares"]["median"] < 0.01
    assert summaries["outputs of measured inputs"]["median"] < 0.02
    for quantity in ("mean latency since due", "mean latency since emission"):
        (matrix,) = [one for one in document["matrices"] if one["quantity"] == quantity]
        assert len(matrix["cells"]) == 4
        assert all(abs(cell["bias_of_all_cells"]) < 0.12 for cell in matrix["cells"])
    # With all profiles there, Spark does not start.
    again, said = judge(folder)
    assert "making" not in said
    assert again == document


def test_a_run_that_was_recorded_on_real_storm_lies_within_most_of_its_intervals(tmp_path, request):
    """Errors of models are those of other jobs; ticks of the kernel misread CPU of machines."""
    recorded = request.config.rootpath / "examples" / "recorded"
    document, _ = judge(shutil.copytree(recorded, tmp_path / "recorded"))
    cells = [one for one in document["cells"] if one["source"] != one["proposed"]]
    bounded = [one for one in cells if one["is_within"] is not None]
    assert all(
        one["is_within"] == (one["low"] <= one["measured"] <= one["high"]) for one in bounded
    )
    usual = [one for one in bounded if one["quantity"] != "CPU of machines"]
    assert len(usual) > 40
    assert sum(one["is_within"] for one in usual) >= 0.85 * len(usual)
