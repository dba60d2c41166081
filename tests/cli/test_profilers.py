"""`streamgauge profile resources` and `profile router`."""

import json

import pytest

from tests.api.test_profilers import CATALOGUE


def test_rounds_are_printed_as_one_document(run, project):
    result = run(
        "profile", "resources", project / "examples/word-count.yaml", "--rate", "400", "--seconds",
        "1", "--json",
    )  # fmt: skip
    assert result.code == 0
    assert json.loads(result.out)["resources"]["settled"] is True


def test_the_catalogue_is_written_with_its_limits(run, tmp_path):
    path = tmp_path / "machines.yaml"
    path.write_text(CATALOGUE)
    result = run(
        "profile", "router", "--catalogue", path, "--tuple-us", "new=1000", "--source-rate", "390",
        "-o", tmp_path / "out.yaml",
    )  # fmt: skip
    assert result.code == 0
    assert "router_per_second: 1" in (tmp_path / "out.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--tuple-us", "fast"], "a number, or TYPE=NUMBER"),
        (["--tuple-us", "0"], "above 0"),
        (["--tuple-us", "1", "--tuple-us", "new=2"], "one number, or TYPE=NUMBER"),
    ],
)
def test_what_is_wrong_leaves_with_2(run, tmp_path, words, expected):
    path = tmp_path / "machines.yaml"
    path.write_text(CATALOGUE)
    result = run("profile", "router", "--catalogue", path, *words)
    assert result.code == 2
    assert expected in result.err
