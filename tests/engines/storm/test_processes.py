import os
import subprocess
import sys

import pytest

from streamgauge.engines.storm.processes import (
    CLAIM,
    MARK,
    Mark,
    ProcessKey,
    end_all,
    marked_processes,
    orphans,
    processes_of,
)

# A process with a child of its own, as a supervisor has; says when the child runs.
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def spawn():
    started = []

    def start(mark: str, ports: str = "") -> int:
        environ = {**os.environ, MARK: mark, CLAIM: ports}
        process = subprocess.Popen(
            [sys.executable, "-c", PARENT], env=environ, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return int(process.stdout.readline())

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_mark_is_read_as_it_is_written():
    for owner in (None, ProcessKey(12, 345)):
        mark = Mark(cluster="abc", owner=owner)
        assert Mark.parse(str(mark)) == mark
    assert Mark.parse("what else") is None


def test_a_process_that_got_the_number_of_a_dead_one_is_another():
    own = ProcessKey.of(os.getpid())
    assert own is not None
    assert own.is_alive()
    assert not ProcessKey(own.pid, own.started - 1).is_alive()


def test_all_processes_of_a_cluster_end_children_included_and_no_others(spawn):
    spawn("one:-")
    other = spawn("other:-")
    assert len(processes_of("one")) == 2
    assert end_all("one") == 2
    assert processes_of("one") == []
    assert other in {process.pid for process in processes_of("other")}
    end_all("other")


def test_orphans_are_those_whose_owner_is_gone(spawn):
    alive = ProcessKey.of(os.getpid())
    spawn(str(Mark(cluster="kept", owner=alive)))
    spawn(str(Mark(cluster="left", owner=ProcessKey(os.getpid(), 1))))
    found = {process.mark.cluster for process in orphans()}
    end_all("left")
    end_all("kept")
    assert "left" in found
    assert "kept" not in found


def test_ports_are_claimed_before_anybody_listens(spawn):
    spawn("claims:-", "6700,6701")
    claimed = {process.ports for process in marked_processes() if process.mark.cluster == "claims"}
    end_all("claims")
    assert claimed == {frozenset({6700, 6701})}
