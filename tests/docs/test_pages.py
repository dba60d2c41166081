"""What the pages show is run: their Python, their commands, their job files."""

import re
import shlex
import sys

import pytest

from streamgauge.cli import main
from streamgauge.errors import InternalError, StreamgaugeError
from streamgauge.profile.files.jobs import parse_job, parse_profile

BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/README.md",
    "docs/capacity.md",
    "docs/contention.md",
    "docs/costs.md",
    "docs/design.md",
    "docs/emulator.md",
    "docs/engines.md",
    "docs/errors.md",
    "docs/job-files.md",
    "docs/models/README.md",
    "docs/models/analytic.md",
    "docs/models/busy-time.md",
    "docs/models/caladrius.md",
    "docs/models/jackson.md",
    "docs/models/kingman.md",
    "docs/models/mmc.md",
    "docs/models/simulation.md",
    "docs/models/storm-tracer.md",
    "docs/outlook.md",
    "docs/planners.md",
    "docs/prediction.md",
    "docs/raw-format.md",
    "docs/recommend.md",
    "docs/replay.md",
    "docs/simulator.md",
    "docs/storm-rules.md",
    "docs/throughput.md",
    "docs/sweeps.md",
)


def blocks(project, language):
    for page in PAGES:
        for found, text in BLOCK.findall((project / page).read_text()):
            if found == language:
                yield page, text


def test_python_on_the_pages_runs(project, monkeypatch, capsys):
    monkeypatch.chdir(project)
    for page, text in blocks(project, "python"):
        exec(compile(text, page, "exec"), {})
    shown = capsys.readouterr().out.splitlines()
    # Four operators of sixteen executors: 16⁴ paths.
    assert shown[0].endswith("; 65,536 paths from source to sink.")
    assert shown[1].startswith("Fits. Up to 107,000 tuples/s would, 53.6 times the load")
    assert shown[2].startswith("traffic-aware is the best of 6 plans by p99.")
    assert "splitter" in shown[3]
    assert shown[4].startswith("Fits. Up to 178,000 tuples/s would, 89.2 times the load")
    assert shown[5].startswith("Fine: the busiest executor, splitter")
    assert shown[6] == "76% is processed; multiplier-json-bolt[33-40] is full first"
    assert len(shown) == 8


def test_commands_on_the_pages_work(project, monkeypatch, tmp_path, capsys):
    commands = [
        line
        for _, text in blocks(project, "sh")
        for line in text.splitlines()
        if line.startswith("streamgauge ")
    ]
    assert commands
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(project / "examples")
    for command in commands:
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit) as leaving:
            main()
        assert not leaving.value.code, f"{command}: {capsys.readouterr().err}"


def test_job_files_on_the_pages_are_fine(project):
    documents = [text for page, text in blocks(project, "yaml")]
    profiles = [text for text in documents if "\nprofile:" in text]
    assert len(documents) - len(profiles) >= 2
    assert profiles
    for text in documents:
        parse_profile(text) if text in profiles else parse_job(text)


def test_every_error_has_its_line_on_the_errors_page(project):
    page = (project / "docs/errors.md").read_text()
    known = [StreamgaugeError]
    for kind in known:
        known += kind.__subclasses__()
    for kind in set(known) - {StreamgaugeError}:
        assert f"| `{kind.code}` | {kind.exit_code} |" in page
    assert InternalError in known


def test_links_between_pages_lead_somewhere(project):
    links = [
        (page, target)
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+)\)", (project / page).read_text())
    ]
    assert len(links) > len(PAGES)
    broken = [(p, link) for p, link in links if not (project / p).parent.joinpath(link).exists()]
    assert broken == []


def test_the_picture_of_the_readme_is_what_the_product_draws(project, monkeypatch, capsys):
    monkeypatch.chdir(project)
    command = "streamgauge topology show examples/word-count.yaml --physical --svg -"
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit):
        main()
    drawn = (project / "docs/pictures/word-count-plan.svg").read_text()
    assert capsys.readouterr().out == drawn
