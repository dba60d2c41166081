"""Sessions of Spark for one question: an interrupt ends them quietly."""

import logging
import os
import signal
import subprocess
import sys
import threading

import pytest

from streamgauge.api.spark import _interrupts_cancel

INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from streamgauge.cli import main
main()
"""


class Session:
    """Counts how often its jobs are cancelled."""

    def __init__(self):
        self.cancelled = threading.Event()
        self.sparkContext = self

    def cancelAllJobs(self):  # noqa: N802 - Spark's own name
        self.cancelled.set()


def test_an_interrupt_cancels_the_jobs_and_is_not_logged(caplog):
    session, before = Session(), signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), _interrupts_cancel(session):
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            logging.getLogger().error("as the client of the virtual machine does")
    assert session.cancelled.wait(10)
    assert caplog.records == []
    assert signal.getsignal(signal.SIGINT) is before
    logging.getLogger().error("and all is as it was")
    assert len(caplog.records) == 1


def test_other_threads_have_no_signals():
    ended = []

    def work():
        with _interrupts_cancel(Session()):
            ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [True]


@pytest.mark.slow
def test_an_interrupted_ingest_says_so_and_no_more(tmp_path, project):
    from tests.pipeline.ingest.deliveries import line

    lines = b"\n".join(line(number, 5) for number in range(20_000))
    (tmp_path / "a.jsonl").write_bytes(lines)
    words = ["ingest", tmp_path / "a.jsonl", "--lake", tmp_path / "lake", "--master", "local[2]"]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stderr.readline() == "reading 1 files\n"
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert said.splitlines()[-1:] == ["interrupted"]
    assert "Traceback" not in said
