"""CSV, Parquet and answers of databases go the same way as raw lines."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.cli.examples import example_path
from streamgauge.lake.columns import parse
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.ingest.job import ingest_source
from streamgauge.pipeline.ingest.listing import InputFile
from streamgauge.pipeline.ingest.mapped_inputs import file_reader
from streamgauge.pipeline.ingest.reading import PARTS, STAGED
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
