"""Polls one after the other: folders, back-off, bounds, and running again."""

import gzip

import pytest

from streamgauge.engines.storm.collection.collector import PollSchedule, poll_on
from streamgauge.engines.storm.collection.folder import CollectionFolder
from streamgauge.errors import InvalidInput, SourceUnreachable, UnreadableFile
from streamgauge.lake.raw import Rejected
from streamgauge.lake.records import Plan
from tests.engines.disks import small_disk
from tests.engines.storm.collection.uis import collector, lines, samples
from tests.pipeline.http_servers import Fault

MUCH = 10**9
USUAL = PollSchedule()


class Waits:
    """A stop that comes after some waits, each of which lets something happen."""

    def __init__(self, *happenings):
        self.left = list(happenings)
        self.seconds = []

    def wait(self, timeout=None):
        self.seconds.append(timeout)
        if not self.left:
            return True
        self.left.pop(0)()
        return False


def nothing():
    pass


def still():
    return 0.0


def polled(folder, polling, stop, schedule=USUAL, most_bytes=MUCH, monotonic=still):
    said = []
    with CollectionFolder(folder, source="http://ui:8080", most_bytes=most_bytes) as target:
        polling.memory = target.remembered() or {}
        outcome = poll_on(polling, target, schedule, stop, say=said.append, monotonic=monotonic)
    return outcome, said


def report(ui, clock):
    def happen():
        ui.grow(60)
        clock.move(60)

    return happen


def test_every_poll_with_something_new_is_a_file_of_whole_lines(ui, clock, tmp_path):
    outcome, _ = polled(tmp_path, collector(ui, clock), Waits(report(ui, clock)))
    found = lines(tmp_path)
    assert (outcome.polls, outcome.records) == (2, len(found))
    assert len(list(tmp_path.glob("*.jsonl.gz"))) == 2
    assert not any(isinstance(one, Rejected) for one in found)
    for path in tmp_path.glob("*.jsonl.gz"):
        assert gzip.decompress(path.read_bytes()).endswith(b"\n")


def test_every_file_holds_the_plan_of_its_samples(ui, clock, tmp_path):
    polled(tmp_path, collector(ui, clock), Waits(report(ui, clock)))
    plans = [one for one in lines(tmp_path) if isinstance(one, Plan)]
    assert len(plans) == 2
    assert plans[0] == plans[1]


def test_a_second_run_goes_on_where_the_first_ended(ui, clock, tmp_path):
    polled(tmp_path, collector(ui, clock), Waits())
    report(ui, clock)()
    polled(tmp_path, collector(ui, clock), Waits())
    first, second = samples(lines(tmp_path), "executed_total", component="work", task=8)
    assert second.bucket_start_us == first.bucket_start_us + 60_000_000
    assert len({one.valid_from_us for one in lines(tmp_path) if isinstance(one, Plan)}) == 1
    assert samples(lines(tmp_path), "execute_latency_mean", bucket_start_us=second.bucket_start_us)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 9}', '{"version":1,"topologies":3}'])
def test_a_memory_that_cannot_be_read_is_told(tmp_path, text):
    with CollectionFolder(tmp_path, source="ui", most_bytes=MUCH) as folder:
        folder.memory_path.write_text(text)
        assert folder.remembered() is None


def test_what_one_source_ran_is_not_missed_at_another(ui, clock, tmp_path):
    polled(tmp_path, collector(ui, clock), Waits())
    with CollectionFolder(tmp_path, source="http://elsewhere", most_bytes=MUCH) as folder:
        assert folder.remembered() == {}


def test_two_collectors_do_not_share_a_folder(tmp_path):
    other = CollectionFolder(tmp_path, source="ui", most_bytes=MUCH)
    with (
        CollectionFolder(tmp_path, source="ui", most_bytes=MUCH),
        pytest.raises(InvalidInput, match="another collector"),
        other,
    ):
        pass


def test_beyond_the_bound_the_oldest_files_go_and_others_stay(ui, clock, tmp_path):
    (tmp_path / "mine.jsonl").write_text("x" * 10_000)
    waits = Waits(*[report(ui, clock)] * 3)
    _, said = polled(tmp_path, collector(ui, clock), waits, most_bytes=6_000)
    names = sorted(path.name for path in tmp_path.glob("storm-*"))
    assert len(names) == 2
    assert (tmp_path / "mine.jsonl").exists()
    assert sum("the oldest files are deleted" in one for one in said) == 1


def test_a_folder_that_cannot_be_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    folder = CollectionFolder(tmp_path / "file" / "x", source="ui", most_bytes=MUCH)
    with pytest.raises(UnreadableFile), folder:
        pass


def test_a_disk_that_fills_up_is_reported_and_what_was_there_stays(ui, clock, tmp_path):
    polled(tmp_path, collector(ui, clock), Waits())
    before = lines(tmp_path)
    report(ui, clock)()
    with small_disk(), pytest.raises(UnreadableFile, match="another folder"):
        polled(tmp_path, collector(ui, clock), Waits())
    assert lines(tmp_path) == before
    assert not list(tmp_path.glob(".storm-*.gz"))


def test_waits_grow_while_nobody_answers_and_shrink_again(ui, clock, tmp_path):
    def fail():
        ui.faults.extend([Fault(status=503)] * 2)

    waits = Waits(fail, fail, nothing)
    _, said = polled(tmp_path, collector(ui, clock), waits)
    assert waits.seconds == [60.0, 120.0, 240.0, 60.0]
    assert sum("HTTP 503" in one for one in said) == 2


def test_no_answer_for_too_long_ends_it_with_what_was_collected(ui, clock, tmp_path):
    moments = iter(range(0, 10_000, 400))

    def fail():
        ui.faults.extend([Fault(status=503)] * 2)

    with pytest.raises(SourceUnreachable, match="HTTP 503"):
        polled(
            tmp_path,
            collector(ui, clock),
            Waits(*[fail] * 9),
            monotonic=lambda: float(next(moments)),
        )
    assert samples(lines(tmp_path), "executed_total")


def test_no_answer_at_first_ends_it_at_once(ui, clock, tmp_path):
    ui.faults.extend([Fault(status=503)] * 2)
    with pytest.raises(SourceUnreachable):
        polled(tmp_path, collector(ui, clock), Waits(nothing))
    assert not list(tmp_path.glob("storm-*"))


def test_a_ui_that_goes_away_in_the_middle_costs_only_what_it_did_not_say(ui, clock, tmp_path):
    ui.submit("other", "other-8-1")
    polling = collector(ui, clock)
    # Listing, supervisors, topology, visualisation and four components are one topology.
    ui.faults.extend([Fault()] * 10 + [Fault(status=503)] * 2)
    outcome, said = polled(tmp_path, polling, Waits())
    assert outcome.topologies == {"demo"}
    assert samples(lines(tmp_path), "executed_total", topology="demo")
    assert any("HTTP 503" in one for one in said)


def test_the_time_that_was_given_is_kept(ui, clock, tmp_path):
    once = PollSchedule(for_seconds=0.0)
    assert polled(tmp_path, collector(ui, clock), Waits(nothing), once)[0].polls == 1


@pytest.mark.parametrize("wrong", [{"every_seconds": 0.5}, {"for_seconds": -1.0}])
def test_rhythms_that_cannot_be_are_refused(wrong):
    with pytest.raises(InvalidInput):
        PollSchedule(**wrong)
