"""What the page on applications shows is run."""

import re
import shlex
import sys

import pytest

from streamgauge.applications import list_remarks, make_job
from streamgauge.applications.files.applications import parse_application
from streamgauge.applications.files.platforms import parse_platform
from streamgauge.cli import applications, main

BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def blocks(project):
    return BLOCK.findall((project / "docs/applications.md").read_text())


def test_descriptions_on_the_page_become_jobs(blocks):
    *descriptions, platform = [text for language, text in blocks if language == "yaml"]
    assert len(descriptions) == 2
    for text in descriptions:
        application = parse_application(text, "page")
        assert make_job(application, parse_platform(platform)).workload.emissions
        assert list_remarks(application) == ()


def test_commands_on_the_page_work(blocks, project, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(project / "examples")
    monkeypatch.setattr("streamgauge.cli.app.app", applications.app)
    commands = [line for language, text in blocks if language == "sh" for line in text.splitlines()]
    for command in commands:
        program, group, *arguments = shlex.split(command)
        assert (program, group) == ("streamgauge", "app")
        monkeypatch.setattr(sys, "argv", [program, *arguments])
        with pytest.raises(SystemExit) as leaving:
            main()
        assert not leaving.value.code, f"{command}: {capsys.readouterr().err}"


def test_defaults_on_the_page_are_those_of_the_product(project):
    page = (project / "docs/applications.md").read_text()
    rows = dict(
        re.findall(r"^\| `([\w.]+)`[^|]*\|[^|\n]*\| ([\d.]+|`\w+`) \|$", page, re.MULTILINE)
    )
    source, first, _ = parse_application("workflow:").tasks
    platform = parse_platform("{}")
    assert rows["data.size"] == str(source.data.size)
    assert rows["data.values"] == str(source.data.values)
    assert float(rows["flow.rate"]) == source.flow.rate
    assert float(rows["flow.phase"]) == source.flow.phase_seconds
    assert float(rows["workload.processing"]) == first.processing
    assert float(rows["cycle_ns"]) == pytest.approx(platform.cycle_ns, abs=1e-4)
    assert float(rows["source_ms"]) == platform.source_ms
    assert rows["maxSpoutPending"] == str(platform.max_spout_pending)
