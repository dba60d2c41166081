"""What the page on the pipeline says is what the code does."""

import re
import shlex
import subprocess
import sys
from zipfile import ZipFile

import pytest
import typer

from streamgauge.cli.app import app
from streamgauge.pipeline.calibrate.periods import ENOUGH_SECONDS, WarmUp
from streamgauge.pipeline.estimation.blocks import BUCKETS_PER_BLOCK, LEAST_BLOCKS, MOST_BLOCKS
from streamgauge.pipeline.estimation.standard_errors import LEAST_RESAMPLED
from streamgauge.pipeline.ingest.committing import MOST_ATTEMPTS
from streamgauge.pipeline.ingest.listing import PART_BYTES
from streamgauge.profile.block_weights import COUNT


@pytest.fixture(scope="module")
def page(project):
    return (project / "docs" / "pipeline.md").read_text()


def console_lines(text):
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def command_of(words):
    """The command that words name, and what is left of them."""
    found = typer.main.get_command(app)
    while words and hasattr(found, "get_command"):
        found, words = found.get_command(typer.Context(found), words[0]), words[1:]
    return found, words


def test_commands_and_options_on_the_pages_exist(page, project):
    lines = console_lines(page) + console_lines((project / "README.md").read_text())
    assert len(lines) >= 10
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "streamgauge"
        command, rest = command_of(words)
        known = {option for one in command.params for option in one.opts}
        used = {word for word in rest if word.startswith("-")}
        assert used <= known, line


def test_options_of_spark_are_those_of_all_commands_that_run_on_it(page):
    table = page.split("| option | says |")[1].split("\n\n")[0]
    options = set(re.findall(r"^\| `(--\w+)", table, re.MULTILINE))
    for words in (["ingest"], ["calibrate"], ["lake", "quarantine"]):
        command, _ = command_of(words)
        assert options <= {option for one in command.params for option in one.opts}


def test_numbers_on_the_page(page):
    assert WarmUp() == WarmUp(seconds=60, most_share=1 / 5)
    assert (MOST_ATTEMPTS, COUNT) == (8, 100)
    assert "up to eight times" in page
    assert "100 replicas" in page
    assert PART_BYTES == 32 * 2**20
    assert "parts of 32 MiB" in page
    words = " ".join(page.split())
    assert (BUCKETS_PER_BLOCK, LEAST_BLOCKS, MOST_BLOCKS) == (5, 12, 24)
    assert "A block is five buckets" in words
    assert "until there are at most 24" in words
    assert "so that there are twelve" in words
    assert ENOUGH_SECONDS == 120
    assert "at least two minutes and twelve buckets" in words
    assert LEAST_RESAMPLED == 8
    assert "With fewer than eight blocks there are no replicas" in words


def test_links_lead_somewhere(page, project):
    for target in re.findall(r"\]\(([^)#:]+)", page):
        assert (project / "docs" / target).exists(), target


def test_an_archive_of_the_package_can_be_imported_from(project, tmp_path):
    # What Spark ships: nothing in the package may need to lie in a folder.
    archive = tmp_path / "streamgauge.zip"
    with ZipFile(archive, "w") as made:
        for path in sorted((project / "src").rglob("*.py")):
            made.write(path, path.relative_to(project / "src"))
    code = (
        f"import sys\nsys.path.insert(0, {str(archive)!r})\n"
        "import streamgauge.cli, streamgauge.pipeline.ingest.job, streamgauge.pipeline.session\n"
        "print(streamgauge.cli.__file__)\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert shown.stdout.startswith(str(archive))
