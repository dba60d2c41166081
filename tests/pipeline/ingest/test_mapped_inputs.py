"""CSV, Parquet and answers of databases go the same way as raw lines."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.cli.examples import example_path
from streamgauge.errors import InvalidInput
from streamgauge.lake.bulk_decoding import parse
from streamgauge.lake.files.mapping_file import parse_mapping
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.ingest.job import ingest_files, ingest_source
from streamgauge.pipeline.ingest.listing import InputFile, find_files
from streamgauge.pipeline.ingest.mapped_inputs import (
    CSV_FILES,
    check_retries,
    file_reader,
    mapped_again,
)
from streamgauge.pipeline.ingest.reading import PARTS, STAGED
from streamgauge.pipeline.ingest.retrying import retry
from streamgauge.pipeline.range_queries import RangeRequest, TimeRange
from tests.pipeline.http_servers import PrometheusServer, PromSeries, serving
from tests.pipeline.ingest.deliveries import RECEIVED, line

CSV = """\
when,topo,comp,taskId,from,host,port,executed,busy_ms,queue,note
1767225600000,word-count,splitter,3,sentences,node-1,6700,41780,4178,2.75,
1767225610000,word-count,splitter,3,sentences,node-1,6700,many,4178,2.75,
"""
MAPPING = """\
mapping: 1
source: prometheus
set: {topology: wc}
columns: {worker: worker}
bucket_seconds: 10
queries:
  - {query: heap, metric: heap_used, kind: gauge, count: 1}
"""
START = 1_767_225_600


def read(path, mapping=None):
    size = path.stat().st_size
    file = InputFile(uri=str(path), bytes=size, modified_at=RECEIVED, received_at=RECEIVED)
    rows = [dict(zip(PARTS.names, part, strict=True)) for part in file.parts()]
    parts = pa.Table.from_pylist(rows, schema=PARTS).to_batches()
    return pa.Table.from_batches(list(file_reader(mapping)(parts)), schema=STAGED)


def test_a_csv_file_gives_samples_and_the_rows_it_cannot(tmp_path):
    path = tmp_path / "export.csv"
    path.write_text(CSV)
    staged = read(path, example_path("mappings/csv-wide.yaml").read_text())
    counts = Counter(staged["table"].to_pylist())
    # Of the second row only the queue's length is a number that needs no other.
    assert counts == {"samples": 4, "quarantine": 1, "files": 1}
    assert "1767225610000,word-count" in staged["line"].drop_null()[0].as_py().decode()
    assert pa.compute.sum(staged["lines"]).as_py() == 5


def test_a_parquet_file_in_the_lake_s_columns_gives_its_rows(tmp_path):
    ((table, _),) = parse([line(task, 5) for task in range(40)]).samples
    pq.write_table(table, tmp_path / "samples.parquet")
    staged = read(tmp_path / "samples.parquet")
    assert Counter(staged["table"].to_pylist()) == {"samples": 40, "files": 1}


def test_a_file_that_is_none_has_a_fault_and_stops_nothing(tmp_path):
    (tmp_path / "no.parquet").write_bytes(b"not a table")
    staged = read(tmp_path / "no.parquet")
    assert staged["table"].to_pylist() == ["files"]
    assert "no.parquet" in staged["detail"][0].as_py()


def test_a_prometheus_server_is_read_into_the_lake_and_again_without_change(spark, tmp_path):
    points = tuple((START + 10 * step, 100.0 + step) for step in range(60))
    labels = {"__name__": "heap", "worker": "n1:6700"}
    lake = Lake(tmp_path / "lake")
    with serving(PrometheusServer([PromSeries(labels=labels, points=points)])) as server:
        request = RangeRequest(
            url=server.url,
            period=TimeRange(start_us=START * 10**6, end_us=(START + 600) * 10**6),
            received_at_us=(START + 3600) * 10**6,
            mapping=MAPPING,
            slice_seconds=200,
        )
        first, second = (ingest_source(spark, lake, request) for _ in range(2))
    assert (first.taken, first.duplicates) == ({"samples": 60}, 0)
    assert (second.taken, second.duplicates) == ({"samples": 0}, 60)
    values = lake.table("samples").read(["value"]).read_all()["value"].to_pylist()
    assert sorted(values) == [100.0 + step for step in range(60)]


MENDED = """\
mapping: 1
source: csv
header: [when, job, worker, beats]
columns: {topology: job, worker: worker}
time: {column: when, unit: s}
bucket_seconds: 10
metrics: {beats: {metric: worker_heartbeats, count: value}}
"""
BEATS = b"1767225600,wc,n:1,1\n1767225610,wc,n:1,1\nsoon,wc,n:1,1\n"


def test_a_mended_mapping_takes_rows_back(spark, tmp_path):
    path = tmp_path / "beats.csv"
    path.write_bytes(BEATS)
    lake = Lake(tmp_path / "lake")
    files = find_files([str(path)], received_at=RECEIVED, endings=CSV_FILES)
    wrong = MENDED.replace("unit: s", "unit: rfc3339")
    assert ingest_files(spark, lake, files, mapping=wrong).quarantined == 3
    assert retry(spark, lake).lines == 0
    again = retry(spark, lake, mapping=MENDED)
    assert (again.taken["samples"], again.released) == (2, 2)
    (rest,) = lake.table("quarantine").read(["raw"]).read_all().to_pylist()
    assert rest["raw"] == b"soon,wc,n:1,1"


def test_rows_of_parquet_are_mapped_again_all_of_them_or_none():
    mapping = parse_mapping(MENDED.replace("csv", "parquet").replace("header", "#"))
    raw = b'{"when":"1767225600","job":"wc","worker":"n:1","beats":"1"}'
    (found,) = mapped_again(raw, mapping, "x.parquet")
    assert b"worker_heartbeats" in found
    for bad in (
        raw.replace(b"17", b"x"),
        raw.replace(b'"beats":"1"', b'"beats":1'),
        b"[1]",
        b"no JSON",
    ):
        assert mapped_again(bad, mapping, "x.parquet") == []
    assert mapped_again(b"1,2,3", parse_mapping(MENDED), "x.csv") == []
    assert mapped_again(raw, None, "x") == []


def test_what_cannot_read_single_rows_is_refused():
    with pytest.raises(InvalidInput, match="header"):
        check_retries(MENDED.replace("header", "#"))
    with pytest.raises(InvalidInput, match="asked again"):
        check_retries(MAPPING)
