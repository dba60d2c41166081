import pytest

from tests.engines.storm.collection.uis import Clock, FakeUi
from tests.pipeline.http_servers import serving


@pytest.fixture
def ui():
    with serving(FakeUi()) as server:
        yield server


@pytest.fixture
def clock():
    return Clock()
