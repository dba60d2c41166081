"""The tutorial works as it is written, and prints what it shows."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BLOCK = re.compile(r"```(yaml|sh|text|python)\n(.*?)```", re.DOTALL)
SPARK = ("ingest", "calibrate", "profile.json")
ELLIPSIS = "…"


def run(script: str, folder: Path) -> str:
    """What the commands print; they stop at the first that fails."""
    found = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert found.returncode == 0, f"{script}\n{found.stdout}\n{found.stderr}"
    return found.stdout


def assert_shows(shown: str, printed: str) -> None:
    """Every line of the page is printed, in its order; an ellipsis stands for any lines."""
    lines = iter(line.rstrip() for line in printed.splitlines())
    for line in shown.splitlines():
        if line.strip() and line.strip() != ELLIPSIS:
            assert line.rstrip() in lines, f"not printed, or not in this order: {line}"


def follow(project: Path, folder: Path, *, spark: bool) -> None:
    printed = ""
    for kind, text in BLOCK.findall((project / "docs/tutorial.md").read_text()):
        uses_spark = any(word in text for word in SPARK)
        if kind == "yaml":
            name = text.partition("\n")[0].removeprefix("# ")
            (folder / name).write_text(text)
        elif kind == "sh" and (spark or not uses_spark):
            printed = run(text, folder)
        elif kind == "text":
            assert_shows(text, printed)
        elif kind == "python":
            assert run(f"python - <<'END'\n{text}END\n", folder).startswith("Overloaded")


def test_the_tutorial_works_without_spark(project, tmp_path):
    follow(project, tmp_path, spark=False)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_the_tutorial_works_with_spark(project, tmp_path):
    follow(project, tmp_path, spark=True)
