import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from streamgauge.cli import main

JOB = """\
streamgauge: 1
topology:
  name: tiny
  acked: true
  operators:
    in: {kind: source, tasks: 2}
    work: {tasks: 4}
    out: {tasks: 2}
  streams:
    - {from: in, to: work, grouping: shuffle}
    - {from: work, to: out, grouping: {fields: [key]}}
configuration: {executors: {in: 2, work: 4, out: 2}, workers: 2}
cluster: {uniform: {nodes: 2, slots: 2, cores: 2}}
steps:
  slim: {executors: 1}
"""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Calls the command line in this process and gives what it printed and its exit code."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["streamgauge", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 0
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    result: Callable[..., Outcome] = call
    return result


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return path
