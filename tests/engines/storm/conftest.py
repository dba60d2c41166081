"""One real cluster for all tests that need one."""

import pytest

from streamgauge.engines.storm.cluster import StormCluster
from streamgauge.engines.storm.jars import own_jar, storm_jars
from streamgauge.errors import InvalidInput, SourceUnreachable


@pytest.fixture(scope="session")
def jars():
    """Storm's jars and ours; where they cannot be had, what needs them is skipped."""
    try:
        return storm_jars(), own_jar()
    except (InvalidInput, SourceUnreachable) as error:
        pytest.skip(str(error).splitlines()[0])


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
