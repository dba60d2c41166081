"""A small fleet's samples."""

import pytest

from tests.pipeline.calibrate import fleet


@pytest.fixture(scope="session")
def records():
    return fleet.samples()


@pytest.fixture(scope="session")
def periods():
    return fleet.periods()
