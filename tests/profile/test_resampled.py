"""Replicas that were read: what each block did, and profiles with other figures."""

import numpy as np
import pytest

from streamgauge.profile.changed_figures import change_figures, find_value
from streamgauge.profile.files.jobs import load_profile
from streamgauge.profile.resampled import (
    BlockInfluences,
    Resampled,
    find_influences,
    group_blocks,
    split_path,
)
from tests.resampled_profiles import BLOCKS, list_service_times, resample, with_replicas

PROFILE = with_replicas(load_profile("examples/word-count.profile.json"))


def test_influences_of_blocks_follow_from_replicas():
    resampled = resample(PROFILE, error=0.02)
    found = find_influences(resampled, PROFILE)
    assert found is not None
    assert found.influences.shape == (len(resampled.paths), BLOCKS)
    relative = found.influences / found.centres[:, None]
    assert np.sqrt((relative**2).sum(axis=1)) == pytest.approx(0.02)
    assert found.centres.tolist() == pytest.approx(
        [list_service_times(PROFILE)[path] for path in found.paths]
    )


def test_a_figure_with_a_replica_that_is_not_defined_is_left_out():
    whole = resample(PROFILE)
    holed = Resampled(paths=whole.paths, values=whole.values.copy())
    holed.values[0, 3] = np.nan
    found = find_influences(holed, PROFILE)
    assert found is not None
    assert found.paths == whole.paths[1:]


def test_neighbouring_blocks_are_grouped_and_none_is_lost():
    blocks = BlockInfluences(paths=("a",), centres=np.ones(1), influences=np.arange(24.0)[None])
    grouped = group_blocks(blocks, 12)
    assert grouped.tolist() == [
        [1.0, 5.0, 9.0, 13.0, 17.0, 21.0, 25.0, 29.0, 33.0, 37.0, 41.0, 45.0]
    ]
    assert group_blocks(blocks, 15).sum() == 276.0


def test_a_slash_within_a_name_is_no_separator():
    assert split_path("tasks/a%2Fb/0/50%25") == ["tasks", "a/b", "0", "50%"]


def test_figures_change_by_their_paths_and_others_stay():
    path = next(iter(list_service_times(PROFILE)))
    changed = change_figures(PROFILE, {path: 0.5, "tasks/nobody/0/per_second": 3.0})
    assert find_value(changed, path) == 0.5
    others = [other for other in list_service_times(PROFILE) if other != path]
    assert all(find_value(changed, one) == find_value(PROFILE, one) for one in others)


def test_no_figure_falls_below_zero():
    path = next(iter(list_service_times(PROFILE)))
    assert find_value(change_figures(PROFILE, {path: -1.0}), path) == 0.0


def test_shares_still_sum_to_one():
    shares = [
        f"tasks/splitter/0/outputs/{name}/shares/{target}/0"
        for name, figures in PROFILE.tasks_of("splitter")[0].outputs.items()
        for target in figures.shares
    ]
    before = find_value(PROFILE, shares[0])
    assert before is not None
    changed = change_figures(PROFILE, {shares[0]: before + 0.2})
    name = split_path(shares[0])[4]
    row = next(iter(changed.tasks_of("splitter")[0].outputs[name].shares.values()))
    assert sum(row.parts) == pytest.approx(1.0)
    assert row.parts[0] == pytest.approx((before + 0.2) / 1.2)


def test_what_a_profile_does_not_have_has_no_value():
    assert find_value(PROFILE, "tasks/counter/99/inputs/splitter/default/cpu/mean_ms") is None
