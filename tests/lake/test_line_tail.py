"""Lines of files that grow: each once, whole, whatever files are called meanwhile."""

import gzip
import os

from streamgauge.lake import line_tail
from streamgauge.lake.line_tail import LineTail


def write(path, text, mode="a"):
    with path.open(mode) as stream:
        stream.write(text)


def test_each_line_comes_once(tmp_path):
    tail = LineTail(tmp_path)
    write(tmp_path / "a.jsonl", "1\n2\n")
    assert list(tail.read()) == [b"1", b"2"]
    assert list(tail.read()) == []
    write(tmp_path / "a.jsonl", "3\n")
    write(tmp_path / "b.jsonl", "4\n")
    assert list(tail.read()) == [b"3", b"4"]


def test_a_line_counts_once_it_has_its_end(tmp_path):
    tail = LineTail(tmp_path)
    write(tmp_path / "a.jsonl", "1\n2")
    assert list(tail.read()) == [b"1"]
    write(tmp_path / "a.jsonl", "3\n")
    assert list(tail.read()) == [b"23"]


def test_a_file_in_writing_is_read_and_goes_on_under_its_final_name(tmp_path):
    tail = LineTail(tmp_path)
    write(tmp_path / ".a.jsonl", "1\n")
    assert list(tail.read()) == [b"1"]
    write(tmp_path / ".a.jsonl", "2\n")
    (tmp_path / ".a.jsonl").rename(tmp_path / "a.jsonl")
    assert list(tail.read()) == [b"2"]


def test_a_compressed_file_is_read_when_it_is_whole(tmp_path):
    tail = LineTail(tmp_path)
    whole = gzip.compress(b"1\n2\n")
    (tmp_path / ".a.jsonl.gz").write_bytes(whole[:5])
    assert list(tail.read()) == []
    (tmp_path / ".a.jsonl.gz").write_bytes(whole)
    (tmp_path / ".a.jsonl.gz").rename(tmp_path / "a.jsonl.gz")
    assert list(tail.read()) == [b"1", b"2"]
    assert list(tail.read()) == []


def test_a_damaged_file_is_told_and_the_others_are_read(tmp_path):
    tail = LineTail(tmp_path)
    (tmp_path / "a.jsonl.gz").write_bytes(b"no gzip")
    write(tmp_path / "b.jsonl", "1\n")
    assert list(tail.read()) == [b"1"]
    assert list(tail.faults) == [str(tmp_path / "a.jsonl.gz")]


def test_folders_below_are_read_and_other_files_are_not(tmp_path):
    (tmp_path / "worker" / "6700").mkdir(parents=True)
    write(tmp_path / "worker" / "6700" / "a.jsonl", "1\n")
    write(tmp_path / "worker" / "log.txt", "2\n")
    assert list(LineTail(tmp_path).read()) == [b"1"]


def test_a_folder_may_come_later(tmp_path):
    tail = LineTail(tmp_path / "later")
    assert list(tail.read()) == []
    (tmp_path / "later").mkdir()
    write(tmp_path / "later" / "a.jsonl", "1\n")
    assert list(tail.read()) == [b"1"]


def test_a_file_that_was_cut_is_read_anew(tmp_path):
    tail = LineTail(tmp_path)
    write(tmp_path / "a.jsonl", "1\n2\n3\n")
    list(tail.read())
    write(tmp_path / "a.jsonl", "4\n", "w")
    assert list(tail.read()) == [b"4"]


def test_what_lies_there_for_long_is_left_out(tmp_path):
    write(tmp_path / "old.jsonl", "1\n")
    write(tmp_path / "new.jsonl", "2\n")
    os.utime(tmp_path / "old.jsonl", (1e9, 1e9))
    tail = LineTail(tmp_path)
    assert list(tail.read()) == [b"2"]
    write(tmp_path / "old.jsonl", "3\n")
    assert list(tail.read()) == [b"3"]


def test_a_line_without_end_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(line_tail, "MOST_LINE_LENGTH", 10)
    monkeypatch.setattr(line_tail, "CHUNK_BYTES", 8)
    write(tmp_path / "a.jsonl", "x" * 20 + "\n1\n")
    read = list(LineTail(tmp_path).read())
    assert read[-1] == b"1"
    assert max(len(line) for line in read) <= 18
