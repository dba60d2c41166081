"""Prometheus and InfluxDB as sources of Spark: a partition is a slice of time.

What is read has the columns of `range_queries.ANSWERS`. The options are those that
`RangeRequest.options` gives; secrets are named there, not told.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from streamgauge.errors import InvalidInput, SourceUnreachable, StreamgaugeError
from streamgauge.lake.mapping import InfluxMapping, PrometheusMapping, SourceMapping
from streamgauge.pipeline import influx, prometheus
from streamgauge.pipeline.range_queries import (
    ANSWERS,
    Answer,
    RangeRequest,
    TimeRange,
    answer_batches,
)
from streamgauge.pipeline.schemas import spark_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PROMETHEUS: Final = "streamgauge_prometheus"
INFLUXDB: Final = "streamgauge_influxdb"


class Slice(InputPartition):
    """A partition: one slice of time; nothing where there is no slice at all."""

    def __init__(self, part: TimeRange) -> None:
        super().__init__(part)
        self.part = part


class _SliceReader(DataSourceReader):
    """Reads slices of a request."""

    def __init__(self, request: RangeRequest) -> None:
        self._request = request

    def partitions(self) -> list[InputPartition]:
        """The slices, the oldest first."""
        return [Slice(part) for part in self._request.slices()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The answers of one slice."""
        # Spark makes up a partition where there is none.
        if not isinstance(partition, Slice):
            return iter(())
        return answer_batches(self._answers(partition.part), self._request.received_at_us)

    @abstractmethod
    def _answers(self, part: TimeRange) -> Iterator[Answer]:
        """What the server says of a slice."""


class _PrometheusReader(_SliceReader):
    def _answers(self, part: TimeRange) -> Iterator[Answer]:
        return prometheus.read_slice(self._request, self._request.prometheus_mapping(), part)


class _InfluxReader(_SliceReader):
    def _answers(self, part: TimeRange) -> Iterator[Answer]:
        return influx.read_slice(self._request, self._request.influx_mapping(), part)


class PrometheusSource(DataSource):
    """A Prometheus server as a source of Spark."""

    @classmethod
    def name(cls) -> str:
        """What `spark.read.format` calls it."""
        return PROMETHEUS

    def schema(self) -> StructType:
        """Lines and rejected points."""
        return spark_schema(ANSWERS)

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads it, once the options are fine."""
        del schema
        request = RangeRequest.of_options(self.options)
        request.prometheus_mapping()
        return _PrometheusReader(request)


class InfluxSource(DataSource):
    """An InfluxDB server as a source of Spark."""

    @classmethod
    def name(cls) -> str:
        """What `spark.read.format` calls it."""
        return INFLUXDB

    def schema(self) -> StructType:
        """Lines and rejected points."""
        return spark_schema(ANSWERS)

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads it, once the options are fine."""
        del schema
        request = RangeRequest.of_options(self.options)
        request.influx_mapping()
        return _InfluxReader(request)


def read_source(spark: SparkSession, request: RangeRequest) -> DataFrame:
    """The answers to a request, from the kind of server that its mapping is for."""
    mapping: SourceMapping = request.parsed_mapping()
    if isinstance(mapping, PrometheusMapping):
        source: type[DataSource] = PrometheusSource
    elif isinstance(mapping, InfluxMapping):
        source = InfluxSource
    else:
        raise InvalidInput.single(
            ("mapping", "source"), seen="a mapping for files", expected="prometheus or influxdb"
        )
    spark.dataSource.register(source)
    return spark.read.format(source.name()).options(**request.options()).load()


def source_error(error: BaseException) -> StreamgaugeError | None:
    """Our own error behind a failed Spark job, where one of the sources raised it."""
    # The text of the task's traceback is all that comes back from there.
    found = re.search(r"streamgauge\.errors\.(SourceUnreachable|InvalidInput): (.+)", str(error))
    if found is None:
        return None
    if found[1] == "SourceUnreachable":
        return SourceUnreachable(found[2])
    return InvalidInput.single((), seen=found[2], expected="a query that the server takes")
