"""The file of a profile's replicas: read, missing, damaged, or another profile's."""

from dataclasses import replace

import numpy as np
import pytest

from streamgauge.errors import UnreadableFile
from streamgauge.lake.replica_files import check_replicas, read_replicas
from streamgauge.profile.files.jobs import load_profile
from streamgauge.profile.resampled import Resampled
from tests.resampled_profiles import resample, with_replicas, write_resampled

PLAIN = load_profile("examples/word-count.profile.json")


def test_replicas_come_back_as_they_were_written(tmp_path):
    profile = load_profile(write_resampled(PLAIN, tmp_path))
    found, written = read_replicas(profile, str(tmp_path)), resample(PLAIN)
    assert found.paths == written.paths
    assert np.array_equal(found.values, written.values)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UnreadableFile, match=r"job-000.replicas.parquet.*no such file"):
        read_replicas(with_replicas(PLAIN, "job-000.replicas.parquet"), str(tmp_path))


def test_content_that_the_name_was_not_made_from_is_refused(tmp_path):
    profile = load_profile(write_resampled(PLAIN, tmp_path))
    assert profile.replicas is not None
    (tmp_path / profile.replicas.file).write_bytes(b"PAR1")
    with pytest.raises(UnreadableFile, match="its name was not made from"):
        read_replicas(profile, str(tmp_path))


def test_replicas_of_other_figures_are_refused():
    own = resample(PLAIN)
    other = Resampled(paths=own.paths, values=3.0 * own.values)
    with pytest.raises(UnreadableFile, match="not the profile's"):
        check_replicas(other, with_replicas(PLAIN))


def test_another_number_of_replicas_than_the_profile_says_is_refused():
    profile = with_replicas(PLAIN)
    assert profile.replicas is not None
    fewer = replace(profile, replicas=replace(profile.replicas, count=50))
    with pytest.raises(UnreadableFile, match=r"100 replicas.*50"):
        check_replicas(resample(PLAIN), fewer)
