"""Lines come out of files whole and once, however the file is cut."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.lake import line_blocks
from streamgauge.lake.line_blocks import LineBlocks

pieces = st.lists(st.sampled_from([b"a", b"bb", b"\n", b"xyz"]), max_size=40).map(b"".join)


def read(path, *where):
    blocks = LineBlocks(str(path), *where)
    lines = [line for block in blocks.blocks() for line in block]
    assert blocks.lines == len(lines)
    return lines, blocks


def lines_of(data):
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


@given(data=pieces, part=st.integers(1, 20), chunk=st.sampled_from([1, 2, 7, 1000]))
def test_every_line_is_in_exactly_one_part(data, part, chunk, tmp_path_factory):
    path = tmp_path_factory.mktemp("lines") / "f.jsonl"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_blocks, "CHUNK_BYTES", chunk)
        starts = range(0, max(len(data), 1), part)
        found = [line for start in starts for line in read(path, start, part)[0]]
        assert found == lines_of(data)
        assert read(path)[0] == lines_of(data)


def test_compressed_files_of_several_members_are_read(tmp_path):
    path = tmp_path / "f.jsonl.gz"
    path.write_bytes(gzip.compress(b"one\ntwo\n") + gzip.compress(b"three\n"))
    assert read(path)[0] == [b"one", b"two", b"three"]


def test_a_truncated_file_gives_what_is_there_and_says_so(tmp_path):
    path = tmp_path / "f.jsonl.gz"
    whole = gzip.compress(b"".join(b"line %d\n" % n for n in range(100_000)))
    path.write_bytes(whole[: len(whole) // 2])
    lines, blocks = read(path)
    assert lines[:2] == [b"line 0", b"line 1"]
    assert "EOFError" in blocks.fault


def test_a_file_that_is_gone_or_none_is_a_fault(tmp_path):
    assert "FileNotFoundError" in read(tmp_path / "none.jsonl")[1].fault
    (tmp_path / "no.jsonl.gz").write_bytes(b"plain text\n")
    assert "gzip" in read(tmp_path / "no.jsonl.gz")[1].fault


def test_a_line_too_long_is_cut_and_the_next_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(line_blocks, "CHUNK_BYTES", 8)
    monkeypatch.setattr(line_blocks, "MOST_LINE_LENGTH", 20)
    monkeypatch.setattr(line_blocks, "KEPT_BYTES", 4)
    path = tmp_path / "f.jsonl"
    path.write_bytes(b"ab\n" + b"x" * 100 + b"\ncd\n" + b"y" * 50)
    lines, blocks = read(path)
    assert lines == [b"ab", b"xxxx", b"cd", b"yyyy"]
    assert blocks.cut == {1: 100, 3: 50}
