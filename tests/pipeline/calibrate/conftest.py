"""A small fleet's samples as a table."""

import pytest

from streamgauge.lake.schemas import SAMPLES
from tests.pipeline.calibrate import fleet
from tests.pipeline.calibrate.frames import frame_of, stored


@pytest.fixture(scope="session")
def records():
    return fleet.samples()


@pytest.fixture(scope="session")
def stretches():
    return fleet.stretches()


@pytest.fixture(scope="session")
def samples(spark, records, tmp_path_factory):
    """Three files of Parquet."""
    path = tmp_path_factory.mktemp("samples") / "samples"
    return stored(spark, frame_of(spark, records).repartition(3), path, SAMPLES)
