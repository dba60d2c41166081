from dataclasses import replace

import pytest

from streamgauge.engines.storm.agent import AgentFiles
from streamgauge.engines.storm.warming import Observed
from streamgauge.errors import UnreadableFile
from streamgauge.lake.metrics import Metric
from streamgauge.lake.raw import encode
from streamgauge.lake.records import Sample, SampleGroup
from streamgauge.topology.cluster import Slot

NAME = "streamgauge-tiny-127.0.0.2-6700-1500-0001.jsonl"


def sample(metric, second, value, count, *, component="work", **keys):
    return Sample(
        topology="tiny",
        component=component,
        task=1,
        metric=metric.label,
        bucket_start_us=second * 1_000_000,
        bucket_seconds=1.0,
        value=float(value),
        count=count,
        **keys,
    )


def executed(second, calls, **subject):
    return sample(
        Metric.EXECUTED, second, calls, calls, stream="default", source_component="in", **subject
    )


def latency(second, nanoseconds, tuples):
    return sample(Metric.END_TO_END_LATENCY_SUM, second, nanoseconds, tuples, source_component="in")


def lines_of(*records):
    return "".join(f"{encode(record)}\n" for record in records)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "metrics"
    made.mkdir()
    return made


def test_a_torn_last_line_is_cut_and_taken_when_it_is_whole(folder, tmp_path):
    files, target = AgentFiles(folder), tmp_path / "step"
    (folder / f".{NAME}").write_text("one\ntw")
    files.gather(target)
    assert (target / NAME).read_text() == "one\n"
    (folder / f".{NAME}").write_text("one\ntwo\n")
    files.gather(target)
    assert (target / NAME).read_text() == "one\ntwo\n"


def test_a_file_that_got_its_name_is_taken_once_and_removed(folder, tmp_path):
    files = AgentFiles(folder)
    (folder / f".{NAME}").write_text("one\n")
    files.gather(tmp_path / "first")
    (folder / f".{NAME}").rename(folder / NAME)
    (folder / NAME).write_text("one\ntwo\n")
    files.gather(tmp_path / "second")
    assert (tmp_path / "second" / NAME).read_text() == "two\n"
    assert list(folder.iterdir()) == []


def test_a_file_that_is_finished_while_files_are_gathered_is_not_lost(
    folder, tmp_path, monkeypatch
):
    files = AgentFiles(folder)
    (folder / f".{NAME}").write_text("one\n")
    found = files._present()
    (folder / f".{NAME}").rename(folder / NAME)
    with monkeypatch.context() as patch:
        patch.setattr(files, "_present", lambda: found)
        files.gather(tmp_path / "step")
    assert (tmp_path / "step" / NAME).read_text() == "one\n"
    files.gather(tmp_path / "next")
    assert not (tmp_path / "next").exists()


def test_what_was_written_before_a_step_is_not_its_own(folder, tmp_path):
    files = AgentFiles(folder)
    (folder / f".{NAME}").write_text("before\n")
    files.skip()
    files.gather(tmp_path / "step")
    assert not (tmp_path / "step").exists()


def test_other_files_in_the_folder_are_left_alone(folder, tmp_path):
    (folder / "control.json").write_text("{}\n")
    AgentFiles(folder).gather(tmp_path / "step")
    assert [path.name for path in folder.iterdir()] == ["control.json"]


def test_the_last_start_of_a_worker_is_told_by_its_files(folder):
    files = AgentFiles(folder)
    assert files.last_start(Slot("127.0.0.2", 6700)) == 0.0
    for started in (1500, 2500):
        (folder / NAME.replace("1500", str(started))).touch()
    assert files.last_start(Slot("127.0.0.2", 6700)) == 2.5
    assert files.last_start(Slot("127.0.0.2", 6701)) == 0.0


def test_a_worker_that_wrote_nothing_has_not_written(folder):
    (folder / f".{NAME}").touch()
    assert AgentFiles(folder).last_written(Slot("127.0.0.2", 6700)) > 0.0
    assert AgentFiles(folder).last_written(Slot("127.0.0.3", 6700)) == 0.0


def test_where_nothing_can_be_written_the_folder_is_named(folder, tmp_path):
    (folder / NAME).write_text("one\n")
    (tmp_path / "step").write_text("a file")
    with pytest.raises(UnreadableFile, match="step: file exists"):
        AgentFiles(folder).gather(tmp_path / "step")


def test_calls_and_latencies_are_observed_as_they_come(folder):
    files, observed = AgentFiles(folder), Observed()
    # As the agent writes them: samples of one subject and bucket on one line.
    acked = replace(executed(1, 99), metric=Metric.ACKED.label)
    first = lines_of(SampleGroup((executed(1, 10), acked)))
    rest = lines_of(executed(2, 5, component="end"), latency(1, 30, 3), latency(2, 70, 1))
    (folder / f".{NAME}").write_text(first)
    observed.take(files)
    (folder / f".{NAME}").write_text(first + rest)
    observed.take(files)
    assert observed.executed == {"work": 10, "end": 5}
    assert observed.mean_latency(1_000_000, 2_000_000) == 10.0
    assert observed.mean_latency(1_000_000, 3_000_000) == 25.0
    assert observed.mean_latency(3_000_000, 4_000_000) is None
