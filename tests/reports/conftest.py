"""Plans that the tests of predictions' reports share."""

import pytest

from streamgauge.reports.prediction import PredictedPlan
from tests.reports.predicted_plans import seen


@pytest.fixture(scope="module")
def before() -> PredictedPlan:
    return seen(2, [0.82, 0.6])


@pytest.fixture(scope="module")
def after() -> PredictedPlan:
    return seen(4, [0.41, 0.3])


@pytest.fixture(scope="module")
def rushed() -> PredictedPlan:
    return seen(4, [1.25, 0.9], rate=200.0)
