"""Which stored profile a plan is predicted from."""

import os
from pathlib import Path

import pytest

from streamgauge.errors import InvalidInput, NotEnoughData, UnreadableFile
from streamgauge.lake.plans import Distance
from streamgauge.lake.profiles import choose_profile, keep_profile
from streamgauge.lake.tables import Lake
from streamgauge.models.measured_plan import measured_plan
from streamgauge.profile.figures import Period
from streamgauge.profile.files.jobs import profile_to_json
from tests.lake.small_lakes import lake_of, sample
from tests.profile.measured import word_count


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "lake")


def keep(lake, splitters=4, name="word-count", end="2026-01-01T00:30:00Z", **changed):
    period = None if end is None else Period(start="2026-01-01T00:00:00Z", end=end)
    profile = word_count(splitters, period=period, **changed)
    return keep_profile(lake, name, profile_to_json(profile))


def proposed(splitters):
    """A plan of its own nodes: the names of word count's are not those of its cluster."""
    return measured_plan(word_count(splitters, cluster=None))


@pytest.mark.parametrize(("splitters", "nearest"), [(3, 2), (5, 8), (8, 8), (20, 8)])
def test_the_profile_with_the_most_similar_plan_is_taken(lake, splitters, nearest):
    # As factors: 3 is 1.5 times 2, and 8 is 2.7 times 3; 5 is 2.5 times 2, and 8 is 1.6 times 5.
    kept = {few: keep(lake, few) for few in (2, 8)}
    choice = choose_profile(lake, proposed(splitters))
    assert choice.best.stored.uri == kept[nearest]
    assert choice.best.profile == word_count(nearest)
    assert choice.compared == 2
    assert (choice.best.distance == Distance(0, 0.0, 0.0, 0.0)) == (splitters == nearest)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2026-01-01T00:30:00Z", "2026-01-02T00:30:00Z"),
        # As texts these two are in the other order, and so are the next.
        ("2026-01-01T00:30:00Z", "2026-01-01T00:30:00.25Z"),
        ("2026-01-01T02:00:00+02:00", "2026-01-01T01:00:00+00:00"),
        (None, "2026-01-01T00:30:00Z"),
        ("some day", "2026-01-01T00:30:00"),
    ],
)
@pytest.mark.parametrize("has_plan", [False, True], ids=["newest", "alike"])
@pytest.mark.parametrize("swapped", [False, True], ids=["later-last", "later-first"])
def test_of_equally_similar_profiles_that_of_the_newest_period_is_taken(
    lake, has_plan, earlier, later, swapped
):
    kept = {end: keep(lake, end=end) for end in sorted((earlier, later), key=str, reverse=swapped)}
    plan = proposed(5) if has_plan else None
    assert choose_profile(lake, plan).best.stored.uri == kept[later]


@pytest.mark.parametrize("last", ["p", "q"])
def test_of_equally_new_profiles_the_one_kept_last_is_taken(lake, last):
    kept = {plan_id: keep(lake, plan_id=plan_id) for plan_id in ("p", "q")}
    for plan_id, uri in kept.items():
        seconds = 2000 if plan_id == last else 1000
        os.utime(uri, (seconds, seconds))
    assert choose_profile(lake).best.profile.plan_id == last


def test_similarity_goes_before_age(lake):
    alike = keep(lake, 4, end="2025-01-01T00:00:00Z")
    keep(lake, 8, end="2026-01-01T00:00:00Z")
    assert choose_profile(lake, proposed(4)).best.stored.uri == alike


def test_a_profile_that_does_not_say_where_it_ran_is_the_last_resort(lake):
    bare = keep(lake, 4, placement={}, end="2026-01-09T00:00:00Z")
    placed = keep(lake, 64)
    assert choose_profile(lake, proposed(4)).best.stored.uri == placed
    Path(placed).unlink()
    assert choose_profile(lake, proposed(4)).best.stored.uri == bare


def test_only_profiles_of_the_plans_topology_count_in_whatever_cluster(lake):
    keep(lake, 4, name="other")
    kept = keep(lake, 64, name="lab/word-count")
    assert choose_profile(lake, proposed(4)).best.stored.uri == kept


def test_a_name_goes_before_the_plans(lake):
    keep(lake, 4)
    kept = keep(lake, 64, name="old-name")
    assert choose_profile(lake, proposed(4), "old-name").best.stored.uri == kept


def test_without_plan_and_name_there_must_be_a_single_topology(lake):
    kept = keep(lake)
    assert choose_profile(lake).best.stored.uri == kept
    keep(lake, name="pair")
    with pytest.raises(InvalidInput, match=r"2 topologies: pair, word-count; .*--topology.*--plan"):
        choose_profile(lake)
    assert choose_profile(lake, topology="word-count").best.stored.uri == kept


def test_a_profile_that_cannot_be_read_stops_no_other(lake):
    cut = Path(keep(lake, 4))
    cut.write_text("{")
    misplaced = keep(lake, 4, placement={"splitter": "n:1"}, executors={}, workers={})
    kept = keep(lake, 64)
    choice = choose_profile(lake, proposed(4))
    assert (choice.best.stored.uri, choice.compared) == (kept, 1)
    first, second = sorted(choice.faults, key=lambda text: "splitter" in text)
    assert first.startswith(f"{cut}: content that is not what its name was made from")
    assert second.startswith(f"{misplaced}: executor 'splitter'; expected OPERATOR[FIRST-LAST]")


def test_where_none_can_be_read_all_faults_are_told(lake):
    cut = [Path(keep(lake, few)) for few in (2, 4)]
    for path in cut:
        path.write_text("{")
    with pytest.raises(UnreadableFile) as caught:
        choose_profile(lake, proposed(4))
    assert {one.file for one in caught.value.problems} == {str(path) for path in cut}


def test_a_topology_without_profile_is_told_which_have_some_and_what_makes_one(lake):
    for name in ("word-counts", "pair"):
        keep(lake, name=name)
    with pytest.raises(NotEnoughData) as caught:
        choose_profile(lake, proposed(4))
    assert str(caught.value) == (
        f"{lake.uri}: no profile of topology 'word-count' is kept; expected one of pair,"
        " word-counts (did you mean 'word-counts'?): `streamgauge calibrate --lake"
        f" {lake.uri} --topology word-count -o FILE` makes one"
    )


def test_of_many_topologies_the_first_are_named(lake):
    for letter in "abcdefg":
        keep(lake, name=letter)
    with pytest.raises(NotEnoughData, match="expected one of a, b, c, d, e, …: `"):
        choose_profile(lake, topology="none")


def test_a_lake_without_profiles_says_what_makes_one(tmp_path):
    lake = lake_of(tmp_path / "my lake", sample("executed", 0, 5))
    with pytest.raises(NotEnoughData) as caught:
        choose_profile(lake)
    assert str(caught.value) == (
        f"{lake.uri}: no profile is kept; expected one: `streamgauge calibrate --lake"
        f" '{lake.uri}' --topology NAME -o FILE` makes one"
    )


def test_a_place_that_is_no_lake_is_called_so(lake):
    with pytest.raises(UnreadableFile, match="no tables; expected a lake"):
        choose_profile(lake, proposed(4))
