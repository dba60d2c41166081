"""``streamgauge app calibrate``: with timings of a Java that is made up, and of a real one."""

import json

import pytest

from streamgauge.applications.cycles import LoadTiming
from streamgauge.applications.files.platforms import load_platform
from streamgauge.engines.storm import busy_wait
from streamgauge.engines.storm.busy_wait import BusyWaits, time_busy_waits
from streamgauge.errors import InternalError, InvalidInput
from tests.engines.storm.toolchain import require_java_and_maven

OVERHEAD_NS, CYCLE_NS = 2.0, 0.25


@pytest.fixture
def app(run, monkeypatch):
    """Calls ``streamgauge app`` on a machine whose cycle takes a quarter of a nanosecond."""
    from streamgauge.cli import applications

    def made_up(cycles, *, rounds):
        timings = []
        for one in cycles:
            cpu = (OVERHEAD_NS + CYCLE_NS * one,) * rounds
            timings.append(LoadTiming(cycles=one, cpu_ns=cpu, wall_ns=cpu))
        return BusyWaits(java="17.0.1", timings=tuple(timings))

    monkeypatch.setattr(busy_wait, "time_busy_waits", made_up)
    monkeypatch.setattr("streamgauge.cli.app.app", applications.app)
    return run


def test_the_time_of_a_cycle_is_said_as_a_platform_file_has_it(app):
    outcome = app("calibrate")
    assert (outcome.code, outcome.err) == (0, "")
    assert "cycle_ns: 0.25\n" in outcome.out
    assert "Java 17.0.1, 30 rounds" in outcome.out


def test_a_platform_file_is_written_and_the_other_keys_are_kept(app, tmp_path):
    given, written = tmp_path / "given.yaml", tmp_path / "written.yaml"
    given.write_text("workers: 2\nmaxSpoutPending: 7\ncycle_ns: 9\n")
    assert app("calibrate", "--platform", given, "-o", written).code == 0
    platform = load_platform(written)
    assert (platform.cycle_ns, platform.workers, platform.max_spout_pending) == (0.25, 2, 7)
    assert app("calibrate", "-o", written).code == 0
    assert load_platform(written).workers == 1


def test_the_load_for_a_time_is_in_the_document(app):
    document = json.loads(app("calibrate", "--ms", "0.5", "--ms", "2", "--json").out)
    assert document["cycle_ns"] == pytest.approx(CYCLE_NS)
    assert document["overhead_ns"] == pytest.approx(OVERHEAD_NS)
    # (500,000 - 2) / 0.25 and (2,000,000 - 2) / 0.25 cycles.
    assert [one["cycles"] for one in document["loads"]] == [1_999_992, 7_999_992]
    assert document["warnings"] == []


@pytest.mark.parametrize(
    ("arguments", "words"), [(("--platform", "given.yaml"), "wrokers"), (("--ms", "-1"), "ms: -1")]
)
def test_what_is_wrong_is_refused_before_anything_is_timed(
    app, tmp_path, monkeypatch, arguments, words
):
    monkeypatch.setattr(busy_wait, "time_busy_waits", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "given.yaml").write_text("wrokers: 2\n")
    outcome = app("calibrate", *arguments)
    assert (outcome.code, words in outcome.err) == (2, True)


@pytest.mark.parametrize(
    ("script", "error", "words"),
    [
        ("echo no JSON", InternalError, "answered 'no JSON"),
        ("echo Trouble >&2; exit 1", InternalError, "failed: Trouble"),
        ("echo Could not find or load main class >&2; exit 1", InvalidInput, "of this version"),
    ],
)
def test_a_java_that_fails_is_told(script, error, words):
    with pytest.raises(error, match=words):
        time_busy_waits([100], rounds=2, command=("/bin/sh", "-c", script, "sh"))


@pytest.mark.storm
def test_a_real_java_takes_more_time_for_more_cycles(run, monkeypatch):
    from streamgauge.cli import applications

    require_java_and_maven()
    monkeypatch.setattr("streamgauge.cli.app.app", applications.app)
    document = json.loads(run("calibrate", "--rounds", 5, "--ms", "0.2", "--json").out)
    # No core does more than four such cycles a nanosecond, none that runs Storm less than one in
    # ten; a call takes less than a microsecond.
    assert 0.05 < document["cycle_ns"] < 10.0
    assert abs(document["overhead_ns"]) < 1000.0
    assert document["loads"][0]["measured_ms"] == pytest.approx(0.2, rel=0.25)
