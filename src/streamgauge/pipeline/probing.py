"""A first, small question to a database, asked before Spark is started."""

from __future__ import annotations

from streamgauge.errors import InvalidInput
from streamgauge.lake.mapping import InfluxMapping, PrometheusMapping
from streamgauge.pipeline import influx, prometheus
from streamgauge.pipeline.range_queries import Probe, RangeRequest


def check_source(request: RangeRequest, name: str = "mapping") -> Probe:
    """Whether the server answers, takes every query, and gives what the mapping expects.

    Args:
        request: What will be asked for.
        name: What problems call the mapping's file.

    Raises:
        SourceUnreachable: It does not answer, or not as such a server would.
        InvalidInput: A query that it does not take, or labels and tags without a rule.
    """
    mapping = request.parsed_mapping()
    if isinstance(mapping, PrometheusMapping):
        return prometheus.check(request, name)
    if isinstance(mapping, InfluxMapping):
        return influx.check(request, name)
    raise InvalidInput.single(
        ("source",), seen="a mapping for files", expected="prometheus or influxdb", file=name
    )
