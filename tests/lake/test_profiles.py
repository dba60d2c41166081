"""Profiles in the lake: what is kept is found and read again, and nothing else is taken for one."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs

from streamgauge.errors import InvalidInput, UnreadableFile
from streamgauge.lake import profiles
from streamgauge.lake.profile_names import file_name, replicas_name
from streamgauge.lake.profiles import keep_profile, stored_profiles
from streamgauge.lake.tables import Lake
from streamgauge.profile.files.jobs import profile_to_json
from tests.profile.measured import word_count


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "lake")


def keep(lake, name="word-count", **changed):
    return keep_profile(lake, name, profile_to_json(word_count(**changed)))


def test_what_is_kept_is_read_again(lake):
    before = datetime.now(UTC)
    uri = keep(lake)
    (found,) = stored_profiles(lake)
    assert (found.name, found.uri) == ("word-count", uri)
    assert found.read() == word_count()
    # File systems may cut times to whole seconds.
    assert found.stored_at.timestamp() >= int(before.timestamp())


def test_the_same_profile_is_kept_once_and_another_beside_it(lake):
    assert keep(lake) == keep(lake)
    keep(lake, plan_id="other")
    assert sorted(one.read().plan_id for one in stored_profiles(lake)) == ["a41f", "other"]


def test_a_lake_without_profiles_keeps_none(lake):
    assert stored_profiles(lake) == []
    assert not Path(lake.uri).exists()


def test_replicas_and_what_a_killed_writer_left_are_no_profiles(lake):
    replicas = (replicas_name("word-count", b"rows"), b"rows")
    uri = keep_profile(lake, "word-count", profile_to_json(word_count()), replicas)
    Path(uri).with_name(".0123456789ab.json").write_text('{"streamgauge": 1, "topol')
    Path(uri).with_name("notes.json").write_text("{}")
    (Path(uri).parents[1] / "0123456789ab.json").write_text("{}")
    assert Path(uri).with_name(replicas[0]).exists()
    assert [one.uri for one in stored_profiles(lake)] == [uri]


@pytest.mark.parametrize(
    ("topology", "names"),
    [
        (None, ["lab/pair", "pair", "repair"]),
        ("pair", ["lab/pair", "pair"]),
        ("lab/pair", ["lab/pair"]),
        ("air", []),
        ("lab", []),
    ],
)
def test_profiles_of_a_topology_are_those_of_all_clusters_or_of_the_one_named(
    lake, topology, names
):
    for name in ("repair", "pair", "lab/pair"):
        keep(lake, name)
    assert [one.name for one in stored_profiles(lake, topology)] == names


@pytest.mark.parametrize("name", [".hidden", "50% / half", "Zähler é5", "計数", "a~b"])
def test_a_name_comes_back_as_it_was(lake, name):
    keep(lake, name)
    assert [one.name for one in stored_profiles(lake, name)] == [name]


def test_a_letter_and_a_digit_are_not_taken_for_another_letter():
    # Numbers of characters alone would give %E95 for both.
    assert file_name("\u00e95") != file_name("\u0e95")


@given(st.text(min_size=1).filter(str.isprintable))
def test_file_names_have_only_what_every_file_system_takes(name):
    made = file_name(name)
    assert not made.startswith(".")
    assert set(made) <= set("%-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def test_a_profile_that_was_changed_or_cut_is_refused(lake):
    path = Path(keep(lake))
    path.write_bytes(path.read_bytes()[:-100])
    (found,) = stored_profiles(lake)
    with pytest.raises(UnreadableFile, match=r"not what its name was made from.*calibrate again"):
        found.read()


def test_what_never_was_a_profile_is_refused_with_its_place(lake):
    uri = keep_profile(lake, "words", '{"streamgauge": 7}')
    (found,) = stored_profiles(lake)
    with pytest.raises(InvalidInput, match="format version 7") as caught:
        found.read()
    assert caught.value.problems[0].file == uri


def test_a_profile_that_went_meanwhile_is_named(lake):
    uri = keep(lake)
    (found,) = stored_profiles(lake)
    Path(uri).unlink()
    with pytest.raises(UnreadableFile, match="a profile that can be read"):
        found.read()


def test_stores_that_undo_what_is_escaped_in_a_uri_give_the_same_names(tmp_path, monkeypatch):
    def store_of(uri):
        # Of an in-memory store only the path is taken: it forgets what the last one was told.
        _, path = fs.FileSystem.from_uri(uri)
        return fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), path

    monkeypatch.setattr(profiles, "open_store", store_of)
    lake = Lake("mock:///bucket/lake")
    uri = keep(lake, "lab/50%25 pair")
    assert (tmp_path / "bucket/lake/profiles/lab%2F50%2525%20pair").is_dir()
    (found,) = stored_profiles(lake)
    assert (found.name, found.uri, found.read()) == ("lab/50%25 pair", uri, word_count())
