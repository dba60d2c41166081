import pytest

from streamgauge.lake.definition import Kind, Level, Unit
from streamgauge.lake.metrics import METRICS, Metric, metrics_table
from streamgauge.lake.records import Sample


def test_labels_are_unique_and_no_metric_aliases_another():
    assert len(METRICS) == len(Metric) == len(Metric.__members__)


def test_every_metric_has_one_sentence():
    for metric in Metric:
        assert metric.meaning.endswith("."), metric
        assert ". " not in metric.meaning, metric
    assert len({(metric.meaning, metric.level) for metric in Metric}) == len(Metric)


def test_keys_are_columns_of_a_sample():
    fields = set(Sample.__dataclass_fields__)
    for metric in Metric:
        assert set(metric.keys) <= fields
        assert metric.level.required | metric.level.optional <= fields


def test_exactly_the_histograms_have_bins():
    for metric in Metric:
        assert ("bin" in metric.keys) == (metric.kind is Kind.HISTOGRAM_BIN), metric
        assert metric.label.endswith("_bin") == (metric.kind is Kind.HISTOGRAM_BIN), metric


@pytest.mark.parametrize(
    ("suffix", "kind"), [("_total", Kind.CUMULATIVE), ("_mean", Kind.MEAN), ("_sum", Kind.DELTA)]
)
def test_a_label_tells_the_kind(suffix, kind):
    found = [metric for metric in Metric if metric.label.endswith(suffix)]
    assert found
    assert {metric.kind for metric in found} == {kind}


def test_an_engines_counter_matches_the_exact_count():
    for metric in Metric:
        if metric.kind is Kind.CUMULATIVE:
            exact = METRICS[metric.label.removesuffix("_total")]
            assert (exact.kind, exact.unit, exact.level, exact.keys) == (
                Kind.DELTA,
                metric.unit,
                metric.level,
                metric.keys,
            )


def test_sums_squares_and_bins_of_a_time_share_their_keys():
    for metric in Metric:
        if metric.unit is Unit.SQUARE_NANOSECONDS:
            stem = metric.label.removesuffix("_squares")
            of_sum, of_bin = METRICS[f"{stem}_sum"], METRICS[f"{stem}_bin"]
            assert of_sum.unit is Unit.NANOSECONDS
            assert of_sum.keys == metric.keys == of_bin.keys[:-1]
            assert of_sum.level is metric.level is of_bin.level


def test_whatever_is_added_up_is_whole():
    added = {Kind.DELTA, Kind.CUMULATIVE, Kind.HISTOGRAM_BIN}
    assert all(metric.whole == (metric.kind in added) for metric in Metric)


def test_what_an_agent_can_see_has_a_metric_at_each_level():
    assert {metric.level for metric in Metric} == set(Level)
    assert Metric.EXECUTED.keys == ("stream", "source_component")
    assert Metric.TRANSFERRED.keys == ("stream", "source_component", "source_task")
    assert Metric.END_TO_END_LATENCY_SUM.may_be_negative


def test_the_table_has_a_line_for_each_metric():
    lines = metrics_table().splitlines()
    assert len(lines) == len(Metric) + 2
    assert all(line.count("|") == 8 for line in lines)
