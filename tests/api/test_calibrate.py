"""Writing profiles: whole or not at all, and the file that cannot be written is named."""

import pytest

from streamgauge.api.calibrate import _write_profile, _write_profiles
from streamgauge.api.simulator import stay_silent
from streamgauge.errors import InvalidInput
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.calibrate.job import Calibrated
from tests.engines.disks import small_disk

REPLICAS = ("pair-1.replicas.parquet", b"PAR1" * 100)


@pytest.fixture
def profile(project):
    return (project / "examples/word-count.profile.json").read_text()


def test_a_full_disk_under_the_replicas_is_named_and_leaves_nothing(tmp_path, profile):
    with small_disk(), pytest.raises(InvalidInput) as caught:
        _write_profile(tmp_path / "p.json", profile, REPLICAS)
    said = (
        f"{tmp_path}/pair-1.replicas.parquet: file too large; expected a file that can be written"
    )
    assert str(caught.value) == said
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_under_the_profile_takes_its_replicas_away(tmp_path, profile):
    with small_disk(), pytest.raises(InvalidInput, match=r"p\.json: file too large"):
        _write_profile(tmp_path / "p.json", profile, (REPLICAS[0], b"PAR1"))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_under_the_lake_is_named_and_leaves_nothing(tmp_path, profile):
    made = [Calibrated(cluster=None, topology="pair", profile=profile, replicas=REPLICAS)]
    lake = Lake(tmp_path / "lake")
    with small_disk(), pytest.raises(InvalidInput) as caught:
        _write_profiles(lake, made, tmp_path / "p.json", every=False, say=stay_silent)
    assert str(caught.value).startswith(f"{lake.uri}/profiles/pair/{REPLICAS[0]}: file too large")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_report_says_where_profiles_are_and_how_good_they_are(tmp_path, profile):
    made = [
        Calibrated(cluster="east", topology="pair", profile=profile, replicas=REPLICAS),
        Calibrated(cluster=None, topology="pear", fault="too short"),
    ]
    lake = Lake(tmp_path / "lake")
    (tmp_path / "all").mkdir()
    report = _write_profiles(lake, made, tmp_path / "all", every=True, say=stay_silent)
    (one,) = report.profiles
    assert one.file == tmp_path / "all" / "east%2Fpair.json"
    assert one.profile.topology.name == "word-count"
    assert report.warnings == ["pear: too short"]
    assert report.to_dict()["profiles"][0]["quality"]["good"] == one.quality.good
    assert str(report.verdict).startswith(f"east/pair: {one.quality.good} of")
    assert set(report.to_pandas()["figure"]) == {"good", "thin", "missing"}
