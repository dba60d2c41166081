"""What all tests share."""

from pathlib import Path

import pytest

# Tests that start processes with a Spark of their own.
_STARTING_SPARK = ("test_kill.py", "test_session.py", "test_cluster.py", "test_memory.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run side by side, those that use Spark run one after the other."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or item.path.name in _STARTING_SPARK:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def project(pytestconfig: pytest.Config) -> Path:
    """The folder of the checkout."""
    return pytestconfig.rootpath


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """One Spark session for all tests that need one."""
    from streamgauge.pipeline.session import make_session

    folder = tmp_path_factory.mktemp("spark")
    session = make_session(
        "tests",
        master="local[2]",
        brief=True,
        conf={
            "spark.sql.shuffle.partitions": "2",
            "spark.local.dir": str(folder),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        },
    )
    yield session
    session.stop()
