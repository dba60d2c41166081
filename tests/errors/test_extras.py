"""Packages that are not installed: the extra that brings them is named, whatever needs them."""

import subprocess
import sys

import pytest

from streamgauge.errors import MissingExtra
from streamgauge.extras import require_extra

HIDDEN = """
import sys
sys.modules.update(dict.fromkeys({packages}))
sys.argv = {argv}
from streamgauge.cli import main
main()
"""


def test_a_package_that_no_extra_brings_is_no_missing_extra():
    with pytest.raises(ModuleNotFoundError), require_extra():
        raise ModuleNotFoundError(name="nobody_knows")
    with pytest.raises(MissingExtra, match=r"streamgauge\[lake\]"), require_extra():
        raise ModuleNotFoundError(name="pyarrow.parquet")


@pytest.mark.parametrize(
    ("packages", "words", "extra"),
    [
        (["pyarrow", "pyspark"], ["demo", "--output", "demo"], "pipeline"),
        (["pyarrow"], ["ingest", "a.jsonl", "--lake", "lake"], "pipeline"),
        (["pyspark"], ["ingest", "a.jsonl", "--lake", "lake"], "pipeline"),
        (["deltalake"], ["calibrate", "--all", "-o", "p", "--lake", "lake"], "pipeline"),
        (["duckdb"], ["lake", "info", "--lake", "lake"], "lake"),
        (["httpx2"], ["collect", "storm", "--ui", "http://127.0.0.1:9", "-o", "m"], "collect"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(packages, words, extra, tmp_path):
    (tmp_path / "a.jsonl").write_text("{}\n")
    argv = ["streamgauge", *words]
    shown = subprocess.run(
        [sys.executable, "-c", HIDDEN.format(packages=packages, argv=argv)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert shown.returncode == 2
    assert f"(pip install 'streamgauge[{extra}]')" in shown.stderr
    assert "Traceback" not in shown.stderr
