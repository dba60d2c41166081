"""Spark's schemas of the lake's tables, derived from the pyarrow ones."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as t

_SIMPLE: dict[pa.DataType, t.DataType] = {
    pa.string(): t.StringType(),
    pa.binary(): t.BinaryType(),
    pa.bool_(): t.BooleanType(),
    pa.int16(): t.ShortType(),
    pa.int32(): t.IntegerType(),
    pa.int64(): t.LongType(),
    pa.float64(): t.DoubleType(),
    pa.date32(): t.DateType(),
    pa.timestamp("us", tz="UTC"): t.TimestampType(),
}


def spark_type(kind: pa.DataType) -> t.DataType:
    """Spark's type for a pyarrow type."""
    if pa.types.is_list(kind):
        return t.ArrayType(spark_type(kind.value_type), containsNull=kind.value_field.nullable)
    if pa.types.is_struct(kind):
        return t.StructType([_field(kind.field(index)) for index in range(kind.num_fields)])
    if pa.types.is_decimal(kind):
        return t.DecimalType(kind.precision, kind.scale)
    return _SIMPLE[kind]


def spark_schema(schema: pa.Schema) -> t.StructType:
    """Spark's schema for a pyarrow schema."""
    return t.StructType([_field(field) for field in schema])


def _field(field: pa.Field) -> t.StructField:
    return t.StructField(field.name, spark_type(field.type), field.nullable)
