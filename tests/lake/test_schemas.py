import ast
import dataclasses
import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given

from streamgauge.lake.field_rules import MOST_WHOLE
from streamgauge.lake.raw import Event, Hop, Link, PlacedExecutor, Plan, Sample, Trace
from streamgauge.lake.schemas import PLANS, TABLES, TIMESTAMP, TRACES
from tests.lake.random_records import records

RECORDS = {"samples": Sample, "plans": Plan, "traces": Trace, "links": Link, "events": Event}
RECEIPT = ["received_at", "file", "date"]


def columns_of(record):
    return [field.name.removesuffix("_us") for field in dataclasses.fields(record)]


def required_of(record):
    return [
        field.name.removesuffix("_us")
        for field in dataclasses.fields(record)
        if field.default is dataclasses.MISSING
    ]


def test_the_tables_are_those_of_the_design():
    kept = ["samples", "plans", "traces", "links", "events", "quarantine"]
    # Beside what was measured: which files were read.
    assert list(TABLES) == [*kept, "files"]


@pytest.mark.parametrize(("name", "record"), RECORDS.items())
def test_a_table_has_the_fields_of_its_record_and_the_receipt(name, record):
    schema = TABLES[name].schema
    assert schema.names == columns_of(record) + RECEIPT
    assert [field.name for field in schema if not field.nullable] == required_of(record) + RECEIPT


@pytest.mark.parametrize(
    ("column", "part"),
    [(PLANS.schema.field("executors"), PlacedExecutor), (TRACES.schema.field("hops"), Hop)],
)
def test_lists_have_the_fields_of_their_parts(column, part):
    struct = column.type.value_type
    assert [field.name for field in struct] == columns_of(part)
    assert [field.name for field in struct if not field.nullable] == required_of(part)


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_keys_order_and_partition_are_columns(table):
    names = set(table.schema.names)
    assert set(table.key) <= names
    assert set(table.order) <= names
    assert table.partition == "date"
    assert table.schema.field("date").type == pa.date32()
    assert table.schema.field(table.day_of).type == TIMESTAMP
    assert not table.schema.field(table.day_of).nullable
    assert len(set(table.key)) == len(table.key)


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_every_column_says_what_it_means(table):
    for field in table.schema:
        assert field.metadata[b"meaning"].endswith(b"."), field
    for field in table.schema:
        if pa.types.is_timestamp(field.type):
            assert field.type == TIMESTAMP
            assert field.metadata[b"unit"] == b"UTC"


def test_the_key_of_a_sample_is_all_but_its_figures():
    table = TABLES["samples"]
    rest = {"plan_id", "bucket_seconds", "value", "count", *RECEIPT}
    assert set(table.key) == set(table.schema.names) - rest


@given(records)
def test_every_record_that_is_taken_fits_its_table(record):
    table = TABLES[f"{record.type}s"]
    row = {key.removesuffix("_us"): value for key, value in dataclasses.asdict(record).items()}
    row |= {"received_at": 0, "file": "file:///a.jsonl", "date": 0}
    built = pa.Table.from_pylist([row], schema=table.schema)
    built.validate(full=True)
    times = {field.name for field in table.schema if field.type == TIMESTAMP}
    (back,) = built.to_pylist()
    for name in set(row) - times - {"date", "hops", "executors"}:
        assert back[name] == row[name]
    for name in {"hops", "executors"} & set(row):
        assert back[name] == list(row[name])


def test_the_latest_time_on_a_line_is_a_timestamp():
    latest = pa.scalar(MOST_WHOLE, TIMESTAMP).as_py()
    assert latest.astimezone(dt.UTC).year == 2255


@pytest.mark.parametrize(
    "name", ["definition", "histogram", "metrics", "raw", "field_rules", "records", "record_types"]
)
def test_writing_raw_lines_needs_no_pyarrow(project, name):
    tree = ast.parse((project / f"src/streamgauge/lake/{name}.py").read_text())
    imported = {
        alias.name for one in ast.walk(tree) if isinstance(one, ast.Import) for alias in one.names
    }
    imported |= {one.module for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)}
    assert not any(str(module).startswith("pyarrow") for module in imported)
