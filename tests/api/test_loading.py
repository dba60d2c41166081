"""The profile that is taken from the lake, and what is said of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from streamgauge.api.loading import choose_from_lake
from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.lake.profiles import keep_profile
from streamgauge.lake.tables import Lake
from streamgauge.models.measured_plan import measured_plan
from streamgauge.profile.figures import Period
from streamgauge.profile.files.jobs import profile_to_json
from tests.profile.measured import word_count

WHEN = "2026-01-01T00:00:00Z to 2026-01-01T00:30:00Z"


@pytest.fixture
def lake(tmp_path):
    """Two profiles of word count: with 2 and with 8 splitters."""
    lake = Lake(tmp_path / "lake")
    for splitters in (2, 8):
        keep(lake, measured(splitters))
    return lake


def measured(splitters=4, **changed):
    """Word count, whose nodes are those that it ran on."""
    return word_count(splitters, cluster=None, **changed)


def found_in(*where, **how):
    """The profile of that lake, and the sentence on why it is this one."""
    chosen = choose_from_lake(*where, **how)
    return chosen.profile, chosen.origin


def keep(lake, profile, name="word-count"):
    return keep_profile(lake, name, profile_to_json(profile))


def test_the_sentence_says_which_of_when_and_how_far(lake):
    profile, sentence = found_in(lake.uri, measured_plan(measured(3)))
    assert profile == measured(2)
    start, _, rest = sentence.partition("; ")
    assert (
        start
        == f"profile of word-count, {WHEN}, of 2 stored profiles the most like the proposed plan"
    )
    assert rest.startswith("its plan differs: executors by a factor of 1.5 in all, workers by 1, ")
    assert rest.endswith(f" ({keep(lake, profile)})")


def test_a_plan_like_the_measured_one_is_called_so(lake):
    profile, sentence = found_in(lake.uri, measured_plan(measured(8)))
    assert profile == measured(8)
    assert "; its plan has the same layout (" in sentence


def test_without_a_plan_the_newest_is_taken(lake):
    newest = measured(3, period=Period(start="2026-02-01T00:00Z", end="2026-02-02T00:00Z"))
    uri = keep(lake, newest)
    assert found_in(lake.uri, topology="word-count") == (
        newest,
        "profile of word-count, 2026-02-01T00:00Z to 2026-02-02T00:00Z,"
        f" of 3 stored profiles the newest ({uri})",
    )


def test_what_is_not_known_is_said(lake):
    uri = keep(lake, measured(placement={}, period=None), "bare")
    _, sentence = found_in(lake.uri, measured_plan(measured()), "bare")
    assert sentence == (
        "profile of bare, period not known, the only one stored;"
        f" the plan it was measured on is not known ({uri})"
    )


def test_profiles_that_cannot_be_read_are_warned_of(lake):
    Path(keep(lake, measured(5))).write_text("{")
    chosen = choose_from_lake(lake.uri, measured_plan(measured(5)))
    assert "of 2 stored profiles" in chosen.origin
    [warning] = chosen.warnings
    assert warning.startswith(f"{lake.uri}/profiles/word-count/")
    assert warning.endswith("; not considered")


def test_errors_say_what_there_is_and_what_to_do(lake):
    keep(lake, measured(), "pair")
    with pytest.raises(InvalidInput, match=r"pair, word-count; expected one of them .*--topology"):
        choose_from_lake(lake.uri)
    with pytest.raises(NotEnoughData, match=r"did you mean 'pair'\?\): `streamgauge calibrate"):
        choose_from_lake(lake.uri, topology="pear")


def run_without(modules, code):
    """Run code in a process where whoever imports one of the modules fails."""
    hidden = f"import sys\nsys.modules.update(dict.fromkeys({modules}))\n"
    return subprocess.run(
        [sys.executable, "-c", hidden + code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_spark_is_not_needed(lake):
    code = (
        "from streamgauge.api.loading import choose_from_lake\n"
        "from streamgauge.models.measured_plan import measured_plan\n"
        f"profile = choose_from_lake({lake.uri!r}).profile\n"
        f"print(choose_from_lake({lake.uri!r}, measured_plan(profile)).origin)\n"
    )
    shown = run_without(["pyspark", "py4j"], code)
    assert shown.stderr == ""
    assert "of 2 stored profiles the most like the proposed plan" in shown.stdout


def test_where_what_reads_lakes_is_missing_the_extra_is_named():
    code = (
        "from streamgauge.api.loading import choose_from_lake\n"
        "from streamgauge.errors import MissingExtra\n"
        "try:\n    choose_from_lake('lake')\nexcept MissingExtra as error:\n    print(error)\n"
    )
    shown = run_without(["pyarrow"], code)
    assert shown.stdout == (
        "the package 'pyarrow' is not installed; expected the extra 'lake' (pip"
        " install 'streamgauge[lake]')\n"
    )
