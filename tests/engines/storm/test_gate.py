"""The gate of a Storm cluster, as a file that its scheduler reads."""

from pathlib import Path

from streamgauge.engines.storm import gate

JAVA = "src/streamgauge/engines/storm/java/src/main/java/io/streamgauge/storm/scheduler/Gate.java"


def test_the_gate_is_a_file_with_the_reason(tmp_path):
    gate.close_gate(tmp_path, "orders misses the objective")
    assert (tmp_path / gate.CLOSED).read_text() == "orders misses the objective\n"
    gate.open_gate(tmp_path)
    gate.open_gate(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_release_is_a_file_of_the_topology(tmp_path):
    gate.release(tmp_path, "pages")
    assert [one.name for one in tmp_path.iterdir()] == ["pages.released"]


def test_the_scheduler_looks_for_the_same_names(project: Path):
    java = (project / JAVA).read_text(encoding="utf-8")
    assert f'CLOSED = "{gate.CLOSED}"' in java
    assert f'RELEASED = "{gate.RELEASED}"' in java
