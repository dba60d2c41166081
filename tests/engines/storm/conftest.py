"""One real cluster for all tests that need one."""

import pytest

from streamgauge.engines.storm.cluster import StormCluster
from tests.engines.storm.toolchain import require_jars


@pytest.fixture(scope="session")
def jars():
    """Storm's jars and ours."""
    require_jars()


@pytest.fixture(scope="session")
def storm(jars, tmp_path_factory):
    """A cluster of two nodes with three slots each."""
    folder = tmp_path_factory.mktemp("storm")
    cluster = StormCluster.up(folder / "cluster", nodes=2, slots=3, outlives=False)
    yield cluster
    cluster.down()


@pytest.fixture(scope="session")
def bridge(storm):
    """A bridge to its nimbus."""
    with storm.bridge() as opened:
        yield opened
