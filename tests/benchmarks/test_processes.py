"""Work in processes of its own: what it held, and that nothing of it stays."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import processes
from benchmarks.processes import run_apart

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux")

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def leave_a_child():
    """Start one that starts another and ends: nobody's child any more."""
    code = f"import subprocess as s; print(s.Popen({SLEEP!r}, stdout=s.DEVNULL).pid)"
    told = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout
    return {"child": int(told)}


def leave_a_child_and_fail():
    Path(os.environ["CHILD"]).write_text(str(leave_a_child()["child"]))
    os._exit(3)


def lives(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:1]
    except OSError:
        return False


def test_memory_is_that_of_all_processes_at_once():
    base = run_apart(hold_and_wait, 0)["peak_bytes"]
    assert run_apart(hold_and_wait, 300)["peak_bytes"] - base == pytest.approx(300 * 2**20, rel=0.1)


def hold_and_wait(mebibytes):
    """In a child of its own, long enough to be seen."""
    code = f"held = b'x' * ({mebibytes} * 2**20); import time; time.sleep(1.5)"
    subprocess.run([sys.executable, "-c", code], check=True)
    return {}


def test_what_work_leaves_running_is_ended_with_it(monkeypatch, tmp_path):
    monkeypatch.setattr(processes, "GRACE_SECONDS", 0.2)
    assert not lives(run_apart(leave_a_child)["child"])
    monkeypatch.setenv("CHILD", str(tmp_path / "child"))
    with pytest.raises(RuntimeError, match="leave_a_child_and_fail ended with exit code 3"):
        run_apart(leave_a_child_and_fail)
    assert not lives(int((tmp_path / "child").read_text()))


def test_work_that_takes_too_much_memory_is_ended_before_the_machine_has_none(monkeypatch):
    monkeypatch.setattr(processes, "MOST_MEMORY", 1e-6)
    with pytest.raises(RuntimeError, match=r"held .* and was ended; expected at most"):
        run_apart(hold_and_wait, 1)
