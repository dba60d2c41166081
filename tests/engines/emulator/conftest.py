"""Each job is emulated once for all tests."""

import pytest

from tests.engines.emulator.emulations import ACKED, JOINED, PRESSED, WINDOWED, emulated


@pytest.fixture(scope="session")
def acked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("acked")
    # The last bucket is shorter than the others.
    return emulated(ACKED, folder, seconds=16.0, bucket_seconds=3.0, trace_every=7)


@pytest.fixture(scope="session")
def windowed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("windowed")
    return emulated(WINDOWED, folder, seconds=10.0, bucket_seconds=2.0, trace_every=20)


@pytest.fixture(scope="session")
def joined(tmp_path_factory):
    folder = tmp_path_factory.mktemp("joined")
    return emulated(JOINED, folder, seconds=20.0, bucket_seconds=5.0, trace_every=3)


@pytest.fixture(scope="session")
def pressed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pressed")
    return emulated(PRESSED, folder, seconds=6.0, bucket_seconds=2.0, trace_every=0)


@pytest.fixture(scope="session", params=["acked", "windowed", "joined", "pressed"])
def any_job(request):
    return request.getfixturevalue(request.param)
