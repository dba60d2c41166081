"""CSV files of series: which columns are found, which times are read, what is refused and where."""

import math

import pytest

from streamgauge.errors import InvalidInput, NotEnoughData, UnreadableFile
from streamgauge.traffic.series_files import read_series_file, read_time_us


@pytest.fixture
def read(tmp_path):
    def read_text(text, **options):
        path = tmp_path / "rates.csv"
        path.write_text(text)
        return read_series_file(path, **options)

    return read_text


def test_times_and_values_are_found_by_their_names(read):
    (rows,) = read("date,messages\n2020-02-01 00:00:00,5\n2020-02-01 00:05:00,6.5\n")
    assert rows.name == "rates"
    assert rows.values.tolist() == [5.0, 6.5]
    assert rows.times_us[1] - rows.times_us[0] == 300_000_000


def test_a_long_table_holds_several_series_with_masks(read):
    text = "value,masked,series,time\n1,0,a,0\n2,yes,b,0\n,0,a,60\n"
    first, second = read(text)
    assert (first.name, second.name) == ("a", "b")
    assert first.values[0] == 1.0 and math.isnan(first.values[1])
    assert second.masked.tolist() == [True]


def test_the_column_of_values_can_be_chosen(read):
    text = "time,bytes,tuples\n0,100,1\n60,200,2\n"
    assert read(text, value_column="bytes")[0].values.tolist() == [100.0, 200.0]
    with pytest.raises(InvalidInput, match="choose the values with --column"):
        read(text)


def test_a_time_without_a_zone_is_utc():
    assert read_time_us("1970-01-01T00:01:00") == read_time_us("60") == 60_000_000
    assert read_time_us("1970-01-01T01:01:00+01:00") == 60_000_000


def test_every_wrong_line_is_named(read):
    with pytest.raises(InvalidInput) as refused:
        read("time,value\n0,1\nnoon,2\n60,many\n120\n")
    assert [problem.path for problem in refused.value.problems] == ["line 3", "line 4", "line 5"]
    assert "rates.csv: line 3: 'noon', which is no time" in str(refused.value)


def test_a_file_without_times_is_refused_with_what_it_has(read):
    with pytest.raises(InvalidInput, match="when, value; expected a column of times"):
        read("when,value\n0,1\n")


def test_no_rows_are_not_enough_data(read):
    for text in ("", "time,value\n"):
        with pytest.raises(NotEnoughData):
            read(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(UnreadableFile, match=r"nothing\.csv"):
        read_series_file(tmp_path / "nothing.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00time")
    with pytest.raises(UnreadableFile, match="not UTF-8"):
        read_series_file(tmp_path / "bytes.csv")
