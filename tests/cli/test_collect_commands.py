"""``collect storm``: exit codes, what is said where, and what lies in the folder afterwards."""

import json
import os
import signal
import threading

import pytest
import typer
from typer.testing import CliRunner

from streamgauge.cli.app import app
from streamgauge.cli.progress import interrupted
from streamgauge.errors import InvalidInput, NotEnoughData, SourceUnreachable
from streamgauge.lake.raw import Rejected
from tests.engines.storm.collection.uis import FakeUi, lines
from tests.pipeline.http_servers import Fault, serving


@pytest.fixture
def ui():
    with serving(FakeUi()) as server:
        yield server


def collected(*arguments):
    found = CliRunner().invoke(app, ["collect", "storm", *map(str, arguments)])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def test_one_poll_leaves_a_file_that_receivers_take(ui, tmp_path):
    found = collected("--ui", ui.url, "-o", tmp_path, "--once")
    assert found.stdout == f"1 poll, {len(lines(tmp_path))} records of demo in {tmp_path}\n"
    assert not any(isinstance(one, Rejected) for one in lines(tmp_path))


def test_what_is_missing_is_said_beside_the_answer(ui, tmp_path):
    found = collected("--ui", ui.url, "-o", tmp_path, "--once", "--json")
    assert json.loads(found.stdout)["collect"]["topologies"] == ["demo"]
    assert "not measured from outside: how many tuples go from which task" in found.stderr
    assert "one tuple in twenty" in found.stderr


def test_a_topology_that_does_not_run_is_invalid_with_those_that_do(ui, tmp_path):
    with pytest.raises(InvalidInput, match=r"'deom'; expected one that runs: demo .*'demo'\?"):
        collected("--ui", ui.url, "-o", tmp_path / "new", "--topology", "deom")
    assert not (tmp_path / "new").exists()


def test_a_topology_can_be_named_by_its_id(ui, tmp_path):
    ui.submit("other", "other-8-1")
    found = collected("--ui", ui.url, "-o", tmp_path, "--topology", "other-8-1", "--once")
    assert "records of other in" in found.stdout


def test_what_is_no_ui_is_unreachable_and_leaves_no_folder(ui, tmp_path):
    ui.faults.append(Fault(body=b"<html>Sign in</html>"))
    with pytest.raises(SourceUnreachable, match="an HTML page"):
        collected("--ui", ui.url, "-o", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_workers_that_have_not_reported_yet_are_too_little(ui, tmp_path):
    ui.component("work")["executorStats"] = []
    with pytest.raises(NotEnoughData, match="heartbeat"):
        collected("--ui", ui.url, "-o", tmp_path, "--once")


@pytest.mark.parametrize("both", [[], ["--ui", "http://a", "--nimbus", "b:1"]])
def test_exactly_one_source_is_named(both, tmp_path):
    with pytest.raises(InvalidInput, match="--nimbus"):
        collected(*both, "-o", tmp_path)


@pytest.mark.parametrize("address", ["host", "host:", ":6627", "host:0", "host:99999", "host:x"])
def test_an_address_of_nimbus_has_a_host_and_a_port(address, tmp_path):
    with pytest.raises(InvalidInput, match="HOST:PORT"):
        collected("--nimbus", address, "-o", tmp_path)


def test_an_interrupt_ends_it_after_the_poll(ui, tmp_path):
    def interrupt():
        while not list(tmp_path.glob("storm-*")):
            ui.over.wait(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    found = collected("--ui", ui.url, "-o", tmp_path)
    thread.join()
    assert found.exit_code == 0
    assert "1 poll" in found.stdout
    assert "stopping after this poll" in found.stderr


def test_a_second_interrupt_ends_it_at_once():
    with pytest.raises(KeyboardInterrupt), interrupted("stopping") as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(5)
        os.kill(os.getpid(), signal.SIGINT)
        stop.wait(5)
        raise typer.Exit(0)
