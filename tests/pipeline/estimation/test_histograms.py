"""Many histograms at once give what one at a time gives."""

import numpy as np
import pytest

from streamgauge.lake.histogram import LAST_BIN, histogram_of, quantile
from streamgauge.pipeline.estimation.times import MEAN_SQUARES, MEANS, quantiles

PROBABILITIES = (0.0, 0.01, 0.5, 0.9, 0.99, 1.0)


def test_quantiles_are_those_of_the_lake():
    generator = np.random.default_rng(1)
    histograms = [
        histogram_of(generator.lognormal(generator.uniform(0, 20), 1.5, size).tolist())
        for size in generator.integers(1, 300, 60).tolist()
    ]
    histograms += [{0: 5}, {LAST_BIN: 2}, {0: 1, 40: 1, LAST_BIN: 1}]
    bins = np.concatenate([list(one) for one in histograms])
    counts = np.concatenate([list(one.values()) for one in histograms]).astype(float)
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in histograms])])
    found = quantiles(bins, counts, offsets, PROBABILITIES)
    for histogram, row in zip(histograms, found, strict=True):
        expected = [quantile(histogram, probability) for probability in PROBABILITIES]
        assert row.tolist() == pytest.approx(expected)


def test_moments_of_bins_are_within_a_percent_of_the_truth():
    values = np.random.default_rng(2).gamma(2.0, 1e6, 20_000)
    histogram = histogram_of(values.tolist())
    bins, counts = np.asarray(list(histogram)), np.asarray(list(histogram.values()))
    assert counts @ MEANS[bins] / len(values) == pytest.approx(values.mean(), rel=0.01)
    second = counts @ MEAN_SQUARES[bins] / len(values)
    assert second == pytest.approx((values**2).mean(), rel=0.01)
